// Package strictyaml reads the files that people write: YAML, or JSON, which is YAML, into Go
// structs. It accepts a plain subset of YAML (no anchors, tags, merge keys or several
// documents) and nothing that it does not know, and it says of every problem where it is and
// what would be right. It never guesses: a number where text is wanted is refused, because
// 0710 or 1e10 would not survive the next tool.
//
// Keys come from the yaml tags. A key whose tag lacks omitempty is required. Values may be
// text, bool, int, struct, pointer, slice, map with text keys, time.Duration, time.Time and
// any type with UnmarshalText or UnmarshalJSON. A text type with the method Enum() []string
// takes only these names.
package strictyaml

import (
	"reflect"
	"slices"

	"sidetone/internal/stable"
)

// MaxSize is the size in bytes above which a file is refused.
const MaxSize = 1 << 20

// Decode reads data into the value that into points to. file is the name used in problems; it
// is not opened. Fields whose key is absent or null keep their value, so that into may hold
// defaults; a list or map that is present replaces the old one. All problems are returned, in
// order of position, except that a file that is not valid YAML has one problem only. The
// Document is never nil. If there is a problem, do not use what into points to.
func Decode(file string, data []byte, into any) (*Document, []Problem) {
	return (&Document{file: file}).decode(data, into)
}

// DecodeScript is Decode for files that say what to do. It takes blocks of text too, which begin
// with | or >, and nothing that stands there may be empty: no text, no list, and no key may be
// without a value, since what was to be done there has been forgotten.
func DecodeScript(file string, data []byte, into any) (*Document, []Problem) {
	return (&Document{file: file, script: true}).decode(data, into)
}

func (d *Document) decode(data []byte, into any) (*Document, []Problem) {
	v := reflect.ValueOf(into).Elem()
	if problem := d.read(data); problem != nil {
		return d, []Problem{*problem}
	}
	if d.root == nil {
		return d, empty(d, v.Type())
	}
	decoding := &decoder{doc: d}
	decoding.value(d.root, "$", v)
	stable.Sort(decoding.problems, Compare)
	return d, decoding.problems
}

func (d *Document) read(data []byte) *Problem {
	src, problem := clean(d, data)
	if problem == nil {
		d.root, problem = parse(d, src)
	}
	return problem
}

// empty judges a file without content: fine where nothing is required.
func empty(doc *Document, t reflect.Type) []Problem {
	if t.Kind() == reflect.Struct && !slices.ContainsFunc(keysOf(t), func(k key) bool { return k.required }) {
		return nil
	}
	return []Problem{doc.problemAt(1, 1, "$", "", "the file is empty", "")}
}

// DecodeText reads one value that is not in a file, such as an environment variable, into the
// value that into points to. name is where it comes from and stands in for the file's name in
// problems. A list is separated by commas. Text needs no quotes.
func DecodeText(name, text string, into any) []Problem {
	d := &decoder{doc: &Document{file: name}}
	v := reflect.ValueOf(into).Elem()
	d.value(textNode(text, v.Type()), "$", v)
	return d.problems
}
