package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/testlab/browser"
	"sidetone/internal/texts"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browser.Close()
	os.Exit(code)
}

// show opens a page from a file, as a user does.
func show(t *testing.T, p Page, width int64, scheme string) (b *browser.Tab, url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(file, p.HTML(), 0o600))
	url = "file://" + file
	return browser.Open(t, url, width, scheme), url
}

// TestInABrowser: the page fits at every width, follows the scheme, loads nothing, and axe finds nothing wrong with it.
func TestInABrowser(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	require.NoError(t, err)
	for name, in := range map[string]Input{"workday": workday(), "hostile": hostile(`<img src=x onerror=alert(1)>` + long + "\u202eمرحبا")} {
		for scheme, background := range map[string]string{"light": "rgb(245, 246, 248)", "dark": "rgb(18, 21, 27)"} {
			t.Run(name+" "+scheme, func(t *testing.T) {
				t.Parallel()
				b, url := show(t, english(in), 320, scheme)
				var shown string
				b.Eval(`getComputedStyle(document.body).backgroundColor`, &shown)
				require.Equal(t, background, shown)
				fits(t, b)
				b.Eval(string(axe)+"; 0", nil)
				for _, width := range []int64{360, 800, 1400} {
					b.Resize(width)
					fits(t, b)
					var found struct{ Violations, Passes []string }
					b.Eval(`axe.run({resultTypes: ["violations"], selectors: false}).then((r) => ({
						Violations: r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" | ")),
						Passes: r.passes.map((p) => p.id),
					}))`, &found)
					require.Empty(t, found.Violations, "at %d pixels", width)
					require.Subset(t, found.Passes, []string{"color-contrast", "html-has-lang", "heading-order", "region"}, "it has looked")
				}
				require.Equal(t, []string{url}, b.Requests())
			})
		}
	}
}

// TestEveryLanguageFits: the longest words of each language find their place, and every sentence that there is.
func TestEveryLanguageFits(t *testing.T) {
	t.Parallel()
	in := workday()
	in.Status.Conditions = control.ConditionsOf(healthtest.Recorded())
	for _, lang := range texts.Shipped.Languages() {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			b, _ := show(t, Build(in, texts.For(lang)), 320, "light")
			fits(t, b)
			for _, width := range []int64{800, 1400} {
				b.Resize(width)
				fits(t, b)
			}
		})
	}
}

// fits requires that nothing is wider than its place, nor the page than the window.
func fits(t *testing.T, b *browser.Tab) {
	t.Helper()
	var wide []string
	b.Eval(`[...document.querySelectorAll("html, body, body *")].filter((n) => !n.closest("svg, thead"))
		.filter((n) => n.getBoundingClientRect().right > innerWidth + 0.5 || n.clientWidth > 0 && n.scrollWidth > n.clientWidth + 1)
		.map((n) => n.tagName + "." + n.className + " " + n.getBoundingClientRect().right)`, &wide)
	require.Empty(t, wide)
}

// TestPatternsDiffer: on, off, unknown and many changes are told apart without colour: what is drawn differs in shape.
func TestPatternsDiffer(t *testing.T) {
	t.Parallel()
	b, _ := show(t, english(workday()), 1400, "light")
	var looks []string
	b.Eval(`[...document.querySelectorAll(".legend .swatch rect")].map((n) => {
		const fill = getComputedStyle(n).fill;
		return (fill.startsWith("url") ? fill : "plain") + " " + n.getAttribute("height");
	})`, &looks)
	require.Equal(t, []string{`plain 12`, `plain 5`, `url("#hatched") 12`, `url("#striped") 12`}, looks)
}

// TestPrints: on white paper, with what the chart is drawn with.
func TestPrints(t *testing.T) {
	t.Parallel()
	b, _ := show(t, english(workday()), 700, "dark")
	b.Print()
	fits(t, b)
	var look []string
	b.Eval(`[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector(".card")).backgroundColor,
		getComputedStyle(document.body).color, getComputedStyle(document.querySelector(".lane svg")).printColorAdjust]`, &look)
	require.Equal(t, []string{"rgb(255, 255, 255)", "rgb(255, 255, 255)", "rgb(0, 0, 0)", "exact"}, look)
}

// TestTableForScreenReaders: what the chart shows is a table in the tree that a screen reader gets, at any width.
func TestTableForScreenReaders(t *testing.T) {
	t.Parallel()
	for _, width := range []int64{320, 1400} {
		b, _ := show(t, english(workday()), width, "light")
		tree := b.Names()
		plain := strings.NewReplacer("\u2068", "", "\u2069", "")
		require.Subset(t, tree["columnheader"], []string{"Time", "Subject", "Change", "Where it comes from"})
		require.Contains(t, plain.Replace(strings.Join(tree["cell"], "\n")), "Acme Headset 700: Microphone mute, accepted by Discord")
		require.Equal(t, []string{"Acme Audio: diagnostics", "What to check", "Devices"}, []string{plain.Replace(tree["heading"][0]), tree["heading"][1], tree["heading"][2]})
		require.Subset(t, tree["region"], []string{"What to check", "Devices", "Clients", "Timeline"})
	}
}

// TestPicture makes that of docs/report.md.
func TestPicture(t *testing.T) {
	if !*update {
		t.Skip("the picture is made with -update")
	}
	b, _ := show(t, english(workday()), 800, "light")
	b.Eval(`document.querySelectorAll(".conditions .card:nth-of-type(n+2), .devices .card:nth-of-type(n+2), .changes tr:nth-child(n+4), footer").forEach((n) => n.remove())`, nil)
	require.NoError(t, os.WriteFile("../../docs/images/report.png", b.Screenshot(), 0o644))
}
