package report

import (
	"slices"
	"strings"
)

// fromRight lists languages that are written from right to left. A vendor may add one.
var fromRight = []string{"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}

func rightLeft(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	return slices.Contains(fromRight, base)
}
