package strictyaml

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Problem is one error in a file, with its position.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 means the whole file, or something that is not a file
	Column  int    `json:"column,omitempty"` // from 1, in characters
	Path    string `json:"path,omitempty"`   // such as $.products[0].links[1].vid
	Text    string `json:"text,omitempty"`   // the offending text, if there is any
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // how to fix it, such as the nearest valid name
}

// maxText is how many characters of an offending text are shown.
const maxText = 60

// String is one line: file:line:column: message: "text" (hint).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.Message)
	if p.Text != "" {
		b.WriteString(": " + strconv.Quote(shorten(p.Text)))
	}
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return oneLine(b.String())
}

// Compare orders problems by file, position, path and message.
func Compare(a, b Problem) int {
	return cmp.Or(
		cmp.Compare(a.File, b.File),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Message, b.Message),
	)
}

func shorten(s string) string {
	n := 0
	for i := range s {
		if n == maxText {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// oneLine replaces line breaks and other control characters, which file names and keys may contain, for
// terminals and logs.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
