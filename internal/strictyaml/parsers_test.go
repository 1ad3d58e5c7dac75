package strictyaml

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readBoth reads a file with the library's tokens and with its nodes, and shows the problem, or each value with its position.
func readBoth(data []byte, script bool) (tokens, nodes string) {
	read := func(parse func(doc *Document, src string) (*node, *Problem)) string {
		doc := &Document{file: "f", script: script}
		src, problem := clean(doc, data)
		var root *node
		if problem == nil {
			root, problem = parse(doc, src)
		}
		if problem != nil {
			return problem.String()
		}
		var out strings.Builder
		show(&out, "$", root)
		return out.String()
	}
	return read(parse), read(func(doc *Document, _ string) (*node, *Problem) { return doc.parseNodes() })
}

func show(out *strings.Builder, path string, n *node) {
	if n == nil {
		return
	}
	fmt.Fprintf(out, "%s %d:%d %s %q\n", path, n.line, n.column, n.kind, n.text)
	for i, item := range n.items {
		show(out, fmt.Sprintf("%s[%d]", path, i), item)
	}
	for _, f := range n.fields {
		fmt.Fprintf(out, "%s %d:%d\n", join(path, f.name), f.line, f.column)
		show(out, join(path, f.name), f.value)
	}
}

// differences lists what the nodes make of files of this tree and of inputs that the tokens read differently, with the reason.
var differences = map[string]string{
	// The library says where it no longer understands the text; the text is shown from there on.
	"colon-in-text.yaml": `f:9:11: a key is not allowed here: "Headset: the best" (check the indentation; put text that contains ': ' in quotes)`,
	"indentation.yaml":   `f:12:7: a key is not allowed here: "- kind: usb" (check the indentation; put text that contains ': ' in quotes)`,
	"a: *b\n":            `f:1:4: aliases are not supported: "*b" (put text that starts with * in quotes)`,
	// The library has read a little further than the mistake, so the bracket's line is said too.
	"open-bracket.yaml": `f:17:7: ',' or the closing ']' is missing: "- type: audioinput" (the bracket opens on line 15; ` + bracketText + `)`,
	// An open quote is shown with what follows on its line, not up to the quote that closes it by chance.
	"open-quote.yaml": `f:14:14: the closing quote is missing: "\"1209" (quoted text must end on its line)`,
	// In a script too, a tab is no indentation, and a ? marks a key.
	"\tname: x\n": `f:1:1: tab used for indentation, use spaces`,
	"?":           `f:1:2: want a key before ':'`,
	// What looks like JSON is placed as JSON; half a surrogate pair is U+FFFD, as in encoding/json.
	"[[[[":              `f:1:4: not valid JSON: unexpected end of JSON input`,
	`{"name":"\ud83c"}`: "$ 1:1 keys with values \"\"\n$.name 1:2\n$.name 1:9 text \"\uFFFD\"\n",
}

// TestParsersAgree on every YAML and JSON file of this tree.
func TestParsersAgree(t *testing.T) {
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "dist"):
			return fs.SkipDir
		case ext == ".yaml" || ext == ".yml" || ext == ".json":
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			files++
			requireAgreement(t, filepath.Base(path), data, false)
		}
		return nil
	}))
	require.Greater(t, files, 150)
}

// TestParsersAgreeOnInputs of the fuzz test, and on what somebody may name who meant another file.
func TestParsersAgreeOnInputs(t *testing.T) {
	for _, in := range append(seeds,
		"", "\x00", "\x7fELF\x02\x01\x01\x00", "\xff\xfea\x00", "a: \xe9\n", "\x1b[31mred\x1b[0m", strings.Repeat("\x00", 1000),
		"a: *b\n", "#!/bin/sh\necho a: b\n", "<html>\n<body>a</body>\n", "key = value\n[section]\n", "PK\x03\x04", "a,b;c\n1,2;3\n",
	) {
		for _, script := range []bool{false, true} {
			requireAgreement(t, in, []byte(in), script)
		}
	}
}

func requireAgreement(t *testing.T, name string, data []byte, script bool) {
	t.Helper()
	tokens, nodes := readBoth(data, script)
	if want, differs := differences[name]; differs {
		require.Equal(t, want, nodes, name)
		return
	}
	require.Equal(t, tokens, nodes, name)
}
