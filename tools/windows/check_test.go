// Package windows_test looks at check.ps1, which nothing here can run.
package windows_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesAreListed: docs/windows.md lists the rules that the script prints, in their order.
func TestRulesAreListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/windows.md")
	require.NoError(t, err)
	var rules, listed []string
	for _, m := range regexp.MustCompile(`Test-Rule '(W\d+)' '((?:[^']|'')*)'`).FindAllStringSubmatch(read(t, "check.ps1"), -1) {
		rules = append(rules, m[1]+" "+strings.ReplaceAll(m[2], "''", "'"))
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (W\d+) \| ([^|]*) \|`).FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1]+" "+m[2])
	}
	require.NotEmpty(t, rules)
	require.Equal(t, rules, listed)
}

// texts are what PowerShell does not read as code: comments and strings. A string in double quotes may hold code in $(...), one level deep.
var texts = regexp.MustCompile(`(?m)#(?:Requires)? .*$|^#$|'(?:[^']|'')*'|"(?:[^"$` + "`" + `]|` + "`" + `.|\$\((?:[^()"]|\([^()]*\))*\)|\$)*"`)

// TestScriptsAreWhole: Windows PowerShell reads a file without a mark as the system's code page, and stops at a bracket that is not closed.
func TestScriptsAreWhole(t *testing.T) {
	for _, path := range []string{"check.ps1", "../../examples/push/push.ps1"} {
		t.Run(path, func(t *testing.T) { isWhole(t, read(t, path)) })
	}
}

func isWhole(t *testing.T, text string) {
	t.Helper()
	require.NotRegexp(t, `[^\n\x20-\x7e]`, text)
	code := texts.ReplaceAllString(text, "")
	require.NotRegexp(t, `['"#]`, code, "a string that does not end")
	var open []rune
	pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for line := range strings.Lines(code) {
		for _, r := range line {
			switch r {
			case '(', '[', '{':
				open = append(open, r)
			case ')', ']', '}':
				require.NotEmpty(t, open, line)
				require.Equal(t, string(pairs[r]), string(open[len(open)-1]), line)
				open = open[:len(open)-1]
			}
		}
	}
	require.Empty(t, open)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
