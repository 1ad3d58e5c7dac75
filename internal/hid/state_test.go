package hid

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared returns the constants of a type in state.go: a test that lists them itself would miss the next one.
func declared[T ~string](t *testing.T, kind string) (all []T) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || v.Type == nil {
			return true
		}
		if id, ok := v.Type.(*ast.Ident); ok && id.Name == kind {
			all = append(all, T(strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`)))
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	used := make(map[int]bool)
	for _, on := range declared[outcome](t, "outcome") {
		for _, s := range declared[state](t, "state") {
			var fits []int
			for i, tr := range transitions {
				if tr.on == on && (tr.from == nil || slices.Contains(tr.from, s)) {
					fits = append(fits, i)
				}
			}
			require.NotEmpty(t, fits, "%s in state %s", on, s)
			used[fits[0]] = true
			for _, i := range fits[1:] {
				require.Nil(t, transitions[i].from, "%s in state %s has two lines", on, s)
			}
			got := next(s, on)
			require.Equal(t, transitions[fits[0]].then, got.then)
			require.Contains(t, declared[state](t, "state"), got.to)
		}
	}
	for i, tr := range transitions {
		require.True(t, used[i], "no rule ever gets to the line %+v", tr)
	}
}

func TestEveryStateIsReachedAndLeft(t *testing.T) {
	reached, queue := map[state]bool{unknown: true}, []state{unknown}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		leads := false
		for _, on := range declared[outcome](t, "outcome") {
			to := next(s, on).to
			leads = leads || to != s
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
		require.True(t, leads, "no way out of %s", s)
		require.Equal(t, unknown, next(s, onForgotten).to, "what was not seen is unknown")
	}
	for _, s := range declared[state](t, "state") {
		require.True(t, reached[s], "no way leads to %s", s)
	}
}

func TestEveryConsequenceFollowsFromSomething(t *testing.T) {
	for _, c := range declared[consequence](t, "consequence") {
		require.True(t, slices.ContainsFunc(transitions, func(tr transition) bool { return slices.Contains(tr.then, c) }), c)
	}
}

// table shows the transitions as docs/architecture.md does.
func table() string {
	var b strings.Builder
	b.WriteString("| what happens | in state | new state | and then |\n|---|---|---|---|\n")
	for _, t := range transitions {
		from, to, then := "any other", string(t.to), "–"
		if t.from != nil {
			from = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.from), " ", ", "), "[]")
		} else if !slices.ContainsFunc(transitions, func(o transition) bool { return o.on == t.on && o.from != nil }) {
			from = "any"
		}
		if to == "" {
			to = "the same"
		}
		if t.then != nil {
			var all []string
			for _, c := range t.then {
				all = append(all, string(c))
			}
			then = strings.Join(all, "; ")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.on, from, to, then)
	}
	return b.String()
}

func TestTheDocumentsShowTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	require.Contains(t, string(page), table(), "copy it from here:\n%s", table())
}
