package devices

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bytes are written as hex digits in JSON and in files: "01 ff" or "01ff".
type Bytes []byte

// MarshalText returns hex digits in pairs.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText reads hex digits in pairs; spaces between pairs are allowed.
func (b *Bytes) UnmarshalText(text []byte) error {
	var out []byte
	for pairs := range strings.FieldsSeq(string(text)) {
		v, err := hex.DecodeString(pairs)
		if err != nil {
			return errors.New("want bytes as pairs of hex digits such as \"01 ff\"")
		}
		out = append(out, v...)
	}
	*b = out
	return nil
}

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
	if err != nil || base == 10 && digits != strconv.FormatUint(v, 10) { // 010 is octal to some, hex to others
		return errors.New("want a byte such as 0x64 or 100")
	}
	*b = Byte(v)
	return nil
}
