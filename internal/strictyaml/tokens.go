package strictyaml

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/token"
)

// The limits below keep the parser, which recurses over depth, stores a path of all keys for
// every value and copies the keys of a block for each of them, within a second or so and some
// 100 MB whatever the file holds. Files that people write come nowhere near.
const (
	maxDepth  = 20
	maxKey    = 128   // bytes
	maxKeys   = 5_000 // in one block
	maxTokens = 200_000
)

// unsupported is what YAML has and these files do not. Blocks of text are left out because the
// library takes the keys that follow a block for a part of it if its indentation is unusual.
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

// checkTokens refuses what the parser must not see: unsupported YAML, a second document and
// whatever is over the limits.
func checkTokens(doc *Document, tokens token.Tokens) *Problem {
	if len(tokens) > maxTokens {
		return doc.syntax(1, 1, "", fmt.Sprintf("the file has more than %d words and signs", maxTokens), "split it")
	}
	var nesting nesting
	var header, end, content bool
	before := &token.Token{Position: &token.Position{}} // the last token that counts
	for _, tk := range tokens {
		line, column := position(tk)
		if overLines(tk) {
			line, column = start(tk)
		}
		refuse := func(message, hint string) *Problem {
			return doc.syntax(line, column, strings.TrimSpace(tk.Value), message, hint)
		}
		if tk.Type == token.InvalidType {
			return refuse(explain(tk.Error))
		}
		if what, bad := unsupported[tk.Type]; bad {
			return refuse(what[0], what[1])
		}
		switch tk.Type {
		case token.CommentType:
			continue
		case token.DocumentHeaderType:
			if header || content {
				return refuse("a second document begins here", "one document per file")
			}
			header = true
			continue
		case token.DocumentEndType:
			end = true
			continue
		}
		if content = true; end {
			return refuse("a second document begins here", "one document per file")
		}
		nesting.add(tk)
		if nesting.depth() > maxDepth {
			return refuse(fmt.Sprintf("more than %d levels deep", maxDepth), "")
		}
		if nesting.keys() > maxKeys {
			return refuse(fmt.Sprintf("more than %d entries in one block", maxKeys), "")
		}
		if message, hint := checkToken(tk, before, nesting.flow > 0); message != "" {
			return refuse(message, hint)
		}
		before = tk
	}
	return nil
}

// nesting follows how deep lists and keys are nested.
type nesting struct {
	blocks []block // the open ones, outermost first
	flow   int     // open brackets and braces
}

// block is a list or the keys that begin in one column.
type block struct{ column, entries int }

func (n *nesting) depth() int { return len(n.blocks) + n.flow }

func (n *nesting) keys() int {
	if len(n.blocks) == 0 {
		return 0
	}
	return n.blocks[len(n.blocks)-1].entries
}

func (n *nesting) add(tk *token.Token) {
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

// explanations put the library's commonest complaints in the words of someone who writes a
// file by hand. The first whose key is part of the complaint is taken.
var explanations = []struct{ complaint, message, hint string }{
	{"tab character", "tab used for indentation, use spaces", ""},
	{`'\t'`, "tab used for indentation, use spaces", ""},
	{"'\t'", "tab used for indentation, use spaces", ""},
	{"mapping value is not allowed", noKey, colons},
	{"value is not allowed", noValue, "check the indentation"},
	{"non-map value", "want key: value", "check the indentation; a space is needed after ':'"},
	{"unexpected key name", "want key: value", "check the line before"},
	{"invalid key", "want a key before ':'", ""},
	{"end character of", "the closing quote is missing", ""},
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
