package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/browser"
)

// What a device says is text, whatever it says.
func TestHostileNamesAreText(t *testing.T) {
	const image = `<img src=x onerror=alert(1)>`
	long := strings.Repeat("W", 10_000)
	hostile := fmt.Sprintf(`{"type":"audioinput","id":%s,"vendor":{"name":%s,"url":"javascript:alert(1)"},"model":{"name":%s,"url":"https://a.example/%s"},"related":[%[3]s,%[1]s],"hardware_mute":true}`,
		browser.Quote(image+long), browser.Quote("\u202egnp.exe\u2066"+long), browser.Quote(image), `\"><script>alert(2)</script>`)
	wide := fmt.Sprintf(`{"type":"audiooutput","id":%s,"vendor":{"name":%[1]s},"model":{"name":%[1]s},"related":[]}`, browser.Quote(long))
	for _, width := range []int64{360, 1440} {
		srv := client(t, fakeserver.Options{})
		b := open(t, show(t, srv), width, "light")
		report(t, srv, list("<b>nonce</b>"+long, hostile, wide))
		report(t, srv, list(long, strings.Replace(hostile, `"audioinput"`, browser.Quote(image+long), 1)))
		report(t, srv, long)
		b.Until(`document.querySelectorAll(".card").length === 2 && document.querySelectorAll(".entry").length === 3`)
		require.Contains(t, b.Text(".card h4"), image)
		require.Contains(t, b.Text(".card .vendor"), "No web address: javascript:alert(1)")
		require.Contains(t, b.Text(".entry"), "Rejected")
		var markup int
		b.Eval(`document.querySelectorAll("img, main script, main b, a[href^='javascript:']").length`, &markup)
		require.Zero(t, markup)
		var turned []string // directions of what surrounds the names
		b.Eval(`[...document.querySelectorAll(".card .vendor bdi")].map((n) => getComputedStyle(n).unicodeBidi)`, &turned)
		require.Contains(t, turned, "isolate")
		b.Eval(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
		b.Until(`[...document.querySelectorAll("pre")].every((pre) => pre.textContent !== "Loading…")`)
		b.fits()
	}
}

// fits requires that nothing is wider than the window, nor a card than its place.
func (b *tab) fits() {
	b.t.Helper()
	var wide []string
	b.Eval(`[...document.querySelectorAll("body, main *")]
		.filter((n) => !n.closest(".unseen") && n.getBoundingClientRect().right > innerWidth + 0.5)
		.map((n) => n.tagName + "." + n.className + " " + n.getBoundingClientRect().right)`, &wide)
	require.Empty(b.t, wide)
	var widths []int
	b.Eval(`[document.documentElement.scrollWidth, innerWidth]`, &widths)
	require.LessOrEqual(b.t, widths[0], widths[1])
}

// full is a client with something of everything to look at.
func full(t *testing.T) *fakeserver.Server {
	srv := client(t, fakeserver.Options{})
	report(t, srv, list("1", headset(true), speaker, webcam))
	report(t, srv, list("2", noVendor))
	setFault(t, srv, "1*wrong-nonce")
	report(t, srv, strings.Replace(list("3", headset(true), speaker, webcam), `"args"`, `"extra":1,"args"`, 1))
	setFault(t, srv, "answer-late=1s")
	return srv
}

func TestFitsAndContrasts(t *testing.T) {
	t.Parallel()
	p := show(t, full(t))
	for _, width := range []int64{360, 768, 1080, 1440} {
		for _, scheme := range []string{"light", "dark"} {
			t.Run(fmt.Sprint(width, scheme), func(t *testing.T) {
				b := open(t, p, width, scheme)
				b.Until(`document.querySelectorAll(".card").length === 3 && document.querySelectorAll(".entry").length === 3`)
				b.Eval(`document.querySelectorAll("details").forEach((d) => { d.open = true; })`, nil)
				b.fits()
				var background string
				b.Eval(`getComputedStyle(document.body).backgroundColor`, &background)
				require.Equal(t, map[string]string{"light": "rgb(244, 245, 248)", "dark": "rgb(18, 20, 27)"}[scheme], background)
				var weak []string
				b.Eval(contrasts, &weak)
				require.Empty(t, weak, "WCAG AA wants 4.5 to 1")
			})
		}
	}
}

// contrasts finds every text whose colour is too near its background.
const contrasts = `(() => {
	const parse = (color) => color.match(/[\d.]+/g).map(Number);
	const luminance = ([r, g, b]) => [r, g, b]
		.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const behind = (node) => {
		for (; node; node = node.parentElement) {
			const color = parse(getComputedStyle(node).backgroundColor);
			if (color.length === 3 || color[3] === 1) return color;
			if (color[3] !== 0) throw new Error("half transparent: " + node.className);
		}
		throw new Error("no background");
	};
	const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const weak = [];
	let seen = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let text = walk.nextNode(); text; text = walk.nextNode()) {
		const node = text.parentElement;
		if (text.data.trim() === "" || node.closest(".unseen, noscript, [hidden]")) continue;
		seen++;
		const value = ratio(luminance(parse(getComputedStyle(node).color)), luminance(behind(node)));
		if (value < 4.5) weak.push(text.data.slice(0, 40) + ": " + value.toFixed(2));
	}
	for (const input of document.querySelectorAll("input")) {
		const value = ratio(luminance(parse(getComputedStyle(input).color)), luminance(behind(input)));
		if (value < 4.5) weak.push("input: " + value.toFixed(2));
	}
	return seen > 60 ? weak : ["only " + seen + " texts were looked at"];
})()`

func TestEveryControlIsReachedAndNamed(t *testing.T) {
	b := open(t, show(t, full(t)), 1440, "light")
	b.Until(`document.querySelectorAll(".card").length === 3 && document.querySelectorAll(".entry").length === 3`)
	const controls = `[...document.querySelectorAll("a, button, input, summary")].filter((n) => n.checkVisibility())`
	var total int
	b.Eval(controls+".length", &total)
	require.Greater(t, total, 30)

	b.Eval(`document.activeElement.blur(); window.reached = []`, nil)
	var order []float64
	for range total + 10 {
		b.Press(kb.Tab)
		var outlined bool
		b.Eval(`(() => {
			const n = document.activeElement;
			if (n === document.body) return true;
			window.reached.push(n);
			return getComputedStyle(n).outlineStyle !== "none" && parseFloat(getComputedStyle(n).outlineWidth) >= 2;
		})()`, &outlined)
		require.True(t, outlined, "the focus is visible")
	}
	var missed []string
	b.Eval(controls+`.filter((n) => !window.reached.includes(n)).map((n) => n.outerHTML)`, &missed)
	require.Empty(t, missed)
	b.Eval(`window.reached.slice(0, `+fmt.Sprint(total)+`).map((n) => [...document.querySelectorAll("*")].indexOf(n))`, &order)
	require.IsIncreasing(t, order, "the order of the document")

	named, roles := 0, b.Names()
	for _, role := range []string{"button", "link", "textbox", "DisclosureTriangle"} {
		require.NotContains(t, roles[role], "", role)
		named += len(roles[role])
	}
	require.GreaterOrEqual(t, named, total)
	for _, landmark := range []string{"banner", "main", "contentinfo"} {
		require.Len(t, roles[landmark], 1, landmark)
	}
	require.Subset(t, roles["region"], []string{"Client", "Controls", "Certified devices 3", "Timeline"})
	require.Contains(t, roles["button"], "squatter")
	require.Contains(t, roles["textbox"], "error: CODE[:MESSAGE]")
	var levels []int
	b.Eval(`[...document.querySelectorAll("h1, h2, h3, h4, h5")].map((h) => Number(h.tagName[1]))`, &levels)
	for i := 1; i < len(levels); i++ {
		require.LessOrEqual(t, levels[i], levels[i-1]+1, "no level of headings is left out")
	}
}
