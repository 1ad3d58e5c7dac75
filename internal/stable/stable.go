// Package stable sorts lists.
package stable

import (
	"slices"
	"sort"
)

// Sort sorts list in place, stably, and returns it; compare is that of slices.SortStableFunc. It is somewhat slower than that
// function, which adds 10 to 20 KiB to the binary for each type of element.
func Sort[E any](list []E, compare func(a, b E) int) []E {
	if slices.IsSortedFunc(list, compare) {
		return list // as most are: sort would allocate
	}
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
	return list
}
