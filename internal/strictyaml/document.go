package strictyaml

import "strings"

// Document holds the position of each value in a file, for checks after decoding.
type Document struct {
	file   string
	lines  [][]rune
	root   *node
	json   bool
	script bool // from DecodeScript: blocks of text are allowed, and no value may be empty
}

// File is the name that was given to Decode.
func (d *Document) File() string { return d.file }

// Has reports whether the file has a value other than null at path.
func (d *Document) Has(path string) bool {
	_, _, n := d.find(path)
	return n != nil && n.kind != kindNull
}

// Unset returns a problem for each key below path that has no value.
func (d *Document) Unset(path, message, hint string) (all []Problem) {
	_, _, n := d.find(path)
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		at := join(path, f.name)
		if f.value.kind == kindNull {
			all = append(all, d.problemAt(f.line, f.column, at, f.name, message, hint))
		}
		all = append(all, d.Unset(at, message, hint)...)
	}
	return all
}

// Position returns the line and column of the value at path, or of the nearest existing
// parent. A list or a block of keys begins at its first entry. Both are at least 1.
func (d *Document) Position(path string) (line, column int) {
	line, column, _ = d.find(path)
	return d.clamp(line, column)
}

// Text returns the text of the value at path; "" if it is absent or not a scalar.
func (d *Document) Text(path string) string {
	if _, _, n := d.find(path); n != nil {
		return n.text
	}
	return ""
}

// Problem returns a problem of the value at path.
func (d *Document) Problem(path, message, hint string) Problem {
	line, column := d.Position(path)
	return d.problemAt(line, column, path, d.Text(path), message, hint)
}

// find returns the node at path, or nil and the position of its deepest existing ancestor.
func (d *Document) find(path string) (line, column int, n *node) {
	n = d.root
	rest := strings.TrimPrefix(path, "$")
	for n != nil {
		line, column = n.line, n.column
		if rest == "" {
			return line, column, n
		}
		var name string
		var i int
		name, i, rest = step(rest)
		switch {
		case i >= 0 && i < len(n.items):
			n = n.items[i]
		case i < 0:
			n = n.field(name)
		default:
			n = nil
		}
	}
	return line, column, nil
}

// source is the whole file.
func (d *Document) source() string {
	text := make([]string, len(d.lines))
	for i, line := range d.lines {
		text[i] = string(line)
	}
	return strings.Join(text, "\n")
}

func (d *Document) problemAt(line, column int, path, text, message, hint string) Problem {
	p := Problem{File: d.file, Path: path, Text: text, Message: message, Hint: hint}
	if d.lines != nil {
		p.Line, p.Column = d.clamp(line, column)
	}
	return p
}

// clamp keeps a position inside the file; just after the end of a line counts as inside. The
// library is off by a column or a line at the end of some values.
func (d *Document) clamp(line, column int) (int, int) {
	line = max(1, min(line, len(d.lines)))
	length := 0
	if line <= len(d.lines) {
		length = len(d.lines[line-1])
	}
	return line, max(1, min(column, length+1))
}
