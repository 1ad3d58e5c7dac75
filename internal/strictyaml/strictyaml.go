// Package strictyaml decodes hand-written files, YAML or JSON (which is YAML), into Go structs. It
// accepts a plain subset of YAML (no anchors, tags, merge keys or multiple documents), refuses unknown
// keys, and reports the position of every problem and how to fix it. It never guesses: a number where
// text is wanted is refused, because the next tool may change 0710 or 1e10.
//
// Keys come from the yaml tags. A key whose tag lacks omitempty is required. Values may be
// text, bool, int, struct, pointer, slice, map with text keys, time.Duration, time.Time and
// any type with UnmarshalText or UnmarshalJSON. A text type with the method Enum() []string
// accepts only the names it returns.
package strictyaml

import (
	"reflect"
	"slices"
)

// MaxSize is the size in bytes above which a file is refused.
const MaxSize = 1 << 20

// Decode decodes data into the value that into points to. file is only the name used in problems.
// Fields whose key is absent or null keep their value, so that into may hold defaults; a list or map
// that is present replaces the old one. All problems are returned, in order of position, but a file
// that is not valid YAML yields only one. The Document is never nil. After a problem, the value that
// into points to is undefined.
func Decode(file string, data []byte, into any) (*Document, []Problem) {
	return (&Document{file: file}).decode(data, into)
}

// DecodeScript is Decode for files that list steps to run. It also accepts blocks of text, which begin
// with | or >, and refuses empty text, empty lists and keys without a value, because a step is missing there.
func DecodeScript(file string, data []byte, into any) (*Document, []Problem) {
	return (&Document{file: file, script: true}).decode(data, into)
}

func (d *Document) decode(data []byte, into any) (*Document, []Problem) {
	v := reflect.ValueOf(into).Elem()
	problem := d.split(data)
	if problem == nil {
		d.root, problem = d.parse()
	}
	if problem != nil {
		return d, []Problem{*problem}
	}
	if d.root == nil {
		if v.Kind() == reflect.Struct && !slices.ContainsFunc(keysOf(v.Type()), func(k key) bool { return k.required }) {
			return d, nil
		}
		return d, []Problem{d.problemAt(1, 1, "$", "", "the file is empty", "")}
	}
	decoding := &decoder{doc: d}
	decoding.value(d.root, "$", v)
	slices.SortStableFunc(decoding.problems, Compare)
	return d, decoding.problems
}

// DecodeText decodes a single value that is not in a file, such as an environment variable, into the
// value that into points to. In problems, name takes the place of the file's name. List elements are
// separated by commas. Text needs no quotes.
func DecodeText(name, text string, into any) []Problem {
	d := &decoder{doc: &Document{file: name}}
	v := reflect.ValueOf(into).Elem()
	d.value(textNode(text, v.Type()), "$", v)
	return d.problems
}
