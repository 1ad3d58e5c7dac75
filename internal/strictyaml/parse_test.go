package strictyaml

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestScriptTakesIndentedJSON(t *testing.T) {
	var got struct{ Name, Plain string }
	_, problems := DecodeScript("f", []byte("{\n\t\"name\": \"a\",\n\t\"plain\": \"b\"\n}\n"), &got)
	require.Empty(t, texts(problems))
	require.Equal(t, "ab", got.Name+got.Plain)
}

func TestPairInList(t *testing.T) {
	var got []map[string]string
	_, problems := Decode("f", []byte("[a: b, {c: d}]\n"), &got)
	require.Empty(t, texts(problems))
	require.Equal(t, []map[string]string{{"a": "b"}, {"c": "d"}}, got)
}

// What stands in a block stays as it is, and what follows is checked as ever.
func TestScriptTakesBlocksOfText(t *testing.T) {
	var got struct {
		Run, Fold string
		List      []int
	}
	doc, problems := DecodeScript("f", []byte("run: |\n  a: b # no comment\n  \tc\t\nfold: > # a comment\n  d\n  e\nlist: [1]\n"), &got)
	require.Empty(t, texts(problems))
	require.Equal(t, "a: b # no comment\n\tc\t\n", got.Run)
	require.Equal(t, "d e\n", got.Fold)
	require.Equal(t, []int{1}, got.List)
	for path, want := range map[string][2]int{"$.run": {1, 6}, "$.fold": {4, 7}, "$.list": {7, 7}, "$.list[0]": {7, 8}} {
		line, column := doc.Position(path)
		require.Equal(t, want, [2]int{line, column}, path)
	}
	for in, want := range map[string]string{
		"a: |\n  b\nc d\n":        `f:3:1: want key: value: "c d" (check the indentation; a space is needed after ':')`,
		"a: |\n  b\nc: &d e\n":    `f:3:4: anchors are not supported: "&" (put text that starts with & in quotes)`,
		"a: | b\nc: d\n":          `f:1:1: not valid YAML: did not find expected comment or line break: "a: | b"`,
		"a: |\n  b\n---\nc: d\n":  `f:3:1: a second document begins here: "---" (one document per file)`,
		"a:\n- |\n  b\nc: d: e\n": `f:4:4: a key is not allowed here: "d: e" (check the indentation; put text that contains ': ' in quotes)`,
		"# nothing\n":             "f:1:1: the file is empty",
	} {
		_, problems := DecodeScript("f", []byte(in), &got)
		require.Equal(t, []string{want}, texts(problems), in)
	}
}

func TestScriptHasNothingEmpty(t *testing.T) {
	for _, in := range []string{"name:", "name: ~", "name: ''", "inners: []", "inner: {}", "maybe: null", "wait:", "tri:", "words: {}"} {
		var got all
		_, problems := DecodeScript("f", []byte(in+"\n"), &got)
		require.Len(t, problems, 1, in)
		require.Contains(t, problems[0].String(), ": the value is missing", in)
		require.Contains(t, problems[0].String(), "(write one, or leave the key out)", in)
		require.Equal(t, 1, problems[0].Line)
	}
}

// A type that reads itself as JSON does not see that a key stands twice.
func TestDuplicateKeysOfTypesThatReadThemselves(t *testing.T) {
	var got struct{ Raw json.RawMessage }
	_, problems := Decode("f", []byte("raw: {a: 1, a: 2}\n"), &got)
	require.Equal(t, []string{`f:1:13: duplicate key: "a" (first on line 1)`}, texts(problems))
}
