package stable

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSortIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ key, place int }
		list := rapid.SliceOf(rapid.Custom(func(t *rapid.T) pair { return pair{key: rapid.IntRange(0, 9).Draw(t, "key")} })).Draw(t, "list")
		for i := range list {
			list[i].place = i
		}
		byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
		want := slices.Clone(list)
		slices.SortStableFunc(want, byKey)
		require.Equal(t, want, Sort(list, byKey))
	})
}
