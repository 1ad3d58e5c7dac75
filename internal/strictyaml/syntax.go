package strictyaml

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	reserved    = "text must not begin with this character"
	noKey       = "a key is not allowed here"
	colons      = "check the indentation; put text that contains ': ' in quotes"
	noPair      = "want key: value"
	noQuote     = "the closing quote is missing"
	noValue     = "a value is not allowed here"
	noEscape    = "unknown escape in double quotes"
	noTab       = "tab used for indentation, use spaces"
	indentation = "check the indentation"
	inQuotes    = "put it in quotes"
	bracketText = "put text that contains ?, [], or {} in quotes"
	endOnLine   = "quoted text must end on its line"
	questions   = "keys marked with ? are not supported"
	noQuestion  = "put text that starts with ? in quotes"
	backslash   = `write \\ for one backslash, or use single quotes`
)

// A place is where a problem is, seen from the line that the library's error names.
type place int

const (
	thisLine   place = iota
	lineAbove        // the library counts the lines of some errors from 2
	inBlock          // the line begins the list or the keys that hold the problem
	inBrackets       // the line has the bracket that opens the list or the keys that hold the problem
)

// lastBracket matches the last bracket of a line that opens.
var lastBracket = regexp.MustCompile(`([\[{])[^\[{]*$`)

// badEscape matches up to the first escape that YAML does not have.
var badEscape = regexp.MustCompile(`^(?:[^\\]|\\[0abtnvfre "/\\N_LP]|\\x[[:xdigit:]]{2}|\\u[[:xdigit:]]{4}|\\U[[:xdigit:]]{8})*(\\)`)

// sign matches up to the first value that begins with one of signs.
var sign = regexp.MustCompile(`[\s,\[{]([&*!|>])`)

// complaints translate the library's errors for authors of hand-written files. The first whose text occurs in the error is used.
var complaints = []struct {
	text          string
	place         place
	column        *regexp.Regexp // its group is the problem; nil or without a match: the whole line is
	message, hint string
}{
	{"mapping values are not allowed", lineAbove, regexp.MustCompile(`^[^:]*:\s+([^"'].*:(?:\s|$))`), noKey, colons},
	{"could not find expected ':'", lineAbove, nil, noPair, "check the indentation; a space is needed after ':'"},
	{"sequence entries are not allowed", lineAbove, regexp.MustCompile(`:\s+(-)`), "a list entry is not allowed here", indentation},
	{"cannot start any token", lineAbove, regexp.MustCompile("[\\s,\\[{]([@%`])"), reserved, inQuotes},
	{"found a tab character", lineAbove, nil, noTab, ""},
	{"unknown escape character", lineAbove, badEscape, noEscape, backslash},
	{"hexdecimal number", lineAbove, badEscape, noEscape, backslash},
	{"character escape code", lineAbove, regexp.MustCompile(`(\\[uU])`), noEscape, backslash},
	{"unexpected end of stream", lineAbove, nil, noQuote, endOnLine},
	{"unexpected document indicator", lineAbove, nil, noQuote, endOnLine},
	{"expected key", inBlock, nil, noPair, indentation},
	{"expected '-' indicator", inBlock, nil, "want a list entry", indentation},
	{"mapping keys are not allowed", lineAbove, regexp.MustCompile(`[\s,\[{](\?)`), questions, noQuestion},
	{"undefined tag handle", thisLine, regexp.MustCompile(`[\s,\[{](!)`), signs['!'][0], signs['!'][1]},
	{"unknown anchor", inBlock, regexp.MustCompile(`[\s,\[{](\*)`), signs['*'][0], signs['*'][1]},
	{"',' or ']'", inBrackets, regexp.MustCompile(`(\[)`), "',' or the closing ']' is missing", bracketText},
	{"',' or '}'", inBrackets, regexp.MustCompile(`(\{)`), "',' or the closing '}' is missing", bracketText},
	{"expected node content", thisLine, regexp.MustCompile(`[,\[{]\s*(,)`), noValue, ""},
	{"<document start>", thisLine, nil, noValue, indentation},
}

var located = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(.*)$`)

// syntaxError places an error of the library, which has read that many lines. The library says where the list or the keys begin that hold
// the problem, not where the problem is.
func (d *Document) syntaxError(err error, read int) *Problem {
	if problem := d.jsonError(); problem != nil {
		return problem
	}
	line, complaint := 0, err.Error()
	if m := located.FindStringSubmatch(complaint); m != nil {
		line, _ = strconv.Atoi(m[1])
		complaint = m[2]
	}
	for _, c := range complaints {
		if !strings.Contains(complaint, c.text) {
			continue
		}
		switch opened := line; c.place {
		case lineAbove:
			line--
		case thisLine:
			if last := d.lastContent(line); last < line { // the file is at its end
				line, c.column, c.message, c.hint = last, lastBracket, "the closing bracket is missing", ""
			}
		case inBlock:
			line = d.firstWrongLine(line, read)
		case inBrackets:
			line = d.lastContent(read)
			if opened < line {
				c.column = nil
				c.hint = fmt.Sprintf("the bracket opens on line %d; %s", opened, c.hint)
			}
		}
		if problem := cmp.Or(d.tabFrom(line, read), d.openQuote(line)); problem != nil {
			return problem
		}
		return d.syntaxOfLine(line, c.column, c.message, c.hint)
	}
	line, _ = d.clamp(line-1, 1) // as with lineAbove
	if m := sign.FindStringSubmatch(string(d.lines[line-1])); m != nil {
		if what, bad := d.refused(rune(m[1][0])); bad {
			return d.syntaxOfLine(line, sign, what[0], what[1])
		}
	}
	return d.syntaxOfLine(line, nil, "not valid YAML: "+complaint, "")
}

// likeJSON matches the beginning of a file that a program wrote, or somebody who thinks of JSON.
var likeJSON = regexp.MustCompile(`^\s*[{\[]\s*["{\[]`)

// jsonError reports where a file that looks like JSON is none. It may be a single long line, so the place in the line matters.
func (d *Document) jsonError() *Problem {
	src := d.source()
	wrong, is := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(src), new(any)))
	if !is || !likeJSON.MatchString(src) {
		return nil
	}
	before := src[:max(wrong.Offset-1, 0)]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
	return d.syntax(line+1, column+1, "", "not valid JSON: "+wrong.Error(), "")
}

// syntaxOfLine reports what a line has in the group of at, else the line.
func (d *Document) syntaxOfLine(line int, at *regexp.Regexp, message, hint string) *Problem {
	line, _ = d.clamp(line, 1)
	text := string(d.lines[line-1])
	start := len(text) - len(strings.TrimLeft(text, " \t"))
	if at != nil {
		if m := at.FindStringSubmatchIndex(text); m != nil {
			start = m[2]
		}
	}
	return d.syntax(line, 1+utf8.RuneCountInString(text[:start]), strings.TrimRight(text[start:], " \t"), message, hint)
}

// lookahead is how many lines with content the library reads at most after a wrong one.
const lookahead = 3

// firstWrongLine returns the first line with which the file is wrong, or begin where that cannot be told. It looks at the last lines that
// the library has read only, so that the whole takes no more than a few times as long as reading the file.
func (d *Document) firstWrongLine(begin, read int) int {
	line := d.lastContent(read)
	for range lookahead + 1 {
		err := yaml.NewDecoder(&lineReader{lines: d.yamlLines()[:line-1]}).Decode(new(yaml.Node))
		if err == nil || errors.Is(err, io.EOF) {
			return line
		}
		line = d.lastContent(line - 1)
	}
	return begin
}

// lastContent returns the last line up to the given one that has more than a comment, at least 1.
func (d *Document) lastContent(line int) int {
	for line = min(line, len(d.lines)); line > 1; line-- {
		if text := strings.TrimSpace(string(d.lines[line-1])); text != "" && text[0] != '#' {
			break
		}
	}
	return max(line, 1)
}

// tabFrom reports a tab that indents one of the lines.
func (d *Document) tabFrom(first, last int) *Problem {
	for line := max(first, 1); line <= min(last, len(d.lines)); line++ {
		text := string(d.lines[line-1])
		content := strings.TrimLeft(text, " \t")
		if tab := strings.IndexByte(text[:len(text)-len(content)], '\t'); tab >= 0 {
			return d.syntax(line, tab+1, "", noTab, "")
		}
	}
	return nil
}

// openQuote reports a quote that does not close on its line: on this line, or on the last one above that has quotes.
func (d *Document) openQuote(line int) *Problem {
	for at := min(line, len(d.lines)); at > 0; at-- {
		text := d.lines[at-1]
		if column := unclosed(text); column > 0 {
			return d.syntax(at, column, string(text[column-1:]), noQuote, endOnLine)
		}
		if at < line && strings.ContainsAny(string(text), `"'`) {
			return nil
		}
	}
	return nil
}

// unclosed returns the column of the quote that does not close on its line, or 0.
func unclosed(line []rune) int {
	before := ' '
	for i := 0; i < len(line); i++ {
		switch begins := strings.ContainsRune(" \t[{,:", before); {
		case begins && (line[i] == '"' || line[i] == '\''):
			end := closingQuote(line[i:])
			if end < 0 {
				return i + 1
			}
			i += end
		case begins && line[i] == '#':
			return 0
		}
		before = line[i]
	}
	return 0
}

// closingQuote returns the index of the quote that ends the text that begins with a quote, or -1.
func closingQuote(line []rune) int {
	for i := 1; i < len(line); i++ {
		switch {
		case line[0] == '"' && line[i] == '\\', line[0] == '\'' && line[i] == '\'' && i+1 < len(line) && line[i+1] == '\'':
			i++
		case line[i] == line[0]:
			return i
		}
	}
	return -1
}
