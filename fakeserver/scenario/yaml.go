package scenario

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits that no scenario comes near. They keep the YAML library's recursion and its
// quadratic corners within a moment, whatever the file holds.
const (
	maxSize   = 256 << 10 // bytes of a file
	maxTokens = 20_000
	maxDepth  = 30
	maxBlank  = 100 // blank lines in a row
)

type kind int

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

// String names a kind as "found …" needs it.
func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "keys with values"}[k]
}

// A node is one value of a file, free of the YAML library's types.
type node struct {
	kind      kind
	line, col int
	text      string // of a scalar, as written
	items     []*node
	fields    []field
}

// A field is one "key: value".
type field struct {
	name  string
	key   *node
	value *node
}

// parse turns a file into nodes. The root is nil when there is a problem, or no content.
func parse(file string, data []byte) (root *node, problem *Problem) {
	c := converter{file: file}
	// goccy/go-yaml indexes out of range on some malformed input. A file must not take a
	// lab's run down, so the panic ends here.
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, c.syntax(1, 1, fmt.Sprintf("not valid YAML: %v", r))
		}
	}()
	src, problem := c.clean(data)
	if problem != nil {
		return nil, problem
	}
	tokens := lexer.Tokenize(src)
	if problem := c.check(tokens); problem != nil {
		return nil, problem
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, c.syntaxError(err)
	}
	for _, d := range parsed.Docs {
		if d.Body == nil {
			continue
		}
		if root != nil {
			n := c.scalar(d.Body.GetToken())
			return nil, c.syntax(n.line, n.col, "a second document begins here, want one for each file")
		}
		root = c.value(d.Body, 0)
	}
	if c.problem != nil {
		return nil, c.problem
	}
	return root, nil
}

// A converter turns the library's tree into ours.
type converter struct {
	file    string
	lines   []int    // length of each line, in characters
	problem *Problem // the first
}

// syntax makes a problem whose position is inside the file: the library's is off by a column
// or a line at the end of some values.
func (c *converter) syntax(line, column int, message string) *Problem {
	line, column = c.clamp(line, column)
	return &Problem{File: c.file, Line: line, Column: column, Message: message}
}

func (c *converter) clamp(line, column int) (int, int) {
	line = max(1, min(line, len(c.lines)))
	length := 0
	if line <= len(c.lines) {
		length = c.lines[line-1]
	}
	return line, max(1, min(column, length+1))
}

// clean returns the text without byte order mark, with \n as the only line end.
func (c *converter) clean(data []byte) (string, *Problem) {
	if len(data) > maxSize {
		return "", c.syntax(1, 1, fmt.Sprintf("the file is larger than %d bytes", maxSize))
	}
	src := strings.TrimPrefix(string(data), "\uFEFF")
	src = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(src)
	lines := strings.Split(src, "\n")
	for _, line := range lines {
		c.lines = append(c.lines, utf8.RuneCountInString(line))
	}
	blank := 0
	for i, line := range lines {
		if column, what := unprintable(line); what != "" {
			return "", c.syntax(i+1, column, what)
		}
		if blank++; strings.TrimSpace(line) != "" {
			blank = 0
		}
		if blank > maxBlank {
			return "", c.syntax(i+1, 1, fmt.Sprintf("more than %d blank lines in a row", maxBlank))
		}
	}
	return src, nil
}

func unprintable(line string) (column int, what string) {
	for i, r := range line {
		column++
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(line[i:], "\uFFFD"):
			return column, "not UTF-8 text"
		case r < ' ' && r != '\t' || r == 0x7F || r == '\uFEFF':
			return column, fmt.Sprintf("control character U+%04X", r)
		}
	}
	return 0, ""
}

// unsupported is what YAML has and scenarios do not.
var unsupported = map[token.Type]string{
	token.AnchorType:     "anchors are not supported; put text that starts with & in quotes",
	token.AliasType:      "aliases are not supported; put text that starts with * in quotes",
	token.TagType:        "tags are not supported; put text that starts with ! in quotes",
	token.MergeKeyType:   "merge keys are not supported",
	token.DirectiveType:  "directives are not supported; put text that starts with % in quotes",
	token.MappingKeyType: "keys marked with ? are not supported; put text that starts with ? in quotes",
}

// check refuses what the parser should not see.
func (c *converter) check(tokens token.Tokens) *Problem {
	if len(tokens) > maxTokens {
		return c.syntax(1, 1, fmt.Sprintf("the file has more than %d words and signs", maxTokens))
	}
	nested := 0
	for _, tk := range tokens {
		if message := refused(tk); message != "" {
			return c.syntax(tk.Position.Line, tk.Position.Column, message)
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			nested++
		case token.SequenceEndType, token.MappingEndType:
			nested--
		case token.SequenceEntryType, token.MappingValueType:
			if nested+tk.Position.IndentLevel > maxDepth {
				nested = maxDepth + 1
			}
		}
		if nested > maxDepth {
			return c.syntax(tk.Position.Line, tk.Position.Column, fmt.Sprintf("more than %d levels deep", maxDepth))
		}
	}
	return nil
}

func refused(tk *token.Token) string {
	switch {
	case tk.Type == token.InvalidType && strings.Contains(tk.Error, "\t"):
		return "tab used for indentation, use spaces"
	case tk.Type == token.InvalidType:
		return "not valid YAML: " + firstLine(tk.Error)
	case tk.Type == token.StringType && tk.Prev != nil && !block(tk.Prev) &&
		strings.Contains(strings.TrimSpace(tk.Origin), "\n"):
		return "unquoted text goes on in the next line; check the indentation, or put it in quotes"
	}
	return unsupported[tk.Type]
}

// block reports whether a token announces a block of text, | or >, or is the comment after it.
func block(tk *token.Token) bool {
	if tk.Type == token.CommentType && tk.Prev != nil {
		tk = tk.Prev
	}
	return tk.Type == token.LiteralType || tk.Type == token.FoldedType
}

// syntaxError does not call err.Error, which prints the source and takes quadratic time.
func (c *converter) syntaxError(err error) *Problem {
	var located interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &located) || located.GetToken() == nil {
		return c.syntax(1, 1, "not valid YAML: "+firstLine(err.Error()))
	}
	at := located.GetToken().Position
	return c.syntax(at.Line, at.Column, "not valid YAML: "+firstLine(located.GetMessage()))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (c *converter) value(in ast.Node, depth int) *node {
	if depth > maxDepth {
		return c.refuse(in, fmt.Sprintf("more than %d levels deep", maxDepth))
	}
	switch n := in.(type) {
	case *ast.MappingNode:
		return c.object(n, depth)
	case *ast.SequenceNode:
		out := c.scalar(n.GetToken())
		out.kind, out.text = list, ""
		for _, v := range n.Values {
			out.items = append(out.items, c.value(v, depth+1))
		}
		return out
	case *ast.LiteralNode:
		out := c.scalar(n.GetToken())
		out.kind, out.text = text, ""
		if n.Value != nil {
			out.text = n.Value.Value
		}
		return out
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode, *ast.NullNode:
		return c.scalar(n.GetToken())
	}
	return c.refuse(in, "not valid YAML: a value is not allowed here")
}

// object begins at its first key, not at the colon where the library has it, or at its brace.
func (c *converter) object(n *ast.MappingNode, depth int) *node {
	out := c.scalar(n.GetToken())
	out.kind, out.text = object, ""
	for i, v := range n.Values {
		key, value := c.value(v.Key, depth+1), c.value(v.Value, depth+1)
		if i == 0 && n.GetToken().Type == token.MappingValueType {
			out.line, out.col = key.line, key.col
		}
		out.fields = append(out.fields, field{name: key.text, key: key, value: value})
	}
	return out
}

func (c *converter) scalar(tk *token.Token) *node {
	out := &node{kind: text, text: tk.Value}
	out.line, out.col = c.clamp(tk.Position.Line, tk.Position.Column)
	switch tk.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
	case token.ImplicitNullType:
		out.kind, out.text = null, ""
	default:
		out.kind = classify(tk.Value)
	}
	return out
}

func (c *converter) refuse(in ast.Node, message string) *node {
	line, column := 1, 1
	if in != nil && in.GetToken() != nil {
		line, column = in.GetToken().Position.Line, in.GetToken().Position.Column
	}
	if c.problem == nil {
		c.problem = c.syntax(line, column, message)
	}
	return &node{line: 1, col: 1}
}

// classify says what an unquoted scalar is.
func classify(plain string) kind {
	switch lower := strings.ToLower(plain); {
	case lower == "" || lower == "~" || lower == "null":
		return null
	case lower == "true" || lower == "false":
		return boolean
	case !strings.ContainsRune("+-.0123456789", rune(lower[0])):
		return text
	}
	_, whole := strconv.ParseInt(plain, 0, 64)
	_, float := strconv.ParseFloat(plain, 64)
	if whole == nil || float == nil || errors.Is(float, strconv.ErrRange) {
		return number
	}
	return text
}
