// Package tabletest tests tables of transitions, which say which state follows from another: those in file state.go of the tested
// package and in docs/states.md.
package tabletest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/transition"
)

// Declared returns the constants of the type that state.go of the tested package declares: a test that lists them itself would
// miss the next one.
func Declared[T ~string](t *testing.T, kind string) (all []T) {
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

// A Table is a table to test.
type Table[State, Outcome ~string, Then any] struct {
	Lines transition.Table[State, Outcome, Then]
	Start State
	End   []State // final states, which have no way out
}

// words returns what else follows, as the document writes it; "" for nothing.
func words(then any) string {
	if v := reflect.ValueOf(then); v.Kind() == reflect.Slice {
		all := make([]string, v.Len())
		for i := range all {
			all[i] = v.Index(i).String()
		}
		return strings.Join(all, "; ")
	}
	return fmt.Sprint(then)
}

// Walk requires that exactly one line says what follows from each outcome in each state, that each line is used, and that each
// state is reached from the start and can be left.
func (table Table[S, O, T]) Walk(t *testing.T, states []S, outcomes []O) {
	t.Helper()
	used := make(map[int]bool)
	for _, on := range outcomes {
		for _, s := range states {
			var fits []int
			for i, line := range table.Lines {
				if line.On == on && (line.From == nil || slices.Contains(line.From, s)) {
					fits = append(fits, i)
				}
			}
			require.NotEmpty(t, fits, "%s in state %s", on, s)
			used[fits[0]] = true
			for _, i := range fits[1:] {
				require.Nil(t, table.Lines[i].From, "%s in state %s has two lines", on, s)
			}
			after := table.Lines.After(s, on)
			require.Equal(t, table.Lines[fits[0]].Then, after.Then)
			require.Contains(t, states, after.To)
		}
	}
	for i, line := range table.Lines {
		require.True(t, used[i], "nothing ever gets to the line %+v", line)
	}
	reached, queue := map[S]bool{table.Start: true}, []S{table.Start}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		leads := false
		for _, on := range outcomes {
			to := table.Lines.After(s, on).To
			leads = leads || to != s
			if !reached[to] {
				reached[to] = true
				queue = append(queue, to)
			}
		}
		require.NotEqual(t, slices.Contains(table.End, s), leads, "a way out of %s", s)
	}
	for _, s := range states {
		require.True(t, reached[s], "no way leads to %s", s)
	}
}

// Shown requires that docs/states.md of this module shows the table, with a heading over what else follows.
func (table Table[S, O, T]) Shown(t *testing.T, heading string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "| what happens | in state | new state | %s |\n|---|---|---|---|\n", heading)
	for _, line := range table.Lines {
		from := "any other"
		if line.From != nil {
			from = strings.Trim(strings.ReplaceAll(fmt.Sprint(line.From), " ", ", "), "[]")
		} else if !slices.ContainsFunc(table.Lines, func(o transition.Line[S, O, T]) bool { return o.On == line.On && o.From != nil }) {
			from = "any"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", line.On, from, cmp.Or(line.To, "the same"), cmp.Or(words(line.Then), "–"))
	}
	module := "."
	for !exists(filepath.Join(module, "go.mod")) {
		module = filepath.Join(module, "..")
	}
	page, err := os.ReadFile(filepath.Join(module, "docs", "states.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), b.String(), "copy it from here:\n%s", b.String())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
