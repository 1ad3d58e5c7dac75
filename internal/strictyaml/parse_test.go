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
