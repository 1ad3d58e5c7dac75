package strictyaml

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNames is the maximum number of valid names that a hint lists.
const maxNames = 12

// Suggest returns the hint for an unknown name: the nearest valid one, or all of them if none is
// near and they are few.
func Suggest(name string, valid []string) string {
	switch best := nearest(name, valid); {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(valid) > 0 && len(valid) <= maxNames:
		return "want one of: " + strings.Join(valid, ", ")
	default:
		return ""
	}
}

// Similar reports whether name looks like a typo of the valid one, or begins with it.
func Similar(name, valid string) bool { return nearest(name, []string{valid}) != "" }

// nearest returns the valid name that name looks like a typo of, or begins with, or "".
func nearest(name string, valid []string) string {
	name = strings.ToLower(name)
	size := utf8.RuneCountInString(name)
	best, distance := "", max(1, size/3)+1
	for _, v := range valid {
		if differ := utf8.RuneCountInString(v) - size; differ >= distance || -differ >= distance {
			continue // as many characters have to come or go
		}
		if d := EditDistance(name, strings.ToLower(v)); d < distance {
			best, distance = v, d
		}
	}
	for _, v := range valid {
		if best == "" && len(v) > 2 && strings.HasPrefix(name, strings.ToLower(v)) {
			best = v
		}
	}
	return best
}

// maxName bounds the work of EditDistance. All valid names are much shorter.
const maxName = 100

// EditDistance returns the Damerau-Levenshtein distance of a and b: insertions, deletions, replacements and
// swaps of neighbours.
func EditDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > maxName || len(y) > maxName {
		return maxName
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			replace := rows[i-1][j-1]
			if x[i-1] != y[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
