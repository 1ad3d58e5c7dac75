package health

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/texts"
)

// codes are the constants of codes.go.
func codes(t *testing.T) []Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	require.NoError(t, err)
	var list []Code
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			list = append(list, Code(text))
		}
		return true
	})
	require.NotEmpty(t, list)
	return list
}

func TestEveryCodeHasAText(t *testing.T) {
	all := codes(t)
	var messages int
	for _, key := range texts.Keys() {
		if strings.HasPrefix(key, "condition.") && strings.HasSuffix(key, ".text") {
			messages++
		}
	}
	require.Equal(t, len(all), messages, "a text without a code")
	for i, c := range all {
		require.Regexp(t, `^(agent|settings|sources|devices|flags|pushes|clients|user)\.[a-z_]+$`, string(c))
		require.NotContains(t, all[:i], c)
		require.True(t, English.Has(c), c)
		for _, s := range slices.Concat(forms(English.Template(textOf(c))), forms(English.Template(remedyOf(c)))) {
			require.NotEmpty(t, s, c)
			require.NotRegexp(t, `^[A-Z][a-z]|\.$|\n`, s, "%s: written as an error is: without a capital, a full stop or a line break", c)
		}
	}
}

// TestEveryCodeIsRaised: no text is left of what nobody says any more.
func TestEveryCodeIsRaised(t *testing.T) {
	var source strings.Builder
	for _, top := range []string{"..", "../../cmd"} {
		require.NoError(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			source.Write(text)
			return err
		}))
	}
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	require.NoError(t, err)
	raised := strings.ReplaceAll(source.String(), "Code: Unexplained", "health.Unexplained")
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			require.Regexp(t, `health\.`+v.Names[0].Name+`\b`, raised, "nothing raises it")
		}
		return true
	})
}

// TestDocumented: docs/troubleshooting.md has a row for each code, with its text.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	var rows []string
	for _, line := range strings.Split(string(page), "\n") {
		if regexp.MustCompile("^\\| `[a-z]+\\.[a-z_]+` \\|").MatchString(line) {
			rows = append(rows, line)
		}
	}
	var want []string
	for _, c := range codes(t) {
		want = append(want, fmt.Sprintf("| `%s` | %s | %s |", c, forDocs(English.Template(textOf(c))), forDocs(English.Template(remedyOf(c)))))
	}
	if missing := slices.DeleteFunc(slices.Clone(want), func(row string) bool { return slices.Contains(rows, row) }); len(missing) > 0 {
		t.Errorf("docs/troubleshooting.md lacks these rows:\n%s", strings.Join(missing, "\n"))
	}
	require.Equal(t, want, rows, "the rows of docs/troubleshooting.md, in the order of codes.go")
}

// forDocs writes a template for people who read of it: the form that has most arguments.
func forDocs(t texts.Template) string {
	all := forms(t)
	if len(all) == 0 {
		return ""
	}
	if t.Plural() {
		all[0] = t["other"]
	}
	return strings.ReplaceAll(regexp.MustCompile(`:[a-z]+\}`).ReplaceAllString(all[0], "}"), "|", `\|`)
}

// forms are the texts of a template.
func forms(t texts.Template) (list []string) {
	for _, name := range t.Forms() {
		list = append(list, t[name])
	}
	return list
}

// example says conditions that there are not.
var example = Texts{texts.Of("en", texts.Messages{
	"condition.a.plain.text":      {"other": "nothing is well"},
	"condition.a.plain.remedy":    {"other": "wait"},
	"condition.a.subject.text":    {"other": "{subject} hangs"},
	"condition.a.argument.text":   {"other": "{file} is bad"},
	"condition.a.argument.remedy": {"owner": "correct {file} of {owner}; call {pid}", "other": "correct {file}; call {pid}"},
	"condition.a.number.text":     {"one": "it has {devices:count} device in order", "other": "it has {devices:count} devices in order"},
	"condition.a.choice.text": {
		"muted, shared": `"{subject}" is muted`,
		"muted":         `"{subject}" is muted on the hardware`,
		"shared":        `"{subject}" is not muted`,
		"other":         `"{subject}" is not muted on the hardware`,
	},
	"condition.a.caused.text":   {"because": "it refuses: {because}", "other": "it refuses"},
	"condition.a.caused.remedy": {"other": "restart it"},
})}

func TestRendering(t *testing.T) {
	plain := Condition{Code: "a.plain"}
	for _, c := range []struct {
		c               Condition
		message, remedy string
	}{
		{plain, "Nothing is well.", "Wait."},
		{Condition{Code: "a.subject", Subject: "a client"}, "A client hangs.", ""},
		{Condition{Code: "a.argument", Args: Args{"file": "a.yaml", "pid": "7"}}, "a.yaml is bad.", "Correct a.yaml; call 7."},
		{Condition{Code: "a.argument", Args: Args{"file": "a\nb [x] {pid}", "pid": "7", "owner": "me"}}, "a b [x] {pid} is bad.", "Correct a b [x] {pid} of me; call 7."},
		{Condition{Code: "a.number", Args: Args{"devices": "1"}}, "It has 1 device in order.", ""},
		{Condition{Code: "a.number", Args: Args{"devices": "0"}}, "It has 0 devices in order.", ""},
		{Condition{Code: "a.choice", Subject: "Mic", Args: Args{"muted": "true"}}, `"Mic" is muted on the hardware.`, ""},
		{Condition{Code: "a.choice", Subject: "Mic", Args: Args{"shared": "true"}}, `"Mic" is not muted.`, ""},
		{Condition{Code: "a.caused"}, "It refuses.", "Restart it."},
		{Condition{Code: "a.caused", Because: []Condition{{Code: "a.number", Args: Args{"devices": "2"}}}}, "It refuses: it has 2 devices in order.", "Restart it."},
		{Condition{Code: "a.caused", Because: []Condition{{Code: "a.plain", Subject: "x"}, plain}}, "It refuses: x: nothing is well; nothing is well.", "Wait."},
	} {
		require.Equal(t, c.message, example.Message(c.c))
		require.Equal(t, c.remedy, example.Remedy(c.c))
		require.NoError(t, example.Check(c.c))
	}
}

func TestCheck(t *testing.T) {
	for want, c := range map[string]Condition{
		`the code "a.none" has no text`:                          {Code: "a.none"},
		"a.subject: no argument {subject}":                       {Code: "a.subject"},
		"a.argument: no argument {pid}":                          {Code: "a.argument", Args: Args{"file": "x"}},
		"a.plain: no text has a place for the argument {reason}": {Code: "a.plain", Args: Args{"reason": "x"}},
		"a.number: no argument {devices}":                        {Code: "a.caused", Because: []Condition{{Code: "a.number"}}},
	} {
		require.EqualError(t, example.Check(c), want)
	}
	require.Equal(t, "{subject} hangs.", example.Message(Condition{Code: "a.subject"}), "what is missing shows")
}

func TestError(t *testing.T) {
	err := fmt.Errorf("ask: %w", Wrap(fs.ErrPermission, AgentUnreachable, Problem, nil))
	require.EqualError(t, err, "ask: the agent could not be asked: permission denied")
	require.ErrorIs(t, err, fs.ErrPermission)
	c, ok := Of(err)
	require.True(t, ok)
	require.True(t, c.Equal(Condition{Code: AgentUnreachable, Severity: Problem, Args: Args{"reason": "permission denied"}}))
	require.False(t, c.Equal(Condition{Code: AgentUnreachable, Severity: Problem}))
	_, ok = Of(errors.New("anything"))
	require.False(t, ok)
}
