package strictyaml

import (
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
	"github.com/stretchr/testify/require"
)

// The token check should keep these from the converter; if it ever does not, they are refused.
func TestConverterRefuses(t *testing.T) {
	alias := ast.Alias(token.Alias("*", &token.Position{Line: 2, Column: 3}))
	for want, in := range map[string]ast.Node{
		"f:1:1: not valid YAML: a value is not allowed here": nil,
		"f:2:3: not valid YAML: a value is not allowed here": alias,
	} {
		c := converter{doc: &Document{file: "f", lines: []int{9, 9}}}
		require.NotNil(t, c.value(in))
		require.Equal(t, want, c.problem.String())
	}
}

func TestPairInList(t *testing.T) {
	var got []map[string]string
	_, problems := Decode("f", []byte("[a: b, {c: d}]\n"), &got)
	require.Empty(t, texts(problems))
	require.Equal(t, []map[string]string{{"a": "b"}, {"c": "d"}}, got)
}

// TestParseTakesBlocksOfText: what stands in a block stays as it is, and what follows is checked as ever.
func TestParseTakesBlocksOfText(t *testing.T) {
	root, problem := Parse("f", []byte("run: |\n  a: b # no comment\n  \tc\t\nfold: > # a comment\n  d\n  e\nlist: [1]\n"))
	require.Nil(t, problem)
	require.Equal(t, []Field{
		{"run", 1, 1, &Node{Text, 1, 6, "a: b # no comment\n\tc\t\n", nil, nil}},
		{"fold", 4, 1, &Node{Text, 4, 7, "d e\n", nil, nil}},
		{"list", 7, 1, &Node{List, 7, 7, "", []*Node{{Number, 7, 8, "1", nil, nil}}, nil}},
	}, root.Fields)
	for in, want := range map[string]string{
		"a: |\n  b\nc d\n":        `f:3:1: want key: value: "c d" (check the indentation; a space is needed after ':')`,
		"a: |\n  b\nc: &d e\n":    `f:3:4: anchors are not supported: "&" (put text that starts with & in quotes)`,
		"a: |\n  b\n---\nc: d\n":  `f:3:1: a second document begins here: "---" (one document per file)`,
		"a:\n- |\n  b\nc: d: e\n": `f:4:4: a key is not allowed here: "d" (check the indentation; put text that contains ': ' in quotes)`,
	} {
		_, problem := Parse("f", []byte(in))
		require.NotNil(t, problem, in)
		require.Equal(t, want, problem.String())
	}
	root, problem = Parse("f", []byte("# nothing\n"))
	require.Nil(t, root)
	require.Nil(t, problem)
}
