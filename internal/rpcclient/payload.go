package rpcclient

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"sidetone/internal/devices"
)

const command = "SET_CERTIFIED_DEVICES"

type request struct {
	Nonce string `json:"nonce"`
	Cmd   string `json:"cmd"`
	Args  args   `json:"args"`
}

type args struct {
	Devices []devices.Device `json:"devices"`
}

// encode returns the command for list with a fresh nonce, as ASCII-only JSON (rules R27, R29,
// R40).
func encode(list []devices.Device) (nonce string, payload []byte, err error) {
	if list == nil {
		list = []devices.Device{}
	}
	nonce = rand.Text()
	payload, err = json.Marshal(request{nonce, command, args{list}})
	if err != nil {
		return "", nil, fmt.Errorf("encode device list: %w", err)
	}
	return nonce, asciiJSON(payload), nil
}

// asciiJSON writes every character beyond ASCII as \uXXXX. In JSON such characters occur in
// strings only, so the text keeps its meaning.
func asciiJSON(in []byte) []byte {
	plain := true
	for _, b := range in {
		if b >= utf8.RuneSelf {
			plain = false
			break
		}
	}
	if plain {
		return in
	}
	out := make([]byte, 0, len(in)+len(in)/2)
	for _, r := range string(in) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out
}
