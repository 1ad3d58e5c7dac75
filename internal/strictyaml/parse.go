package strictyaml

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parse is the one place that calls the YAML library. The root is nil if src has no content.
func parse(doc *Document, src string) (root *node, problem *Problem) {
	// goccy/go-yaml indexes out of range on some malformed input that checkTokens cannot foresee.
	// No file may crash the agent, so the panic ends here.
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, doc.syntax(1, 1, "", fmt.Sprintf("not valid YAML: %v", r), "")
		}
	}()
	tokens := lexer.Tokenize(src)
	if problem := checkTokens(doc, tokens, strings.Split(src, "\n")); problem != nil {
		return nil, problem
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, syntaxError(doc, err)
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			c := converter{doc: doc}
			return c.value(d.Body), c.problem
		}
	}
	return nil, nil
}

// syntaxError does not call err.Error, which prints the source and takes quadratic time.
func syntaxError(doc *Document, err error) *Problem {
	var located interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if !errors.As(err, &located) || located.GetToken() == nil {
		return doc.syntax(1, 1, "", "not valid YAML: "+err.Error(), "")
	}
	tk := located.GetToken()
	message, hint := explain(located.GetMessage())
	return doc.syntax(tk.Position.Line, tk.Position.Column, tk.Value, message, hint)
}

// converter turns the library's tree into Nodes.
type converter struct {
	doc     *Document
	problem *Problem // the first
}

func (c *converter) value(in ast.Node) *node {
	switch n := in.(type) {
	case *ast.MappingNode:
		return c.object(n)
	case *ast.SequenceNode:
		return c.list(n)
	case *ast.LiteralNode:
		return c.block(n)
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode, *ast.BoolNode, *ast.NullNode:
		return c.scalar(n.GetToken())
	default:
		c.refuse(in)
		return &node{}
	}
}

// object positions a block of keys at its first key (the library has the colon), and a flow mapping at its brace.
func (c *converter) object(n *ast.MappingNode) *node {
	out := &node{kind: kindObject}
	out.line, out.column = c.position(n.GetToken())
	for i, v := range n.Values {
		key := c.value(v.Key)
		value := c.value(v.Value)
		if implicit(v.Value) {
			value.line, value.column = key.line, key.column
		}
		if i == 0 && n.GetToken().Type == token.MappingValueType {
			out.line, out.column = key.line, key.column
		}
		out.fields = append(out.fields, field{key.text, key.line, key.column, value})
	}
	return out
}

func (c *converter) list(n *ast.SequenceNode) *node {
	out := &node{kind: kindList}
	out.line, out.column = c.position(n.GetToken())
	for _, v := range n.Values {
		out.items = append(out.items, c.value(v))
	}
	return out
}

func (c *converter) scalar(tk *token.Token) *node {
	out := &node{kind: kindText, text: tk.Value}
	out.line, out.column = c.position(tk)
	switch tk.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
	case token.ImplicitNullType:
		out.kind, out.text = kindNull, ""
	default:
		out.kind = classify(tk.Value)
	}
	return out
}

func (c *converter) block(n *ast.LiteralNode) *node {
	out := c.scalar(n.GetToken())
	out.kind, out.text = kindText, ""
	if n.Value != nil {
		out.text = n.Value.Value
	}
	return out
}

// refuse reports a node, possibly nil, that checkTokens should have refused.
func (c *converter) refuse(in ast.Node) {
	line, column := 1, 1
	if in != nil {
		line, column = position(in.GetToken())
	}
	c.problem = c.doc.syntax(line, column, "", "not valid YAML: "+noValue, "")
}

// position is clamped to the file.
func (c *converter) position(tk *token.Token) (line, column int) { return c.doc.clamp(position(tk)) }

func position(tk *token.Token) (line, column int) { return tk.Position.Line, tk.Position.Column }

func implicit(n ast.Node) bool {
	return n != nil && n.GetToken() != nil && n.GetToken().Type == token.ImplicitNullType
}
