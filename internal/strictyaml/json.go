package strictyaml

import "encoding/json"

func (n *node) scalar() bool { return n.kind < kindList }

// json encodes n for a type with UnmarshalJSON.
func (n *node) json() []byte {
	out, _ := json.Marshal(n.plain()) // cannot fail for these types
	return out
}

// plain returns n as a value that encoding/json can encode. A number that is not valid in JSON becomes text.
func (n *node) plain() any {
	switch n.kind {
	case kindNull:
		return nil
	case kindBoolean, kindNumber:
		if json.Valid([]byte(n.text)) {
			return json.RawMessage(n.text)
		}
	case kindList:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = item.plain()
		}
		return items
	case kindObject:
		fields := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			fields[f.name] = f.value.plain()
		}
		return fields
	}
	return n.text
}
