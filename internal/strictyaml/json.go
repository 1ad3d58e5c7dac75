package strictyaml

import (
	"bytes"
	"encoding/json"
)

func (n *Node) scalar() bool { return n.Kind != List && n.Kind != Object }

// json encodes n for a type with UnmarshalJSON. A number that is not valid in JSON becomes text.
func (n *Node) json() []byte {
	switch n.Kind {
	case Null:
		return []byte("null")
	case Boolean, Number:
		if json.Valid([]byte(n.Text)) {
			return []byte(n.Text)
		}
		return quote(n.Text)
	case List:
		var parts [][]byte
		for _, item := range n.Items {
			parts = append(parts, item.json())
		}
		return wrap('[', parts, ']')
	case Object:
		var parts [][]byte
		for _, f := range n.Fields {
			parts = append(parts, append(append(quote(f.Name), ':'), f.Value.json()...))
		}
		return wrap('{', parts, '}')
	default:
		return quote(n.Text)
	}
}

func wrap(open byte, parts [][]byte, end byte) []byte {
	return append(append([]byte{open}, bytes.Join(parts, []byte{','})...), end)
}

// quote encodes s as JSON, which cannot fail for a string.
func quote(s string) []byte {
	out, _ := json.Marshal(s)
	return out
}
