package health_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
	"sidetone/internal/texts/textstest"
)

// names are the arguments that are names, which are the same in every language.
var names = []string{
	"product", "camera", "vendor", "model", "name", "program", "device", "control", "source", "serials", "endpoints", "others", "muted",
	"names",
}

// TestEveryLanguageSaysItAll: of every condition, as it is raised, a reader gets words of his language, and what others say in quotation marks.
func TestEveryLanguageSaysItAll(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	raised := healthtest.Recorded()
	for _, key := range texts.Keys() {
		code, is := strings.CutSuffix(strings.TrimPrefix(key, "condition."), ".text")
		if is && strings.HasPrefix(key, "condition.") {
			require.True(t, slices.ContainsFunc(raised, func(c health.Condition) bool { return string(c.Code) == code }), "no test raises %s", code)
		}
	}
	for _, lang := range texts.Shipped.Languages() {
		say := health.Texts{Printer: texts.For(lang)}
		for _, c := range raised {
			assert.NoError(t, say.Check(c), lang)
			if lang == texts.English {
				continue
			}
			for _, text := range []string{say.Message(c), say.Remedy(c)} {
				assert.Empty(t, textstest.Foreign(lang, text, namesIn(c)...), "%s: %s", lang, text)
			}
		}
	}
}

// namesIn are the names in a condition and in what it follows from, the longest first.
func namesIn(c health.Condition) (list []string) {
	if c.Code.Area() != "clients" { // a client has a description in each language
		list = append(list, c.Subject, texts.For(texts.English).Capital(c.Subject))
	}
	for _, arg := range names {
		list = append(list, strings.Split(c.Args[arg], "\n")...)
	}
	for _, reason := range c.Because {
		list = append(list, namesIn(reason)...)
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return list
}
