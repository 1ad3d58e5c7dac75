package report

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
	"sidetone/internal/texts/textstest"
	"sidetone/internal/timeline"
)

var update = flag.Bool("update", false, "write the golden files")

func english(in Input) Page { return Build(in, texts.For(texts.English)) }

// TestPages holds what is on a page against testdata.
func TestPages(t *testing.T) {
	for name, in := range map[string]Input{
		"workday": workday(),
		"empty": {
			Now: madeAt, Status: control.Status{Vendor: "Acme Audio", Version: "1.4.0", Started: madeAt.Add(-time.Minute)},
			Timeline: timeline.Timeline{From: madeAt.Add(-time.Minute), To: madeAt},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			out := json.NewEncoder(&got)
			out.SetEscapeHTML(false)
			out.SetIndent("", " ")
			require.NoError(t, out.Encode(english(in)))
			file := "testdata/" + name + ".json"
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got.String())
		})
	}
}

// TestChartIsToScale: the lanes of the chart have the lengths of what they show, and leave nothing out.
func TestChartIsToScale(t *testing.T) {
	tl := english(workday()).Timeline
	lane := func(group, label string) Lane {
		g := tl.Groups[slices.IndexFunc(tl.Groups, func(g Group) bool { return g.Name == group })]
		return g.Lanes[slices.IndexFunc(g.Lanes, func(l Lane) bool { return l.Label == label })]
	}
	presence := lane("Acme Desk Microphone", "Plugged in").Segments
	require.Len(t, presence, 1)
	require.InDelta(t, 6.5/9*100, presence[0].From, 0.001)
	require.InDelta(t, 2.5/9*100, presence[0].Width, 0.001)

	mute := lane("Acme Headset 700", "Microphone mute").Segments
	require.Equal(t, LookUnknown, mute[0].Look)
	require.Equal(t, "Unknown, 08:42:30 – 08:43:30", strings.NewReplacer("\u2068", "", "\u2069", "").Replace(mute[0].Text))
	looks := make(map[Look]int)
	for i, s := range mute {
		looks[s.Look]++
		require.GreaterOrEqual(t, s.Width, minWidth)
		require.LessOrEqual(t, s.From+s.Width, 100.001)
		if i > 0 {
			require.InDelta(t, mute[i-1].From+mute[i-1].Width, s.From, 2*minWidth, "no gap")
		}
	}
	require.NotZero(t, looks[LookSeveral], "the minute of toggling")
	require.Equal(t, "accepted by \u2068Discord\u2069", tl.Groups[1].Lanes[2].Label)
	require.Len(t, tl.Ticks, 4)
}

func TestTableIsBounded(t *testing.T) {
	p := newPast(24 * time.Hour)
	for i := range 2 * maxRows {
		p.at(0, i, 0)
		p.Snapshot(devices.Snapshot{Devices: []devices.Report{set("u", "acme-700", "Acme 700", devices.Of(i%2 == 0), devices.True)}})
	}
	tl := english(Input{Now: madeAt, Timeline: p.Timeline()}).Timeline
	require.Len(t, tl.Rows, maxRows)
	require.Equal(t, "503 older changes are only shown above.", tl.Older)
	require.True(t, slices.IsSortedFunc(tl.Rows, func(a, b Row) int { return b.Time.At.Compare(a.Time.At) }))
}

// elements are all that a page may have in it, with the attributes that they may have.
var elements = map[string]string{
	"html": "lang dir", "head": "", "meta": "charset name http-equiv content", "title": "", "style": "", "body": "", "header": "", "main": "", "footer": "",
	"section": "aria-labelledby class", "h1": "", "h2": "id", "h3": "", "p": "class", "span": "class", "strong": "class", "b": "", "bdi": "class", "small": "",
	"article": "class", "table": "role class", "thead": "role", "tbody": "role", "tr": "role", "th": "role scope", "td": "role data-label",
	"svg": "width height aria-hidden class dir", "rect": "class x y width height", "defs": "", "pattern": "id width height patternunits patterntransform",
	"line": "x1 x2 y1 y2", "text": "class x y text-anchor", "time": "datetime", "dl": "", "dt": "", "dd": "", "div": "class aria-hidden",
}

// checkElements requires that a page holds nothing but what it is meant to, and returns all its text.
func checkElements(t testing.TB, page []byte) (text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(page)))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		switch n.Type {
		case html.TextNode:
			text += n.Data
		case html.ElementNode:
			allowed, known := elements[strings.ToLower(n.Data)]
			require.True(t, known, "<%s>", n.Data)
			for _, a := range n.Attr {
				require.Contains(t, strings.Fields(allowed), strings.ToLower(a.Key), "<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		case html.CommentNode:
			require.Fail(t, "a comment", n.Data)
		}
	}
	return text
}

func FuzzNamesAreText(f *testing.F) {
	for _, s := range []string{
		"Acme 700", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='x`, "</style><b>", "]]>", "<!--", "&lt;script&gt;", "{because}", "\u202egnp\u2069\u2066",
		"\x00\xff", long, "</title></textarea>", "javascript:alert(1)", "a\u2028b",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		text := checkElements(t, english(hostile(name)).HTML())
		require.Contains(t, text, clean(name))
		for _, r := range "\u202a\u202b\u202d\u202e\u2066\u2067" {
			require.NotContains(t, text, string(r), "nothing turns the text around it")
		}
	})
}

func TestNothingIsLoaded(t *testing.T) {
	page := string(english(workday()).HTML())
	checkElements(t, []byte(page))
	require.NotContains(t, style, "@import")
	require.NotContains(t, strings.ReplaceAll(style, "url(#", ""), "url(")
	require.Contains(t, page[:512], Mark)
	require.Contains(t, page, `<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;unsafe-inline&#39;">`)
}

func TestRightToLeft(t *testing.T) {
	p := Build(workday(), texts.Of("he", texts.Messages{"report.devices": {"other": "התקנים"}}))
	require.Contains(t, string(p.HTML()), `<html lang="he" dir="rtl">`)
	require.Equal(t, "התקנים", p.Devices.Heading)
	require.Contains(t, string(english(workday()).HTML()), `<html lang="en" dir="ltr">`)
}

// TestEveryPageIsOfItsLanguage: no word of another one is on it, but names.
func TestEveryPageIsOfItsLanguage(t *testing.T) {
	names := []string{"/run/user/1000/discord-ipc-0", "Acme", "Audio", "Headset", "Desk", "Microphone", "Webcam", "axe", "hidraw", "suite"}
	for _, lang := range texts.Shipped.Languages() {
		if lang == texts.English {
			continue
		}
		doc, err := html.Parse(strings.NewReader(string(Build(workday(), texts.For(lang)).HTML())))
		require.NoError(t, err)
		for n := range doc.Descendants() {
			if n.Type == html.TextNode && !slices.Contains([]string{"style", "title"}, n.Parent.Data) {
				text := strings.NewReplacer("\u2068", "", "\u2069", "").Replace(n.Data)
				require.Empty(t, textstest.Foreign(lang, text, names...), "%s: %s", lang, text)
			}
		}
	}
}

// TestSeveralChanges: how many there were is a sentence of its own, as the language ends one.
func TestSeveralChanges(t *testing.T) {
	change := timeline.Change{To: timeline.Started, Count: 2, At: madeAt, Until: madeAt}
	for lang, end := range map[string]string{"en": ". Started", "ja": "。 開始", "zh-Hans": "。 已启动"} {
		b := &builder{Input: Input{Now: madeAt}, say: texts.For(lang)}
		require.Regexp(t, `:\d\d\.000`+regexp.QuoteMeta(end)+`$`, b.changeText(timeline.Lane{Subject: timeline.Subject{Kind: timeline.KindAgent}}, change))
	}
}

// TestMomentsAreLeftOut: while an agent starts, much is not in order for a moment.
func TestMomentsAreLeftOut(t *testing.T) {
	shown := func(seconds ...int) bool { // for how long it was raised, and ended between
		p := newPast(time.Hour)
		at := 0
		for _, s := range seconds {
			p.at(0, 1, at)
			p.Conditions([]health.Condition{unreadable})
			p.at(0, 1, at+s)
			p.Conditions(nil)
			at += s + 5
		}
		tl := english(Input{Now: madeAt, Timeline: p.Timeline()}).Timeline
		require.Equal(t, len(tl.Groups) == 2, len(tl.Rows) > 1)
		return len(tl.Groups) == 2
	}
	require.False(t, shown(1))
	require.False(t, shown(1, 0, 1))
	require.True(t, shown(3))
	require.True(t, shown(1, 3))
	require.True(t, shown(slices.Repeat([]int{1}, 20)...), "again and again")
}

// TestOfAnotherVersion: an agent that knows more than this program still gets a page.
func TestOfAnotherVersion(t *testing.T) {
	in := workday()
	in.Timeline.Lanes = append(in.Timeline.Lanes,
		timeline.Lane{Subject: timeline.Subject{Kind: "weather"}, Changes: []timeline.Change{{At: madeAt, To: "rain"}}},
		timeline.Lane{Subject: timeline.Subject{Kind: timeline.KindCondition}, Changes: []timeline.Change{{At: madeAt, To: "problem"}}})
	later := health.Condition{Code: "sources.of_tomorrow", Severity: health.Problem}
	in.Status.Conditions = []control.Condition{{Condition: later, Message: "The camera sleeps."}}
	page := english(in)
	checkElements(t, page.HTML())
	require.Len(t, page.Conditions.List, 1)
	require.Contains(t, page.Conditions.List[0].Message, "The camera sleeps")
	require.Equal(t, string(health.Problem), page.Conditions.List[0].Severity)
}
