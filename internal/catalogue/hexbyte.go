package catalogue

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Byte is a number from 0 to 255, written in decimal or, with 0x, in hex: 100 or 0x64.
type Byte int

// MarshalText returns it in hex: 0x64.
func (b Byte) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%02x", int(b)), nil }

// UnmarshalText reads decimal or hex digits.
func (b *Byte) UnmarshalText(text []byte) error {
	digits, base := string(text), 10
	if hexadecimal, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hexadecimal, 16
	}
	v, err := strconv.ParseUint(digits, base, 8)
	if err != nil || base == 10 && digits != strconv.FormatUint(v, 10) { // 010 could be meant as octal or hex
		return errors.New("want a byte such as 0x64 or 100")
	}
	*b = Byte(v)
	return nil
}
