package strictyaml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse is the one place that calls the YAML library. The root is nil if the file has no content.
func (d *Document) parse() (root *node, problem *Problem) {
	// No file may crash the agent, so a panic of the library ends here.
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, d.syntax(1, 1, "", fmt.Sprintf("not valid YAML: %v", r), "")
		}
	}()
	in := &lineReader{lines: d.yamlLines()}
	decoder := yaml.NewDecoder(in)
	var first, second yaml.Node
	err := decoder.Decode(&first)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil:
		line := second.Line - 1
		return nil, d.syntaxOfLine(line, nil, "a second document begins here", "one document per file")
	case !errors.Is(err, io.EOF):
		return nil, d.syntaxError(err, in.read)
	}
	c := converter{doc: d}
	root = c.value(first.Content[0])
	if c.problem != nil || isImplicit(first.Content[0]) {
		return nil, c.problem
	}
	return root, nil
}

// A lineReader hands out a text line by line, so that its owner knows how far the library has read. A line break precedes each line: to
// the library, an error on the first line has no line.
type lineReader struct {
	lines []string
	rest  string
	read  int // lines handed out
}

func (r *lineReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.read == len(r.lines) {
			return 0, io.EOF
		}
		r.rest = "\n" + r.lines[r.read]
		r.read++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// jsonOnly matches what JSON allows in text and YAML does not, or not in each form: escapes, and characters that end a line in YAML or have
// no place in it.
var jsonOnly = regexp.MustCompile(`\\(?:u.{4}|.)|[\x{7F}-\x{9F}\x{2028}\x{2029}\x{FEFF}\x{FFFE}\x{FFFF}]`)

// yamlLines returns the lines as the library may see them. In JSON, U+FFFD stands for each character of what only JSON allows; scalar reads
// such text as JSON.
func (d *Document) yamlLines() []string {
	src := d.source()
	if d.json {
		src = jsonOnly.ReplaceAllStringFunc(src, func(s string) string { return strings.Repeat("\uFFFD", utf8.RuneCountInString(s)) })
	}
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		if !d.script && strings.TrimSpace(line) == "" {
			lines[i] = "" // to the library, a tab indents even nothing
		}
	}
	return lines
}

// converter turns the library's nodes into nodes.
type converter struct {
	doc     *Document
	problem *Problem // the first
}

// signs lists YAML that is refused, by the character with which it begins.
var signs = map[rune][2]string{
	'&': {"anchors are not supported", "put text that starts with & in quotes"},
	'*': {"aliases are not supported", "put text that starts with * in quotes"},
	'!': {"tags are not supported", "put text that starts with ! in quotes"},
	'|': {"blocks of text are not supported", "write the text on one line, in quotes"},
	'>': {"blocks of text are not supported", "write the text on one line, in quotes"},
}

// refused returns what is refused that begins with that character, if it is.
func (d *Document) refused(begin rune) (what [2]string, bad bool) {
	if d.script && (begin == '|' || begin == '>') {
		return what, false
	}
	what, bad = signs[begin]
	return what, bad
}

func (c *converter) value(in *yaml.Node) *node {
	out := &node{}
	out.line, out.column = c.doc.clamp(in.Line-1, in.Column)
	rest := c.doc.lines[out.line-1][out.column-1:]
	if len(rest) > 0 {
		if what, bad := c.doc.refused(rest[0]); bad {
			c.refuse(out, string(rest[0]), what[0], what[1])
			return out
		}
	}
	switch in.Kind {
	case yaml.MappingNode:
		out.kind = kindObject
		c.fields(in, out)
	case yaml.SequenceNode:
		out.kind = kindList
		for _, item := range in.Content {
			out.items = append(out.items, c.value(item))
		}
	default:
		c.scalar(in, out, rest)
	}
	return out
}

func (c *converter) refuse(at *node, text, message, hint string) {
	if c.problem == nil {
		c.problem = c.doc.syntax(at.line, at.column, text, message, hint)
	}
}

func (c *converter) fields(in *yaml.Node, out *node) {
	for i := 0; i+1 < len(in.Content); i += 2 {
		key, value := c.value(in.Content[i]), c.value(in.Content[i+1])
		implicit := isImplicit(in.Content[i+1])
		switch {
		case !key.scalar() || isImplicit(in.Content[i]):
			c.refuse(key, "", "want a key before ':'", "")
		case in.Content[i].Tag == "!!merge":
			c.refuse(key, key.text, "merge keys are not supported", "write the keys out")
		case c.marked(key):
			c.refuse(key, key.text, questions, noQuestion)
		case implicit && in.Style&yaml.FlowStyle != 0 && in.Content[i].Style == 0 && strings.Contains(key.text, ":"):
			c.refuse(key, key.text, "a space is needed after ':'", "")
		case implicit:
			value.line, value.column = key.line, key.column
		}
		out.fields = append(out.fields, field{key.text, key.line, key.column, value})
	}
}

// marked reports whether there is a ? before a key.
func (c *converter) marked(key *node) bool {
	before := c.doc.lines[key.line-1][:key.column-1]
	for len(before) > 0 && before[len(before)-1] == ' ' {
		before = before[:len(before)-1]
	}
	return len(before) > 0 && before[len(before)-1] == '?'
}

// scalar reads text that begins with rest, which ends with its line.
func (c *converter) scalar(in *yaml.Node, out *node, rest []rune) {
	out.kind, out.text = kindText, in.Value
	switch {
	case in.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case in.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		end := closingQuote(rest)
		if end < 0 {
			c.refuse(out, in.Value, noQuote, "quoted text must end on its line")
		} else if c.doc.json && strings.ContainsRune(in.Value, '\uFFFD') {
			_ = json.Unmarshal([]byte(string(rest[:end+1])), &out.text) // cannot fail, since the file is JSON
		}
	case !strings.HasPrefix(string(rest[:min(len(rest), len(in.Value))]), in.Value):
		c.refuse(out, in.Value, "unquoted text continues on the next line", "check the indentation, or put the text in quotes")
	case strings.HasSuffix(in.Value, ":"):
		c.refuse(out, in.Value, noKey, colons)
	default:
		out.kind = classify(in.Value)
	}
}

// isImplicit reports whether n stands for a value that is not there.
func isImplicit(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Value == "" && n.Anchor == ""
}
