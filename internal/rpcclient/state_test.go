package rpcclient

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

// declared returns the constants of a type in state.go: a test that lists them itself would miss
// the next one.
func declared(t *testing.T, kind string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	require.NoError(t, err)
	var all []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == kind {
				all = append(all, strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`))
			}
		}
	}
	require.NotEmpty(t, all)
	return all
}

// states are those of one client: Stopped is one of the whole.
func states(t *testing.T) []State {
	var all []State
	for _, s := range declared(t, "State") {
		if State(s) != Stopped {
			all = append(all, State(s))
		}
	}
	return all
}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	t.Parallel()
	used := make(map[int]bool)
	for _, on := range declared(t, "outcome") {
		for _, s := range states(t) {
			var fits []int
			for i, tr := range transitions {
				if string(tr.on) == on && (tr.from == nil || slices.Contains(tr.from, s)) {
					fits = append(fits, i)
				}
			}
			require.NotEmpty(t, fits, "%s in state %s", on, s)
			first := transitions[fits[0]]
			used[fits[0]] = true
			for _, i := range fits[1:] {
				require.Nil(t, transitions[i].from, "%s in state %s has two lines", on, s)
			}
			got := transitionFor(s, outcome(on))
			require.Equal(t, first.retry, got.retry)
			require.Contains(t, states(t), got.to)
		}
	}
	for i, tr := range transitions {
		require.True(t, used[i], "no client ever gets to the line %+v", tr)
	}
}

func TestEveryStateIsReachedAndLeft(t *testing.T) {
	t.Parallel()
	reached, queue := map[State]bool{Searching: true}, []State{Searching}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		leads := false
		for _, on := range declared(t, "outcome") {
			to := transitionFor(s, outcome(on)).to
			leads = leads || to != s
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
		require.True(t, leads, "no way out of %s", s)
	}
	for _, s := range states(t) {
		require.True(t, reached[s], "no way leads to %s", s)
		require.Equal(t, s != Searching && s != occupied, slices.Contains(sessionStates, s), "%s is a session", s)
	}
}

// table shows the transitions as docs/architecture.md does.
func table() string {
	var b strings.Builder
	b.WriteString("| what happens | in state | new state | next try |\n|---|---|---|---|\n")
	for _, t := range transitions {
		from, to, then := "any other", string(t.to), string(t.retry)
		if t.from != nil {
			from = strings.Trim(strings.ReplaceAll(fmt.Sprint(t.from), " ", ", "), "[]")
		} else if slices.IndexFunc(transitions, func(o transition) bool { return o.on == t.on && o.from != nil }) < 0 {
			from = "any"
		}
		if to == "" {
			to = "the same"
		}
		if then == "" {
			then = "–"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.on, from, to, then)
	}
	return b.String()
}

func TestTheDocumentsShowTheTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	require.Contains(t, string(page), table(), "copy it from here:\n%s", table())
}
