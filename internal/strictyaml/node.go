package strictyaml

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// kind is what a value is.
type kind int

// The kinds. Those before kindList are scalars.
const (
	kindNull kind = iota
	kindBoolean
	kindNumber
	kindText
	kindList
	kindObject
)

// String names a kind as in "found a list".
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "keys with values"}[k]
}

// A node is one value of a file, free of the YAML library's types and quirks.
type node struct {
	kind         kind
	line, column int
	text         string // scalars: the text; numbers as written
	items        []*node
	fields       []field
}

// A field is one "key: value".
type field struct {
	name         string
	line, column int
	value        *node
}

func (n *node) field(name string) *node {
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// empty reports whether nothing is there: no text, no item and no key.
func (n *node) empty() bool {
	return n.kind == kindNull || n.text == "" && len(n.items)+len(n.fields) == 0
}

func (n *node) scalar() bool { return n.kind < kindList }

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

// numeric matches what any YAML reader may take for a number. It is deliberately wider than YAML 1.2:
// 0b0e, 0710 and 1e10 are USB ids to one reader and numbers to the next.
var numeric = regexp.MustCompile(`^[-+]?(0[xXoObB][0-9A-Za-z_]+|(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|\.(?i:inf|nan))$`)

// classify returns the kind of an unquoted scalar.
func classify(plain string) kind {
	switch lower := strings.ToLower(plain); {
	case lower == "" || lower == "~" || lower == "null":
		return kindNull
	case lower == "true" || lower == "false":
		return kindBoolean
	case strings.IndexByte("+-.0123456789", plain[0]) >= 0 && numeric.MatchString(plain): // most scalars are words
		return kindNumber
	default:
		return kindText
	}
}

// textNode returns the node that s would be in a file if it were quoted as type t needs.
func textNode(s string, t reflect.Type) *node {
	switch t.Kind() {
	case reflect.String:
		return &node{kind: kindText, text: s}
	case reflect.Slice:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return &node{kind: kindText, text: s}
		}
		n := &node{kind: kindList}
		if s == "" {
			return n
		}
		for item := range strings.SplitSeq(s, ",") {
			n.items = append(n.items, textNode(strings.TrimSpace(item), t.Elem()))
		}
		return n
	default:
		return &node{kind: classify(s), text: s}
	}
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// join appends a key to a path; a key that is not a plain word is quoted.
func join(path, name string) string {
	if identifier.MatchString(name) {
		return path + "." + name
	}
	return path + "[" + strconv.Quote(name) + "]"
}

// step splits the first key or index off a path without its leading $.
func step(path string) (name string, i int, rest string) {
	if quoted, err := strconv.QuotedPrefix(strings.TrimPrefix(path, "[")); err == nil && strings.HasPrefix(path, "[") {
		name, _ = strconv.Unquote(quoted)
		return name, -1, strings.TrimPrefix(path[1+len(quoted):], "]")
	}
	if in, ok := strings.CutPrefix(path, "["); ok {
		num, rest, _ := strings.Cut(in, "]")
		if i, err := strconv.Atoi(num); err == nil {
			return "", i, rest
		}
		return "", -1, ""
	}
	path = strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end], -1, path[end:]
	}
	return path, -1, ""
}
