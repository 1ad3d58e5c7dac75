package strictyaml

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// These limits keep the library's parser within about a second and 100 MB for any file: it recurses for each level,
// stores the path of every value and copies the keys of a block for each of its keys. Hand-written files
// come nowhere near them.
const (
	maxDepth  = 20
	maxKey    = 128   // bytes
	maxKeys   = 5_000 // in one block
	maxTokens = 200_000
)

// unsupported lists the YAML features that are refused. Blocks of text are refused outside scripts, because the
// library takes the keys that follow a block with unusual indentation for part of the block.
var unsupported = map[token.Type][2]string{
	token.AnchorType:     {"anchors are not supported", "put text that starts with & in quotes"},
	token.AliasType:      {"aliases are not supported", "put text that starts with * in quotes"},
	token.TagType:        {"tags are not supported", "put text that starts with ! in quotes"},
	token.MergeKeyType:   {"merge keys are not supported", "write the keys out"},
	token.DirectiveType:  {"directives are not supported", "put text that starts with % in quotes"},
	token.LiteralType:    {"blocks of text are not supported", "write the text on one line, in quotes"},
	token.FoldedType:     {"blocks of text are not supported", "write the text on one line, in quotes"},
	token.MappingKeyType: {"keys marked with ? are not supported", "put text that starts with ? in quotes"},
}

// checkTokens refuses what the library's parser must not see: unsupported YAML, a second document and
// anything above the limits. lines are the source's.
func checkTokens(doc *Document, tokens token.Tokens, lines []string) *Problem {
	if len(tokens) > maxTokens {
		return doc.syntax(1, 1, "", fmt.Sprintf("the file has more than %d words and signs", maxTokens), "take out what is not needed")
	}
	c := tokenChecker{lines: lines, blocks: doc.script, before: &token.Token{Position: &token.Position{}}}
	for _, tk := range tokens {
		if message, hint := c.check(tk); message != "" {
			line, column := start(tk)
			return doc.syntax(line, column, strings.TrimSpace(tk.Value), message, hint)
		}
	}
	return nil
}

// cutEscape matches a line that ends within double quotes before an escape by number has its digits. The library takes the end of the
// line for one of them.
var cutEscape = regexp.MustCompile(`^([^"'#]|"([^"\\]|\\.)*"|'[^']*')*"([^"\\]|\\.)*\\(x[^"]?|u[^"]{0,3}|U[^"]{0,7})$`)

type tokenChecker struct {
	lines   []string
	blocks  bool // blocks of text are allowed
	parts   documentParts
	nesting nesting
	before  *token.Token // the last one that is not a comment or marker

	matched int  // the last line that was matched against cutEscape
	cut     bool // it did match
}

// cutsEscape reports whether a line ends within an escape. It reads a line once, however many tokens are on it: a file may be one line.
func (c *tokenChecker) cutsEscape(line int) bool {
	if c.matched != line {
		c.matched, c.cut = line, cutEscape.MatchString(c.lines[line-1])
	}
	return c.cut
}

func (c *tokenChecker) check(tk *token.Token) (message, hint string) {
	if tk.Type == token.InvalidType {
		return explain(tk.Error)
	}
	block := tk.Type == token.LiteralType || tk.Type == token.FoldedType
	if what, bad := unsupported[tk.Type]; bad && (!block || !c.blocks) {
		return what[0], what[1]
	}
	if !c.parts.add(tk) {
		return "a second document begins here", "one document per file"
	}
	switch tk.Type {
	case token.CommentType, token.DocumentHeaderType, token.DocumentEndType:
		return "", ""
	}
	if message := c.nesting.add(tk); message != "" {
		return message, ""
	}
	quoted := tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	if quoted && (overLines(tk) || c.cutsEscape(tk.Position.Line)) { // the library would report it at the next quote
		return noQuote, "quoted text must end on its line"
	}
	if !textOfBlock(tk, c.before) {
		message, hint = checkToken(tk, c.before, c.nesting.flow > 0)
	}
	c.before = tk
	return message, hint
}

// textOfBlock reports whether tk is the text after a | or >.
func textOfBlock(tk, before *token.Token) bool {
	return tk.Type == token.StringType && (before.Type == token.LiteralType || before.Type == token.FoldedType)
}

// documentParts are the parts of a document seen so far.
type documentParts struct{ header, content, end bool }

// add reports whether tk still belongs to the first document.
func (p *documentParts) add(tk *token.Token) bool {
	switch tk.Type {
	case token.CommentType:
		return true
	case token.DocumentHeaderType:
		first := !p.header && !p.content && !p.end
		p.header = true
		return first
	case token.DocumentEndType:
		p.end = true
		return true
	default:
		p.content = true
		return !p.end
	}
}

// nesting tracks how deep lists and keys are nested.
type nesting struct {
	blocks []block // the open ones, outermost first
	flow   int     // open brackets and braces
}

// block is a list or a group of keys that begin in the same column.
type block struct{ column, entries int }

// add returns the limit that tk exceeds, or "".
func (n *nesting) add(tk *token.Token) string {
	switch tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		n.flow++
	case token.SequenceEndType, token.MappingEndType:
		n.flow--
	case token.SequenceEntryType:
		n.entry(tk.Position.Column)
	case token.MappingValueType:
		if tk.Prev != nil {
			n.entry(tk.Prev.Position.Column)
		}
	}
	depth := len(n.blocks)
	switch {
	case depth+n.flow > maxDepth:
		return fmt.Sprintf("more than %d levels deep", maxDepth)
	case depth > 0 && n.blocks[depth-1].entries > maxKeys:
		return fmt.Sprintf("more than %d entries in one block", maxKeys)
	default:
		return ""
	}
}

func (n *nesting) entry(column int) {
	if n.flow > 0 {
		return
	}
	for len(n.blocks) > 0 && n.blocks[len(n.blocks)-1].column > column {
		n.blocks = n.blocks[:len(n.blocks)-1]
	}
	if len(n.blocks) == 0 || n.blocks[len(n.blocks)-1].column < column {
		n.blocks = append(n.blocks, block{column: column})
	}
	n.blocks[len(n.blocks)-1].entries++
}

// explanations translate the library's commonest errors for authors of hand-written files. The first
// whose complaint occurs in the error is used.
var explanations = []struct{ complaint, message, hint string }{
	{"tab character", "tab used for indentation, use spaces", ""},
	{"'\t'", "tab used for indentation, use spaces", ""},
	{"mapping value is not allowed", noKey, colons},
	{"value is not allowed", noValue, "check the indentation"},
	{"non-map value", "want key: value", "check the indentation; a space is needed after ':'"},
	{"unexpected key name", "want key: value", "check the line before"},
	{"invalid key", "want a key before ':'", ""},
	{"end character of", noQuote, ""},
	{"document separator", "a second document begins here", "one document per file"},
	{"',' or ']'", "',' or the closing ']' is missing", ""},
	{"end token ']'", "the closing ']' is missing", ""},
	{"',' or '}'", "',' or the closing '}' is missing", ""},
	{"end token '}'", "the closing '}' is missing", ""},
	{"reserved character", reserved, inQuotes},
	{"escape character", "unknown escape in double quotes", `write \\ for one backslash, or use single quotes`},
}

func explain(complaint string) (message, hint string) {
	for _, e := range explanations {
		if strings.Contains(complaint, e.complaint) {
			return e.message, e.hint
		}
	}
	return "not valid YAML: " + complaint, ""
}
