package strictyaml

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// Kind is what a value is.
type Kind int

// The kinds. Those before List are scalars.
const (
	Null Kind = iota
	Boolean
	Number
	Text
	List
	Object
)

// String names a kind as in "found a list".
func (k Kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "keys with values"}[k]
}

// A Node is one value of a file, free of the YAML library's types and quirks.
type Node struct {
	Kind         Kind
	Line, Column int
	Text         string // scalars: the text; numbers as written
	Items        []*Node
	Fields       []Field
}

// A Field is one "key: value".
type Field struct {
	Name         string
	Line, Column int
	Value        *Node
}

func (n *Node) field(name string) *Node {
	for _, f := range n.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// empty reports whether nothing is there: no text, no item and no key.
func (n *Node) empty() bool {
	return n.Kind == Null || n.Text == "" && len(n.Items)+len(n.Fields) == 0
}

// numeric matches what any YAML reader may take for a number. It is deliberately wider than YAML 1.2:
// 0b0e, 0710 and 1e10 are USB ids to one reader and numbers to the next.
var numeric = regexp.MustCompile(`^[-+]?(0[xXoObB][0-9A-Za-z_]+|(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?|\.(?i:inf|nan))$`)

// classify returns the kind of an unquoted scalar.
func classify(plain string) Kind {
	switch lower := strings.ToLower(plain); {
	case lower == "" || lower == "~" || lower == "null":
		return Null
	case lower == "true" || lower == "false":
		return Boolean
	case strings.IndexByte("+-.0123456789", plain[0]) >= 0 && numeric.MatchString(plain): // most scalars are words
		return Number
	default:
		return Text
	}
}

// textNode returns the node that s would be in a file if it were quoted as type t needs.
func textNode(s string, t reflect.Type) *Node {
	switch t.Kind() {
	case reflect.String:
		return &Node{Kind: Text, Text: s}
	case reflect.Slice:
		if hasUnmarshaler(t) {
			return &Node{Kind: Text, Text: s}
		}
		n := &Node{Kind: List}
		if s == "" {
			return n
		}
		for item := range strings.SplitSeq(s, ",") {
			n.Items = append(n.Items, textNode(strings.TrimSpace(item), t.Elem()))
		}
		return n
	default:
		return &Node{Kind: classify(s), Text: s}
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

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

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
