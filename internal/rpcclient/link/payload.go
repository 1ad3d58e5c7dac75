package link

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"sidetone/internal/devices"
)

const command = "SET_CERTIFIED_DEVICES"

// request is the command as it is sent (rules R29, R40).
type request struct {
	Nonce string `json:"nonce"`
	Cmd   string `json:"cmd"`
	Args  args   `json:"args"`
}

type args struct {
	Devices []devices.Device `json:"devices"`
}

// Encode returns the command for list with a fresh nonce, as JSON of nothing but ASCII (rule R27).
func Encode(list []devices.Device) (nonce string, payload []byte) {
	if list == nil {
		list = []devices.Device{}
	}
	nonce = rand.Text()
	payload, err := json.Marshal(request{nonce, command, args{list}})
	if err != nil {
		panic(err) // texts and flags can all be encoded
	}
	return nonce, toASCII(payload)
}

// toASCII returns the same JSON with everything beyond ASCII as \uXXXX.
func toASCII(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
