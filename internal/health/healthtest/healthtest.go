// Package healthtest holds conditions as the product raises them, so that each can be tested in every language. Tests of code that raises
// conditions hand them in; conditions.json records them with their arguments.
package healthtest

import (
	_ "embed" // the conditions
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
)

//go:embed conditions.json
var recorded []byte

// Recorded returns the conditions that have been raised in tests, one of each shape.
var Recorded = sync.OnceValue(func() (list []health.Condition) {
	if err := json.Unmarshal(recorded, &list); err != nil {
		panic(err)
	}
	return list
})

// known returns the recorded codes, each with the traits that it has had.
var known = sync.OnceValue(func() map[health.Code][]string {
	all := make(map[health.Code][]string)
	for _, c := range Recorded() {
		all[c.Code] = append(all[c.Code], traits(c)...)
	}
	return all
})

// Raised requires that conditions with these codes and arguments are recorded, and those that they follow from. With RECORD_CONDITIONS set
// it records new ones.
func Raised(t testing.TB, raised ...health.Condition) {
	t.Helper()
	for _, c := range raised {
		Raised(t, c.Because...)
		if os.Getenv("RECORD_CONDITIONS") != "" {
			record(t, c)
			continue
		}
		for _, trait := range traits(c) {
			if !slices.Contains(known()[c.Code], trait) {
				t.Errorf("%s with %s is not in conditions.json: run this test with RECORD_CONDITIONS=1, and then those of internal/health",
					c.Code, trait)
			}
		}
	}
}

// traits returns everything about a condition that its text depends on.
func traits(c health.Condition) []string {
	list := append([]string{"its code"}, slices.Sorted(maps.Keys(c.Args))...)
	for _, kind := range []string{"origin", "device"} { // each of their values has a message
		if word := c.Args[kind]; word != "" {
			list = append(list, word)
		}
	}
	if c.Subject != "" {
		list = append(list, "a subject")
	}
	if len(c.Because) > 0 {
		list = append(list, "a reason")
	}
	return list
}

// shape returns the code with all traits.
func shape(c health.Condition) string { return string(c.Code) + " " + strings.Join(traits(c), " ") }

var mu sync.Mutex

// temporary matches folders of tests, whose names change each time.
var temporary = regexp.MustCompile(regexp.QuoteMeta(os.TempDir()) + `/[\w.-]+(/\d{3})?`)

// record adds a condition to the file, which other packages' tests may have changed meanwhile.
func record(t testing.TB, c health.Condition) {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	_, self, _, _ := runtime.Caller(0)
	path := filepath.Join(filepath.Dir(self), "conditions.json")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var list []health.Condition
	require.NoError(t, json.Unmarshal(data, &list))
	if slices.ContainsFunc(list, func(known health.Condition) bool { return shape(known) == shape(c) }) {
		return
	}
	list = append(list, c.Map(func(s string) string { return temporary.ReplaceAllString(s, "/run/user/1000") }))
	slices.SortFunc(list, func(a, b health.Condition) int { return strings.Compare(shape(a), shape(b)) })
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	require.NoError(t, e.Encode(list))
	require.NoError(t, os.WriteFile(path, []byte(out.String()), 0o644))
}
