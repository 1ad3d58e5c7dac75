package strictyaml

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
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

func (d *decoder) object(n *node, path string, v reflect.Value) {
	if n.kind != kindObject {
		hint := ""
		if n.kind == kindText && strings.Contains(n.text, ":") {
			hint = "a space is needed after ':'"
		}
		d.wrong(n, path, kindObject.String(), hint)
		return
	}
	keys := keysOf(v.Type())
	names := sync.OnceValues(func() (all, unused []string) { return namesOf(keys, n) })
	for _, f := range d.unique(n, path) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == f.name })
		if i < 0 {
			d.unknown(f, path, names)
			continue
		}
		field := v.FieldByIndex(keys[i].index)
		if f.value.kind == kindNull && !keys[i].required && !d.doc.script {
			continue
		}
		d.value(f.value, join(path, f.name), field)
	}
	for _, k := range keys {
		if k.required && n.field(k.name) == nil {
			d.key(field{k.name, n.line, n.column, nil}, path, "missing key", "")
		}
	}
}

// unique reports duplicate keys and returns the first entry of each key.
func (d *decoder) unique(n *node, path string) []field {
	lines := make(map[string]int, len(n.fields))
	var first []field
	for _, f := range n.fields {
		if line, twice := lines[f.name]; twice {
			d.key(f, path, "duplicate key", fmt.Sprintf("first on line %d", line))
			continue
		}
		lines[f.name] = f.line
		first = append(first, f)
	}
	return first
}

// namesOf returns the names of all keys, and of those that n does not use.
func namesOf(keys []key, n *node) (all, unused []string) {
	for _, k := range keys {
		all = append(all, k.name)
		if n.field(k.name) == nil {
			unused = append(unused, k.name)
		}
	}
	return all, unused
}

// unknown reports an unknown key. It suggests a key that is not used yet, if one is similar.
func (d *decoder) unknown(f field, path string, names func() (all, unused []string)) {
	all, valid := names()
	if nearest(f.name, valid) == "" && nearest(f.name, all) != "" {
		valid = all
	}
	d.key(f, path, "unknown key", Suggest(f.name, valid))
}

// key reports a problem of a key rather than of its value.
func (d *decoder) key(f field, path, message, hint string) {
	p := d.doc.problemAt(f.line, f.column, join(path, f.name), f.name, message, hint)
	d.problems = append(d.problems, p)
}

// dict reads a map with text keys.
func (d *decoder) dict(n *node, path string, v reflect.Value) {
	if n.kind != kindObject {
		d.wrong(n, path, kindObject.String(), "")
		return
	}
	t := v.Type()
	names := EnumOf(t.Key())
	out := reflect.MakeMapWithSize(t, len(n.fields))
	for _, f := range d.unique(n, path) {
		if names != nil && !slices.Contains(names, f.name) {
			d.key(f, path, "unknown key", Suggest(f.name, names))
			continue
		}
		value := reflect.New(t.Elem()).Elem()
		d.value(f.value, join(path, f.name), value)
		out.SetMapIndex(reflect.ValueOf(f.name).Convert(t.Key()), value)
	}
	v.Set(out)
}

// EnumOf returns the names that a text type allows, or nil if any text is allowed.
func EnumOf(t reflect.Type) []string {
	if e, ok := reflect.Zero(t).Interface().(interface{ Enum() []string }); ok {
		return e.Enum()
	}
	return nil
}
