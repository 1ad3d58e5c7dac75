package strictyaml

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSyntax is what is said of each mistake; where the library's nodes tell something else than its tokens, nodes has that.
func TestSyntax(t *testing.T) {
	for name, tc := range map[string]struct{ in, want, nodes string }{
		"tab":                {"inner:\n\tvid: a\n", `f:2:1: tab used for indentation, use spaces`, ""},
		"tab after spaces":   {"inner:\n  \tvid: a\n", `f:2:3: tab used for indentation, use spaces`, ""},
		"indentation":        {"name: x\n  on: true\n", `f:1:7: unquoted text continues on the next line: "x on" (check the indentation, or put the text in quotes)`, `f:2:3: a key is not allowed here: "on: true" (check the indentation; put text that contains ': ' in quotes)`},
		"list under value":   {"count: 2\n    - vid: a\n", `f:1:8: unquoted text continues on the next line: "2 - vid: a" (check the indentation, or put the text in quotes)`, `f:2:5: a key is not allowed here: "- vid: a" (check the indentation; put text that contains ': ' in quotes)`},
		"list after comment": {"name: # x\n   a\n  - b\n", `f:2:4: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`, ""},
		"list under text":    {"name:\n\n  a\n  - b\n", `f:3:3: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`, ""},
		"text after quotes":  {"name: 'x'y\n  z\n", `f:1:10: unquoted text continues on the next line: "y z" (check the indentation, or put the text in quotes)`, `f:1:1: want key: value: "name: 'x'y" (check the indentation)`},
		"text, then list":    {"a\n- b\n", `f:1:1: unquoted text continues on the next line: "a - b" (check the indentation, or put the text in quotes)`, ""},
		"text over lines":    {"name: a\n  b\n", `f:1:7: unquoted text continues on the next line: "a b" (check the indentation, or put the text in quotes)`, ""},
		"dedent in keys":     {"inner:\n    vid: a\n  list: []\n", `f:3:3: a value is not allowed here: "list" (check the indentation)`, `f:3:3: want key: value: "list: []" (check the indentation)`},
		"first line shifted": {" name: x\non: true\n", `f:2:1: a value is not allowed here: "on" (check the indentation)`, `f:2:1: a value is not allowed here: "on: true" (check the indentation)`},
		"line without key":   {"name: x\non true\n", `f:2:1: want key: value: "on true" (check the indentation; a space is needed after ':')`, ""},
		"two colons":         {"name: a: b\n", `f:1:7: a key is not allowed here: "a" (check the indentation; put text that contains ': ' in quotes)`, `f:1:7: a key is not allowed here: "a: b" (check the indentation; put text that contains ': ' in quotes)`},
		"double colon":       {"name:: b\n", `f:1:1: a key is not allowed here: "name:" (check the indentation; put text that contains ': ' in quotes)`, ""},
		"colon alone":        {": x\n", `f:1:1: want a key before ':': ":" (a key and its ':' must be on one line)`, `f:1:1: want key: value: ": x" (check the indentation)`},
		"colon on next line": {"name\n: x\n", `f:2:1: want a key before ':': ":" (a key and its ':' must be on one line)`, `f:2:1: a value is not allowed here: ": x" (check the indentation)`},
		"empty entry":        {"inners:\n- # x\non: true\n", `f:3:1: the list entry before this is empty: "on" (check the indentation)`, `accepted`},
		"value too far left": {"inner:\n  vid: # x\n  a\n", `f:3:3: a value is not allowed here: "a" (check the indentation)`, `f:3:3: want key: value: "a" (check the indentation; a space is needed after ':')`},
		"no space in braces": {"inner: {vid:a}\n", `f:1:12: a space is needed after ':': ":"`, `f:1:9: a space is needed after ':': "vid:a"`},
		"open quote":         {"name: \"x\non: true\n", `f:1:7: the closing quote is missing: "\"x\non: true"`, `f:1:7: the closing quote is missing: "\"x" (quoted text must end on its line)`},
		"open quote, others": {"name: \"x\nplain: \"y\"\n", `f:1:7: the closing quote is missing: "x plain:" (quoted text must end on its line)`, `f:1:7: the closing quote is missing: "\"x" (quoted text must end on its line)`},
		"cut escape":         {"name: \"C:\\x\\\nplain: \"y\"\n", `f:1:7: the closing quote is missing: "C:ʚplain:" (quoted text must end on its line)`, `f:1:7: the closing quote is missing: "\"C:\\x\\" (quoted text must end on its line)`},
		"cut escape, alone":  {"name: \"x\\x\\\n -  y\"", `f:1:7: the closing quote is missing: "xʚ -  y" (quoted text must end on its line)`, `f:1:7: the closing quote is missing: "\"x\\x\\" (quoted text must end on its line)`},
		"open single quote":  {"name: 'it''s\nplain: 'y'\n", `f:1:7: the closing quote is missing: "it's plain:" (quoted text must end on its line)`, `f:1:7: the closing quote is missing: "'it''s" (quoted text must end on its line)`},
		"open bracket":       {"inner:\n  list: [a, b\non: true\n", `f:3:1: ',' or the closing ']' is missing: "on"`, `f:3:1: ',' or the closing ']' is missing: "on: true" (the bracket opens on line 2; put text that contains ?, [], or {} in quotes)`},
		"open bracket, end":  {"[a, b", `f:1:1: the closing ']' is missing: "["`, `f:1:1: ',' or the closing ']' is missing: "[a, b" (put text that contains ?, [], or {} in quotes)`},
		"open brace":         {"inner: {vid: a\n", `f:1:8: the closing '}' is missing: "{"`, `f:1:8: ',' or the closing '}' is missing: "{vid: a" (put text that contains ?, [], or {} in quotes)`},
		"no comma":           {"inner: {vid: 'a' list: []}\n", `f:1:18: ',' or the closing '}' is missing: "list"`, `f:1:8: ',' or the closing '}' is missing: "{vid: 'a' list: []}" (put text that contains ?, [], or {} in quotes)`},
		"two commas":         {"inner: {list: [a,,b]}\n", `f:1:18: a value is missing before ',': ","`, `f:1:18: a value is not allowed here: ",b]}"`},
		"wrong bracket":      {"inner: {list: [a}]}\n", `f:1:19: text must not begin with this character: "}" (put it in quotes)`, `f:1:15: ',' or the closing ']' is missing: "[a}]}" (put text that contains ?, [], or {} in quotes)`},
		"bracket in text":    {"inner: {vid: 'a', list: [a, b]x]}\n", `f:1:31: unquoted text in brackets must not contain brackets: "x]" (put it in quotes)`, `f:1:8: ',' or the closing '}' is missing: "{vid: 'a', list: [a, b]x]}" (put text that contains ?, [], or {} in quotes)`},
		"reserved":           {"name: @x\n", `f:1:7: text must not begin with this character: "@" (put it in quotes)`, `f:1:7: text must not begin with this character: "@x" (put it in quotes)`},
		"percent":            {"name: %x\n", `f:1:7: directives are not supported: "%" (put text that starts with % in quotes)`, `f:1:7: text must not begin with this character: "%x" (put it in quotes)`},
		"escape":             {"name: \"\\d\"\n", `f:1:9: unknown escape in double quotes: "\"\\" (write \\ for one backslash, or use single quotes)`, `f:1:8: unknown escape in double quotes: "\\d\"" (write \\ for one backslash, or use single quotes)`},
		"anchor":             {"inner: &a {vid: b}\n", `f:1:8: anchors are not supported: "&" (put text that starts with & in quotes)`, ""},
		"alias":              {"name: *a\n", `f:1:7: aliases are not supported: "*" (put text that starts with * in quotes)`, `f:1:7: aliases are not supported: "*a" (put text that starts with * in quotes)`},
		"tag":                {"name: !!str 1\n", `f:1:7: tags are not supported: "!!str" (put text that starts with ! in quotes)`, `f:1:7: tags are not supported: "!" (put text that starts with ! in quotes)`},
		"merge":              {"inner:\n  <<: {vid: a}\n", `f:2:3: merge keys are not supported: "<<" (write the keys out)`, ""},
		"question mark":      {"? name\n: x\n", `f:1:1: keys marked with ? are not supported: "?" (put text that starts with ? in quotes)`, `f:1:3: keys marked with ? are not supported: "name" (put text that starts with ? in quotes)`},
		"block of text":      {"name: |\n  a\n  b\n", `f:1:7: blocks of text are not supported: "|" (write the text on one line, in quotes)`, ""},
		"folded text":        {"name: >-\n  a\n", `f:1:7: blocks of text are not supported: ">-" (write the text on one line, in quotes)`, `f:1:7: blocks of text are not supported: ">" (write the text on one line, in quotes)`},
		"directive":          {"%YAML 1.2\n---\nname: x\n", `f:1:1: directives are not supported: "%" (put text that starts with % in quotes)`, ""},
		"second document":    {"name: x\n---\nname: y\n", `f:2:1: a second document begins here: "---" (one document per file)`, ""},
		"after the end":      {"name: x\n...\nname: y\n", `f:3:1: a second document begins here: "name" (one document per file)`, `f:3:1: a value is not allowed here: "name: y" (check the indentation)`},
		"not UTF-8":          {"name: x\non: é\xff\n", `f:2:6: not UTF-8 text (save the file as UTF-8)`, ""},
		"control character":  {"name: x\x00\n", `f:1:8: control character U+0000 (remove it)`, ""},
		"second BOM":         {"name: \uFEFFx\n", `f:1:7: control character U+FEFF (remove it)`, ""},
		"key that is a list": {"[a]: b\n", `f:1:4: want a key before ':': ":"`, `f:1:1: want a key before ':'`},
	} {
		t.Run(name, func(t *testing.T) {
			tokens, nodes := readBoth([]byte(tc.in), false)
			require.Equal(t, tc.want, tokens)
			if tc.nodes == "accepted" {
				require.NotContains(t, nodes, "f:")
			} else {
				require.Equal(t, cmp.Or(tc.nodes, tc.want), nodes)
			}
			doc, problems := Decode("f", []byte(tc.in), &all{})
			require.Equal(t, []string{tc.want}, texts(problems))
			require.NotNil(t, doc)
			require.False(t, doc.Has("$"))
		})
	}
}

// Files that would cost the library minutes, gigabytes or a stack overflow that cannot be
// recovered. The test passes if it comes back.
func TestLimits(t *testing.T) {
	deep := func(open string) string { return strings.Repeat(open, MaxSize/len(open)/64) }
	var keys strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&keys, "k%d:\n", i)
	}
	for name, tc := range map[string]struct{ in, want string }{
		"size":        {strings.Repeat("#", MaxSize+1), "f:1:1: the file is larger than the limit of 1048576 bytes"},
		"tokens":      {strings.Repeat("[]", maxTokens/2+1), "f:1:1: the file has more than 200000 words and signs (take out what is not needed)"},
		"brackets":    {deep("["), `f:1:21: more than 20 levels deep: "["`},
		"braces":      {deep("{a: "), `f:1:81: more than 20 levels deep: "{"`},
		"dashes":      {deep("- "), `f:1:41: more than 20 levels deep: "-"`},
		"closing":     {deep("]"), `f:1:1: not valid YAML: could not find '[' character corresponding to ']': "]"`},
		"keys":        {keys.String(), `f:5001:6: more than 5000 entries in one block: ":"`},
		"blank lines": {"name: |\n" + strings.Repeat("\n", MaxSize/2) + "x", "f:102:1: more than 100 blank lines in a row (remove them)"},
		"long key":    {strings.Repeat("k", maxKey+1) + ": x\n", `f:1:130: a key is longer than 128 bytes: ":"`},
		"long text":   {"on: " + strings.Repeat("é", 1000), `f:1:5: want true or false, found text: "` + strings.Repeat("é", maxText) + `…"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := Decode("f", []byte(tc.in), &all{})
			require.Equal(t, []string{tc.want}, texts(problems))
		})
	}
}
