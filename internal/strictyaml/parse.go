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
func parse(doc *Document, src string) (root *Node, problem *Problem) {
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

func (c *converter) value(in ast.Node) *Node {
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
		return &Node{}
	}
}

// object positions a block of keys at its first key (the library has the colon), and a flow mapping at its brace.
func (c *converter) object(n *ast.MappingNode) *Node {
	out := &Node{Kind: Object}
	out.Line, out.Column = c.position(n.GetToken())
	for i, v := range n.Values {
		key := c.value(v.Key)
		value := c.value(v.Value)
		if implicit(v.Value) {
			value.Line, value.Column = key.Line, key.Column
		}
		if i == 0 && n.GetToken().Type == token.MappingValueType {
			out.Line, out.Column = key.Line, key.Column
		}
		out.Fields = append(out.Fields, Field{Name: key.Text, Line: key.Line, Column: key.Column, Value: value})
	}
	return out
}

func (c *converter) list(n *ast.SequenceNode) *Node {
	out := &Node{Kind: List}
	out.Line, out.Column = c.position(n.GetToken())
	for _, v := range n.Values {
		out.Items = append(out.Items, c.value(v))
	}
	return out
}

func (c *converter) scalar(tk *token.Token) *Node {
	out := &Node{Kind: Text, Text: tk.Value}
	out.Line, out.Column = c.position(tk)
	switch tk.Type {
	case token.SingleQuoteType, token.DoubleQuoteType:
	case token.ImplicitNullType:
		out.Kind, out.Text = Null, ""
	default:
		out.Kind = classify(tk.Value)
	}
	return out
}

func (c *converter) block(n *ast.LiteralNode) *Node {
	out := c.scalar(n.GetToken())
	out.Kind, out.Text = Text, ""
	if n.Value != nil {
		out.Text = n.Value.Value
	}
	return out
}

// refuse reports nodes that checkTokens has missed, which may be nil.
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
