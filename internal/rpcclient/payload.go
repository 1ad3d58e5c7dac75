package rpcclient

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"sidetone/internal/devices"
)

const command = "SET_CERTIFIED_DEVICES"

// encode returns the command for list with a fresh nonce, as ASCII-only JSON (rules R27, R29, R40). It is written by hand because
// every mute waits for it: encoding/json takes several times as long, and does not write ASCII only.
func encode(list []devices.Device) (nonce string, payload []byte) {
	nonce = rand.Text()
	b := make([]byte, 0, 128+512*len(list))
	b = append(b, `{"nonce":"`+nonce+`","cmd":"`+command+`","args":{"devices":[`...)
	for i, d := range list {
		b = appendDevice(appendComma(b, i), d)
	}
	return nonce, append(b, "]}}"...)
}

// appendDevice leaves out the flags that are unknown. The list of related ids is always there (rule R32).
func appendDevice(b []byte, d devices.Device) []byte {
	b = appendString(append(b, `{"type":`...), string(d.Type))
	b = appendString(append(b, `,"id":`...), d.ID)
	b = appendCompany(append(b, `,"vendor":`...), d.Vendor)
	b = appendCompany(append(b, `,"model":`...), d.Model)
	b = append(b, `,"related":[`...)
	for i, id := range d.Related {
		b = appendString(appendComma(b, i), id)
	}
	b = append(b, ']')
	b = appendFlag(b, `,"echo_cancellation":`, d.EchoCancellation)
	b = appendFlag(b, `,"noise_suppression":`, d.NoiseSuppression)
	b = appendFlag(b, `,"automatic_gain_control":`, d.AutomaticGainControl)
	b = appendFlag(b, `,"hardware_mute":`, d.HardwareMute)
	return append(b, '}')
}

func appendCompany(b []byte, c devices.Company) []byte {
	b = appendString(append(b, `{"name":`...), c.Name)
	return append(appendString(append(b, `,"url":`...), c.URL), '}')
}

func appendFlag(b []byte, key string, value *bool) []byte {
	if value == nil {
		return b
	}
	return strconv.AppendBool(append(b, key...), *value)
}

// appendComma separates the element at index i from the one before it.
func appendComma(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ',')
}

// appendString writes control characters and everything beyond ASCII as \uXXXX, and what is no UTF-8 as the replacement character.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r >= ' ' && r < utf8.RuneSelf:
			b = append(b, byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				b = fmt.Appendf(b, `\u%04x`, unit)
			}
		}
	}
	return append(b, '"')
}
