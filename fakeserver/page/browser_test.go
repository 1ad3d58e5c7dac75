package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chromium is one browser for all tests of the package, started by the first.
var chromium shared

type shared struct {
	mu  sync.Mutex
	ctx context.Context // in which tabs are opened; nil before the start
	end []context.CancelFunc
}

func (b *shared) start(t *testing.T) context.Context {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx != nil {
		return b.ctx
	}
	path, err := findChromium()
	require.NoError(t, err)
	home, err := os.MkdirTemp("", "browser")
	require.NoError(t, err)
	b.end = append(b.end, func() { _ = os.RemoveAll(home) })
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(), // with a folder for its data that is removed at the end
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home,
			"DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(home, "no-bus"), "PULSE_SERVER=unix:"+filepath.Join(home, "no-sound")),
		chromedp.NoFirstRun,
		chromedp.NoSandbox, // root has none, and the browser only ever loads the page
		chromedp.DisableGPU,
		chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-color-profile", "srgb"),
	)
	ctx, endBrowser := chromedp.NewContext(alloc)
	b.end = append(b.end, endAlloc, endBrowser)
	require.NoError(t, chromedp.Do(ctx), "%s does not start", path)
	b.ctx = ctx
	return ctx
}

func (b *shared) close() {
	for _, end := range slices.Backward(b.end) {
		end()
	}
}

func findChromium() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the tests of the page need Chromium, which is missing: `make deps` installs it")
}

// A tab is one look at the page.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string // of the browser: errors, violations of the page's policy
	expected   string   // part of a complaint that is right
}

// open shows a page at a width, light or dark, and waits until it is live.
func open(t *testing.T, p *Page, width int64, scheme string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium.start(t), chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx)) // a tab must not be opened under a deadline
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx}
	t.Cleanup(b.content)
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	require.NoError(t, err)
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(p.URL()))
	b.until(`document.getElementById("live").textContent === "Live" && document.querySelector("h2").textContent !== ""`)
	return b
}

func (b *tab) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console.%s was called", e.Type))
	}
}

// content requires that the browser had nothing to complain about.
func (b *tab) content() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		assert.True(b.t, b.expected != "" && strings.Contains(complaint, b.expected), complaint)
	}
}

// expect excuses complaints that have a text in them.
func (b *tab) expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = text
}

func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// press presses keys, one after the other.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// eval evaluates an expression, or awaits it, into what a pointer points to; nil for nothing.
func (b *tab) eval(expression string, into any) {
	b.t.Helper()
	yes := true
	r, err := chromedp.Call(b.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, ReturnByValue: &yes, AwaitPromise: &yes})
	require.NoError(b.t, err, expression)
	if r.ExceptionDetails != nil {
		require.Fail(b.t, r.ExceptionDetails.Exception.Description, expression)
	}
	if into != nil {
		require.NoError(b.t, json.Unmarshal(r.Result.Value, into), expression)
	}
}

// until waits until an expression holds. It is looked at before each frame.
func (b *tab) until(expression string) {
	b.t.Helper()
	var seen string
	b.eval(fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		const look = () => {
			if (%s) done("");
			else if (Date.now() > end) done("it reads:\n" + document.body.innerText);
			else requestAnimationFrame(look);
		};
		look();
	})`, (patience/2).Milliseconds(), expression), &seen)
	require.Empty(b.t, seen, expression)
}

// text is what a person reads in the first element of a selector.
func (b *tab) text(selector string) (text string) {
	b.t.Helper()
	b.eval(fmt.Sprintf("document.querySelector(%s)?.innerText ?? '(none)'", quote(selector)), &text)
	return text
}

// shows waits until one of the elements of a selector has a text in it.
func (b *tab) shows(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("[...document.querySelectorAll(%s)].some((node) => node.innerText.includes(%s))", quote(selector), quote(text)))
}

// tabTo presses Tab until the element of a selector has the focus.
func (b *tab) tabTo(selector string) {
	b.t.Helper()
	for range 200 {
		b.press(kb.Tab)
		var there bool
		b.eval(fmt.Sprintf("document.activeElement.matches(%s)", quote(selector)), &there)
		if there {
			return
		}
	}
	require.Fail(b.t, "not reached by Tab", selector)
}

// quote writes a text as JSON and JavaScript do.
func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
