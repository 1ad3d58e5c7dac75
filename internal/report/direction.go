package report

import (
	"slices"
	"strings"
)

// fromRight are the languages that are written from right to left, as one that a vendor has added may be.
var fromRight = []string{"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}

func rightLeft(lang string) bool {
	base, _, _ := strings.Cut(lang, "-")
	return slices.Contains(fromRight, base)
}
