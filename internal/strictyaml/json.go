package strictyaml

import (
	"bytes"
	"encoding/json"
)

func (n *node) scalar() bool { return n.kind != list && n.kind != object }

// json is n for a type with UnmarshalJSON. A number that JSON cannot write becomes text.
func (n *node) json() []byte {
	switch n.kind {
	case null:
		return []byte("null")
	case boolean, number:
		if json.Valid([]byte(n.text)) {
			return []byte(n.text)
		}
		return quote(n.text)
	case list:
		var parts [][]byte
		for _, item := range n.items {
			parts = append(parts, item.json())
		}
		return wrap('[', parts, ']')
	case object:
		var parts [][]byte
		for _, f := range n.fields {
			parts = append(parts, append(append(quote(f.name), ':'), f.value.json()...))
		}
		return wrap('{', parts, '}')
	default:
		return quote(n.text)
	}
}

func wrap(open byte, parts [][]byte, end byte) []byte {
	return append(append([]byte{open}, bytes.Join(parts, []byte{','})...), end)
}

// quote writes text as JSON. Text always encodes.
func quote(s string) []byte {
	out, _ := json.Marshal(s)
	return out
}
