package strictyaml

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `# sample
inner:
  vid: "a"   # quoted
  list: [x, y]
inners:
  - vid: b
  -
    vid: c
words: {"a b": one, "c[\"d": two, e: }
ptr:
`

func TestPosition(t *testing.T) {
	var got struct {
		Inner  inner             `yaml:"inner"`
		Inners []inner           `yaml:"inners"`
		Words  map[string]string `yaml:"words"`
		Ptr    *inner            `yaml:"ptr,omitempty"`
	}
	doc, problems := Decode("f", []byte(sample), &got)
	require.Equal(t, []string{`f:9:35: want text, found nothing`}, texts(problems))
	for _, tc := range []struct {
		path         string
		has          bool
		line, column int
		text         string
	}{
		{"$", true, 2, 1, ""},
		{"$.inner", true, 3, 3, ""},
		{"$.inner.vid", true, 3, 8, "a"},
		{"$.inner.list", true, 4, 9, ""},
		{"$.inner.list[1]", true, 4, 13, "y"},
		{"$.inner.list[2]", false, 4, 9, ""},
		{"$.inner.nothing.at.all", false, 3, 3, ""},
		{"$.inner.vid.deeper", false, 3, 8, ""},
		{"$.inners", true, 6, 3, ""},
		{"$.inners[0]", true, 6, 5, ""},
		{"$.inners[0].vid", true, 6, 10, "b"},
		{"$.inners[1].vid", true, 8, 10, "c"},
		{"$.inners[1].list", false, 8, 5, ""},
		{"$.inners[x]", false, 6, 3, ""},
		{`$.words["a b"]`, true, 9, 16, "one"},
		{`$.words["c[\"d"]`, true, 9, 30, "two"},
		{`$.words["no`, false, 9, 8, ""},
		{"$.ptr", false, 10, 1, ""},
		{"$.none", false, 2, 1, ""},
	} {
		t.Run(tc.path, func(t *testing.T) {
			line, column := doc.Position(tc.path)
			require.Equal(t, []int{tc.line, tc.column}, []int{line, column})
			require.Equal(t, tc.has, doc.Has(tc.path))
			require.Equal(t, tc.text, doc.Text(tc.path))
		})
	}
	require.Equal(t, "f", doc.File())
	require.Equal(t, Problem{File: "f", Line: 3, Column: 8, Path: "$.inner.vid", Text: "a", Message: "m", Hint: "h"}, doc.Problem("$.inner.vid", "m", "h"))
}

func TestPaths(t *testing.T) {
	for _, path := range []string{"$.a", "$.a.b_c[3].d-e", `$["a b"].c`, `$["a\"[0].b"][7]["é"]`} {
		built := "$"
		for rest := path[1:]; rest != ""; {
			var name string
			var i int
			if name, i, rest = step(rest); i >= 0 {
				built = fmt.Sprintf("%s[%d]", built, i)
			} else {
				built = join(built, name)
			}
		}
		require.Equal(t, path, built)
	}
}

func TestProblemString(t *testing.T) {
	for want, p := range map[string]Problem{
		"f: m":                      {File: "f", Message: "m"},
		"f:1:2: m":                  {File: "f", Line: 1, Column: 2, Message: "m"},
		`f:1:2: m: "a\nb" (h)`:      {File: "f", Line: 1, Column: 2, Text: "a\nb", Message: "m", Hint: "h"},
		"a b: m  n (h)":             {File: "a\nb", Message: "m\r\nn", Hint: "h"},
		`SIDETONE_X: m: "\x1b[31m"`: {File: "SIDETONE_X", Message: "m", Text: "\x1b[31m"},
	} {
		require.Equal(t, want, p.String())
	}
}

func TestCompare(t *testing.T) {
	sorted := []Problem{
		{File: "a", Line: 2},
		{File: "b", Line: 1, Column: 2},
		{File: "b", Line: 1, Column: 3, Path: "$.a"},
		{File: "b", Line: 1, Column: 3, Path: "$.b", Message: "m"},
		{File: "b", Line: 1, Column: 3, Path: "$.b", Message: "n"},
	}
	mixed := slices.Clone(sorted)
	slices.Reverse(mixed)
	slices.SortFunc(mixed, Compare)
	require.Equal(t, sorted, mixed)
}

func TestSuggest(t *testing.T) {
	names := []string{"hardware_mute", "echo_cancellation", "noise_suppression"}
	for in, want := range map[string]string{
		"hardware-mute":                    `did you mean "hardware_mute"?`,
		"Hardware_Mute":                    `did you mean "hardware_mute"?`,
		"echo_cancelation":                 `did you mean "echo_cancellation"?`,
		"noise_suppression_is_enabled_now": `did you mean "noise_suppression"?`,
		"mute":                             "want one of: hardware_mute, echo_cancellation, noise_suppression",
		"":                                 "want one of: hardware_mute, echo_cancellation, noise_suppression",
	} {
		require.Equal(t, want, Suggest(in, names), in)
	}
	require.Empty(t, Suggest("x", nil))
	require.Equal(t, "want one of: ab", Suggest(strings.Repeat("a", maxName+1), []string{"ab"}))
	require.Empty(t, Suggest("abc", []string{"1234", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"}))
}
