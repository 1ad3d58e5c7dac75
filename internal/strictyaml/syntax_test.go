package strictyaml

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyntax(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"tab":                {"inner:\n\tvid: a\n", `f:2:1: tab used for indentation, use spaces`},
		"tab after spaces":   {"inner:\n  \tvid: a\n", `f:2:3: tab used for indentation, use spaces`},
		"indentation":        {"name: x\n  on: true\n", `f:2:3: a key is not allowed here: "on: true" (check the indentation; put text that contains ': ' in quotes)`},
		"list under value":   {"count: 2\n    - vid: a\n", `f:2:5: a key is not allowed here: "- vid: a" (check the indentation; put text that contains ': ' in quotes)`},
		"list after comment": {"name: # x\n   a\n  - b\n", `f:2:4: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`},
		"list under text":    {"name:\n\n  a\n  - b\n", `f:3:3: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`},
		"text after quotes":  {"name: 'x'y\n  z\n", `f:1:1: want key: value: "name: 'x'y" (check the indentation)`},
		"text, then list":    {"a\n- b\n", `f:1:1: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`},
		"text over lines":    {"name: a\n  b\n", `f:1:7: unquoted text continues on the next line: "a b" (check the indentation, or put the text in quotes)`},
		"dedent in keys":     {"inner:\n    vid: a\n  list: []\n", `f:3:3: want key: value: "list: []" (check the indentation)`},
		"first line shifted": {" name: x\non: true\n", `f:2:1: a value is not allowed here: "on: true" (check the indentation)`},
		"line without key":   {"name: x\non true\n", `f:2:1: want key: value: "on true" (check the indentation; a space is needed after ':')`},
		"two colons":         {"name: a: b\n", `f:1:7: a key is not allowed here: "a: b" (check the indentation; put text that contains ': ' in quotes)`},
		"double colon":       {"name:: b\n", `f:1:1: a key is not allowed here: "name:" (check the indentation; put text that contains ': ' in quotes)`},
		"colon alone":        {": x\n", `f:1:1: want key: value: ": x" (check the indentation)`},
		"colon on next line": {"name\n: x\n", `f:2:1: a value is not allowed here: ": x" (check the indentation)`},
		"value too far left": {"inner:\n  vid: # x\n  a\n", `f:3:3: want key: value: "a" (check the indentation; a space is needed after ':')`},
		"no space in braces": {"inner: {vid:a}\n", `f:1:9: a space is needed after ':': "vid:a"`},
		"open quote":         {"name: \"x\non: true\n", `f:1:7: the closing quote is missing: "\"x" (quoted text must end on its line)`},
		"open quote, others": {"name: \"x\nplain: \"y\"\n", `f:1:7: the closing quote is missing: "\"x" (quoted text must end on its line)`},
		"cut escape":         {"name: \"C:\\x\\\nplain: \"y\"\n", `f:1:7: the closing quote is missing: "\"C:\\x\\" (quoted text must end on its line)`},
		"cut escape, alone":  {"name: \"x\\x\\\n -  y\"", `f:1:7: the closing quote is missing: "\"x\\x\\" (quoted text must end on its line)`},
		"open single quote":  {"name: 'it''s\nplain: 'y'\n", `f:1:7: the closing quote is missing: "'it''s" (quoted text must end on its line)`},
		"open bracket":       {"inner:\n  list: [a, b\non: true\n", `f:3:1: ',' or the closing ']' is missing: "on: true" (the bracket opens on line 2; put text that contains ?, [], or {} in quotes)`},
		"open bracket, end":  {"[a, b", `f:1:1: ',' or the closing ']' is missing: "[a, b" (put text that contains ?, [], or {} in quotes)`},
		"open list, end":     {"inner: {vid: a}\ninners: [\n\n", `f:2:9: the closing bracket is missing: "["`},
		"open brace":         {"inner: {vid: a\n", `f:1:8: ',' or the closing '}' is missing: "{vid: a" (put text that contains ?, [], or {} in quotes)`},
		"no comma":           {"inner: {vid: 'a' list: []}\n", `f:1:8: ',' or the closing '}' is missing: "{vid: 'a' list: []}" (put text that contains ?, [], or {} in quotes)`},
		"two commas":         {"inner: {list: [a,,b]}\n", `f:1:18: a value is not allowed here: ",b]}"`},
		"wrong bracket":      {"inner: {list: [a}]}\n", `f:1:15: ',' or the closing ']' is missing: "[a}]}" (put text that contains ?, [], or {} in quotes)`},
		"bracket in text":    {"inner: {vid: 'a', list: [a, b]x]}\n", `f:1:8: ',' or the closing '}' is missing: "{vid: 'a', list: [a, b]x]}" (put text that contains ?, [], or {} in quotes)`},
		"reserved":           {"name: @x\n", `f:1:7: text must not begin with this character: "@x" (put it in quotes)`},
		"percent":            {"name: %x\n", `f:1:7: text must not begin with this character: "%x" (put it in quotes)`},
		"escape":             {"name: \"\\d\"\n", `f:1:8: unknown escape in double quotes: "\\d\"" (write \\ for one backslash, or use single quotes)`},
		"anchor":             {"inner: &a {vid: b}\n", `f:1:8: anchors are not supported: "&" (put text that starts with & in quotes)`},
		"alias":              {"name: *a\n", `f:1:7: aliases are not supported: "*a" (put text that starts with * in quotes)`},
		"tag":                {"name: !!str 1\n", `f:1:7: tags are not supported: "!" (put text that starts with ! in quotes)`},
		"merge":              {"inner:\n  <<: {vid: a}\n", `f:2:3: merge keys are not supported: "<<" (write the keys out)`},
		"question mark":      {"? name\n: x\n", `f:1:3: keys marked with ? are not supported: "name" (put text that starts with ? in quotes)`},
		"block of text":      {"name: |\n  a\n  b\n", `f:1:7: blocks of text are not supported: "|" (write the text on one line, in quotes)`},
		"folded text":        {"name: >-\n  a\n", `f:1:7: blocks of text are not supported: ">" (write the text on one line, in quotes)`},
		"anchor, no name":    {"name: & x\nplain: y\n", `f:1:7: anchors are not supported: "& x" (put text that starts with & in quotes)`},
		"alias, no name":     {"list: [a, *]\nplain: y\n", `f:1:11: aliases are not supported: "*]" (put text that starts with * in quotes)`},
		"tag, unknown":       {"name: !x!y z\nplain: y\n", `f:1:7: tags are not supported: "!x!y z" (put text that starts with ! in quotes)`},
		"tag, not closed":    {"name: !<x y\nplain: y\n", `f:1:7: tags are not supported: "!<x y" (put text that starts with ! in quotes)`},
		"text behind a bar":  {"name: | x\nplain: y\n", `f:1:7: blocks of text are not supported: "| x" (write the text on one line, in quotes)`},
		"question in text":   {"name: ? x\nplain: y\n", `f:1:7: keys marked with ? are not supported: "? x" (put text that starts with ? in quotes)`},
		"very deep":          {strings.Repeat("- ", 10_001) + "\nx\n", `f:1:1: not valid YAML: exceeded max depth of 10000: "` + strings.Repeat("- ", maxText/2) + `…"`},
		"directive":          {"%YAML 1.2\n---\nname: x\n", `f:1:1: directives are not supported: "%" (put text that starts with % in quotes)`},
		"second document":    {"name: x\n---\nname: y\n", `f:2:1: a second document begins here: "---" (one document per file)`},
		"after the end":      {"name: x\n...\nname: y\n", `f:3:1: a value is not allowed here: "name: y" (check the indentation)`},
		"not UTF-8":          {"name: x\non: é\xff\n", `f:2:6: not UTF-8 text (save the file as UTF-8)`},
		"control character":  {"name: x\x00\n", `f:1:8: control character U+0000 (remove it)`},
		"second BOM":         {"name: \uFEFFx\n", `f:1:7: control character U+FEFF (remove it)`},
		"key that is a list": {"[a]: b\n", `f:1:1: want a key before ':'`},
	} {
		t.Run(name, func(t *testing.T) {
			doc, problems := Decode("f", []byte(tc.in), &all{})
			require.Equal(t, []string{tc.want}, texts(problems))
			require.NotNil(t, doc)
			require.False(t, doc.Has("$"))
		})
	}
}

// Files that would cost a parser minutes, gigabytes or its stack. The test passes if it comes back; BenchmarkLength shows what a byte costs.
func TestLimits(t *testing.T) {
	full := func(part string) string { return strings.Repeat(part, MaxSize/len(part)) }
	for name, tc := range map[string]struct{ in, want string }{
		"size":         {strings.Repeat("#", MaxSize+1), "f:1:1: the file is larger than the limit of 1048576 bytes"},
		"brackets":     {full("[]"), `f:1:1: a value is not allowed here: "` + full("[]")[:maxText] + `…" (check the indentation)`},
		"open":         {full("["), `f:1:10001: not valid JSON: invalid character '[' exceeded max depth`},
		"braces":       {full("{a: "), `f:1:1: not valid YAML: exceeded max depth of 10000: "` + full("{a: ")[:maxText] + `…"`},
		"dashes":       {full("- "), `f:1:1: not valid YAML: exceeded max depth of 10000: "` + full("- ")[:maxText] + `…"`},
		"closing":      {full("]"), `f:1:1: a value is not allowed here: "` + full("]")[:maxText] + `…"`},
		"directives":   {full("%TAG !a! x\n"), `f:1:1: directives are not supported: "%" (put text that starts with % in quotes)`},
		"anchors":      {full("- &a x\n"), `f:1:3: anchors are not supported: "&" (put text that starts with & in quotes)`},
		"blank lines":  {"on: |\n" + strings.Repeat("\n", MaxSize/2) + "x", `f:524290:1: want key: value: "x" (check the indentation; a space is needed after ':')`},
		"comments":     {"on: # a\n" + strings.Repeat("# a\n\n", MaxSize/8) + "- x\n - y: z", `f:262147:2: a key is not allowed here: "- y: z" (check the indentation; put text that contains ': ' in quotes)`},
		"long key":     {strings.Repeat("k", 1025) + ": x\n", `f:1:1: a key is not allowed here: "` + strings.Repeat("k", maxText) + `…" (check the indentation; put text that contains ': ' in quotes)`},
		"long text":    {"on: " + strings.Repeat("é", 1000), `f:1:5: want true or false, found text: "` + strings.Repeat("é", maxText) + `…"`},
		"fault at end": {longFiles["list of JSON on one line"](7000)[:500_000], `f:1:500000: not valid JSON: unexpected end of JSON input`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Decode("f", []byte(tc.in), &all{})
			require.Equal(t, []string{tc.want}, texts(problems))
		})
	}
}
