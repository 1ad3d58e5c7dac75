package strictyaml

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxBlank limits consecutive blank lines: in a block of text the lexer takes quadratic time over them,
// before the block can be refused.
const maxBlank = 100

// clean refuses anything that is not text, records the lengths of the lines in doc, and returns data without
// a byte order mark and with \n line ends.
func clean(doc *Document, data []byte) (string, *Problem) {
	doc.lines = [][]rune{nil}
	if len(data) > MaxSize {
		return "", doc.syntax(1, 1, "", fmt.Sprintf("the file is larger than the limit of %d bytes", MaxSize), "")
	}
	src := strings.TrimPrefix(string(data), "\uFEFF")
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	lines := strings.Split(src, "\n")
	doc.json = json.Valid([]byte(src))
	doc.lines = nil
	blank := 0
	for i, line := range lines {
		doc.lines = append(doc.lines, []rune(line))
		if problem := cleanLine(doc, i+1, line); problem != nil {
			return "", problem
		}
		if blank++; strings.TrimSpace(line) != "" {
			blank = 0
		}
		if blank > maxBlank {
			return "", doc.syntax(i+1, 1, "", fmt.Sprintf("more than %d blank lines in a row", maxBlank), "remove them")
		}
	}
	if doc.script {
		return src, nil // blocks of text are kept verbatim
	}
	return indent(doc, src, lines)
}

func cleanLine(doc *Document, number int, line string) *Problem {
	column := 0
	for i, r := range line {
		column++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return doc.syntax(number, column, "", "not UTF-8 text", "save the file as UTF-8")
		case !doc.json && r != '\t' && (r < ' ' || r > '~' && jsonOnly.MatchString(string(r))):
			return doc.syntax(number, column, "", fmt.Sprintf("control character U+%04X", r), "remove it")
		case !doc.json && line[0] == '%':
			return doc.syntax(number, column, "%", "directives are not supported", "put text that starts with % in quotes")
		}
	}
	return nil
}

// indent refuses tabs used for indentation, except in JSON, where indentation has no meaning. It turns other
// tabs into spaces and trims trailing spaces, because with either the library reports wrong columns.
func indent(doc *Document, src string, lines []string) (string, *Problem) {
	json := strings.HasPrefix(strings.TrimSpace(src), "{") || strings.HasPrefix(strings.TrimSpace(src), "[")
	for i, line := range lines {
		content := strings.TrimLeft(line, " \t")
		space := line[:len(line)-len(content)]
		if tab := strings.IndexByte(space, '\t'); tab >= 0 && content != "" && !json {
			return "", doc.syntax(i+1, tab+1, "", "tab used for indentation, use spaces", "")
		}
		lines[i] = untab(line)
		if trimmed := strings.TrimRight(lines[i], " "); !strings.HasSuffix(trimmed, `\`) {
			lines[i] = trimmed
		}
	}
	return strings.Join(lines, "\n"), nil
}

// untab replaces each tab outside quotes with a space.
func untab(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	out := []byte(line)
	var quote byte
	before := byte(' ')
	for i := 0; i < len(out); i++ {
		c := out[i]
		switch {
		case quote == 0 && c == '\t':
			out[i] = ' '
		case quote == 0 && (c == '"' || c == '\'') && strings.IndexByte(" \t[{,:", before) >= 0:
			quote = c
		case quote == '"' && c == '\\', quote == '\'' && strings.HasPrefix(line[i:], "''"):
			i++
		case c == quote:
			quote = 0
		}
		before = c
	}
	return string(out)
}

func (d *Document) syntax(line, column int, text, message, hint string) *Problem {
	p := d.problemAt(line, column, "$", text, message, hint)
	return &p
}
