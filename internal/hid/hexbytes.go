package hid

import (
	"encoding/hex"
	"errors"
	"strings"
)

// Bytes is written as hex digits in JSON and in files: "01 ff" or "01ff".
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

// at returns a byte of a report that is padded with zeros.
func (b Bytes) at(i int) byte {
	if i < len(b) {
		return b[i]
	}
	return 0
}
