package strictyaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// split keeps the lines of data, without a byte order mark and their ends, and refuses what is no text.
func (d *Document) split(data []byte) *Problem {
	d.lines = [][]rune{nil}
	if len(data) > MaxSize {
		return d.syntax(1, 1, "", fmt.Sprintf("the file is larger than the limit of %d bytes", MaxSize), "")
	}
	src := strings.TrimPrefix(string(data), "\uFEFF")
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	d.json = json.Valid([]byte(src))
	d.lines = nil
	for line := range strings.SplitSeq(src, "\n") {
		d.lines = append(d.lines, []rune(line))
		if problem := d.checkLine(line); problem != nil {
			return problem
		}
	}
	return nil
}

// checkLine refuses what must not be in the last line so far.
func (d *Document) checkLine(line string) *Problem {
	number, column := len(d.lines), 0
	for i, r := range line {
		column++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return d.syntax(number, column, "", "not UTF-8 text", "save the file as UTF-8")
		case d.json:
		case r < ' ' && r != '\t', r > '~' && jsonOnly.MatchString(string(r)):
			return d.syntax(number, column, "", fmt.Sprintf("control character U+%04X", r), "remove it")
		case line[0] == '%': // the library takes quadratic time over directives
			return d.syntax(number, column, "%", "directives are not supported", "put text that starts with % in quotes")
		}
	}
	return nil
}

func (d *Document) syntax(line, column int, text, message, hint string) *Problem {
	p := d.problemAt(line, column, "$", text, message, hint)
	return &p
}
