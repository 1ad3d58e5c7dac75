package scenario

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// A Problem is one thing that is wrong with a scenario file.
type Problem struct {
	File    string
	Line    int // from 1
	Column  int // from 1, in characters
	Message string
}

// String is one line: file:line:column: message.
func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' ' // it came with a key or a file's name, and may act on a terminal
		}
		return r
	}, text)
}

func compareProblems(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// suggest names the valid name that is nearest to a wrong one, or all of them.
func suggest(name string, valid []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, v := range valid {
		if d := distance(strings.ToLower(name), strings.ToLower(v)); d < least {
			best, least = v, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(valid) == 0:
		return "there is none"
	}
	return "want one of: " + strings.Join(valid, ", ")
}

// maxName bounds the work of comparing: no valid name is near this length, in bytes.
const maxName = 100

// distance is the number of bytes to insert, remove, replace or swap with the next to get from
// a to b.
func distance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
