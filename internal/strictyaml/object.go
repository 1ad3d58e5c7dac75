package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A key is a field of a struct under its name in files.
type key struct {
	name     string
	index    []int
	required bool
}

// keysOf lists the keys of a struct type, including those of embedded structs.
func keysOf(t reflect.Type) []key {
	var keys []key
	for f := range t.Fields() {
		tag := f.Tag.Get("yaml")
		if f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct {
			for _, k := range keysOf(f.Type) {
				k.index = append([]int{f.Index[0]}, k.index...)
				keys = append(keys, k)
			}
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		keys = append(keys, key{name, f.Index, !strings.Contains(options, "omitempty")})
	}
	return keys
}

func (d *decoder) object(n *Node, path string, v reflect.Value) {
	if n.Kind != Object {
		hint := ""
		if n.Kind == Text && strings.Contains(n.Text, ":") {
			hint = "a space is needed after ':'"
		}
		d.wrong(n, path, Object.String(), hint)
		return
	}
	keys := keysOf(v.Type())
	for _, f := range d.unique(n, path) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == f.Name })
		if i < 0 {
			d.unknown(f, path, n, keys)
			continue
		}
		field := v.FieldByIndex(keys[i].index)
		if f.Value.Kind == Null && !keys[i].required && !d.doc.script {
			continue
		}
		d.value(f.Value, join(path, f.Name), field)
	}
	for _, k := range keys {
		if k.required && n.field(k.name) == nil {
			d.missing(n, path, k.name)
		}
	}
}

// unique reports duplicate keys and returns the first entry of each key.
func (d *decoder) unique(n *Node, path string) []Field {
	lines := make(map[string]int, len(n.Fields))
	var first []Field
	for _, f := range n.Fields {
		if line, twice := lines[f.Name]; twice {
			d.key(f, path, "duplicate key", fmt.Sprintf("first on line %d", line))
			continue
		}
		lines[f.Name] = f.Line
		first = append(first, f)
	}
	return first
}

// unknown reports an unknown key, and prefers to suggest keys that are not used yet.
func (d *decoder) unknown(f Field, path string, n *Node, keys []key) {
	var all, unused []string
	for _, k := range keys {
		all = append(all, k.name)
		if n.field(k.name) == nil {
			unused = append(unused, k.name)
		}
	}
	valid := unused
	if nearest(f.Name, unused) == "" && nearest(f.Name, all) != "" {
		valid = all
	}
	d.key(f, path, "unknown key", Suggest(f.Name, valid))
}

func (d *decoder) missing(n *Node, path, name string) {
	p := d.doc.problemAt(n.Line, n.Column, join(path, name), name, "missing key", "")
	d.problems = append(d.problems, p)
}

// key reports a problem of a key rather than of its value.
func (d *decoder) key(f Field, path, message, hint string) {
	p := d.doc.problemAt(f.Line, f.Column, join(path, f.Name), f.Name, message, hint)
	d.problems = append(d.problems, p)
}

// dict reads a map with text keys.
func (d *decoder) dict(n *Node, path string, v reflect.Value) {
	if n.Kind != Object {
		d.wrong(n, path, Object.String(), "")
		return
	}
	t := v.Type()
	names := enumOf(t.Key())
	out := reflect.MakeMapWithSize(t, len(n.Fields))
	for _, f := range d.unique(n, path) {
		if names != nil && !slices.Contains(names, f.Name) {
			d.key(f, path, "unknown key", Suggest(f.Name, names))
			continue
		}
		value := reflect.New(t.Elem()).Elem()
		d.value(f.Value, join(path, f.Name), value)
		out.SetMapIndex(reflect.ValueOf(f.Name).Convert(t.Key()), value)
	}
	v.Set(out)
}

// enumOf returns the names that a text type allows, or nil if any text is allowed.
func enumOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(t).Interface().(interface{ Enum() []string }); ok {
		return e.Enum()
	}
	return nil
}
