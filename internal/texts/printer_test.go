package texts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// printer says these messages in lang, and the others in English.
func printer(lang string, m map[string]Template) Printer { return Of(lang, m) }

func TestText(t *testing.T) {
	p := printer("en", Messages{
		"a":        {other: "{name} is {what:flag}"},
		"optional": {"pid": "it is {pid}", "kind=x, pid": "it is x, {pid}", "kind": "it is some {kind}", other: "it is"},
		"flag.a":   {other: "good"},
		"for":      {other: "for {age:duration}, {age:ago}"},
	})
	for _, c := range []struct {
		key  string
		args Args
		want string
	}{
		{"a", Args{"name": "Mic", "what": "a"}, "Mic is good"},
		{"a", Args{"name": "{what}", "what": "a\nb"}, "{what} is good and b"},
		{"a", Args{"name": "x", "what": "a\nc\nb"}, "x is good, c and b"},
		{"a", Args{"what": "a"}, "{name} is good"},
		{"b", nil, "b"},
		{"optional", nil, "it is"},
		{"optional", Args{"pid": "7"}, "it is 7"},
		{"optional", Args{"pid": "7", "kind": "x"}, "it is x, 7"},
		{"optional", Args{"kind": "x"}, "it is some x"},
		{"for", Args{"age": "1h2m3s"}, "for 1 h 2 min, 1 hour ago"},
		{"for", Args{"age": "long"}, "for long, long"},
	} {
		require.Equal(t, c.want, p.Text(c.key, c.args))
	}
	require.Equal(t, "name", p.Begins("a", Args{"name": "Mic", "what": "a"}))
	require.Empty(t, p.Begins("for", nil))
	require.Equal(t, "\u2068{what}\u2069 is good and \u2068b\u2069", p.Isolated().Text("a", Args{"name": "{what}", "what": "a\nb"}))
}

func TestPlurals(t *testing.T) {
	for lang, m := range map[string]Template{
		"en":    {"one": "{n:count} one", other: "{n:count} other"},
		"fr":    {"one": "{n:count} one", other: "{n:count} other"},
		"pl":    {"one": "{n:count} one", "few": "{n:count} few", "many": "{n:count} many", other: "{n:count} other"},
		"ja":    {other: "{n:count} other"},
		"ar-XA": {"zero": "{n:count} zero", "two": "{n:count} two", other: "{n:count} other"},
	} {
		p := printer(lang, Messages{"n": m})
		for n, want := range map[string]map[string]string{
			"en":    {"0": "other", "1": "one", "2": "other"},
			"fr":    {"0": "one", "1": "one", "2": "other"},
			"pl":    {"0": "many", "1": "one", "2": "few", "5": "many", "12": "many", "22": "few"},
			"ja":    {"1": "other"},
			"ar-XA": {"0": "zero", "1": "other", "2": "two"},
		}[lang] {
			require.Equal(t, n+" "+want, p.Text("n", Args{"n": n}), lang)
		}
		require.Equal(t, "many other", p.Text("n", Args{"n": "many"}), lang)
	}
}

func TestSentence(t *testing.T) {
	en, tr, ja := For("en"), printer("tr", nil), printer("ja", Messages{"join.sentence": {other: "{phrase}。"}})
	require.Equal(t, "It is\u00a0so.", en.Sentence("it is\u00a0so", true))
	require.Equal(t, "a.yaml is bad.", en.Sentence("a.yaml\nis bad.", false))
	require.Empty(t, en.Sentence(" ", true))
	require.Equal(t, "İyi.", tr.Sentence("iyi", true))
	require.Equal(t, "sources.audio ayarı.", tr.Sentence("sources.audio ayarı", true), "the name of a setting")
	require.Equal(t, "良い。", ja.Sentence("良い", true))
	require.Equal(t, "良い。", ja.Sentence("良い。", true))
	require.Equal(t, "a; b; c", en.Join("join.phrases", []string{"a", "b", "c"}))
	require.Empty(t, en.Join("join.phrases", nil))
}

func TestTime(t *testing.T) {
	p := For("en")
	for d, want := range map[string][2]string{
		"-1s": {"0 s", "just now"}, "400ms": {"0 s", "just now"}, "1s": {"1 s", "1 second ago"}, "1m0s": {"1 min", "1 minute ago"}, "1m30s": {"1 min 30 s", "1 minute ago"},
		"2h0m30s": {"2 h", "2 hours ago"}, "26h": {"1 day 2 h", "1 day ago"}, "50h": {"2 days 2 h", "2 days ago"}, "59.9s": {"1 min", "59 seconds ago"},
	} {
		require.Equal(t, want, [2]string{p.argument(d, "duration"), p.argument(d, "ago")}, d)
	}
}
