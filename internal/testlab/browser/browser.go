// Package browser opens pages in a real headless browser, for tests.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Patience is a generous limit for what must happen, not a claim about speed.
const Patience = 60 * time.Second

// chromium starts one browser for all tests of a package, and returns the context in which tabs are opened.
var chromium = sync.OnceValues(func() (context.Context, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "browser")
	if err != nil {
		return nil, err
	}
	alloc, endAlloc := chromedp.NewExecAllocator(context.Background(), // with a folder for its data that is removed at the end
		chromedp.ExecPath(path),
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home,
			"DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(home, "no-bus"), "PULSE_SERVER=unix:"+filepath.Join(home, "no-sound")),
		chromedp.NoFirstRun,
		chromedp.NoSandbox, // root has none, and the browser only ever loads the test's pages
		chromedp.DisableGPU,
		chromedp.Flag("headless", "new"),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("hide-scrollbars", true),
	)
	ctx, endBrowser := chromedp.NewContext(alloc)
	end = func() {
		endBrowser()
		endAlloc()
		_ = os.RemoveAll(home)
	}
	return ctx, chromedp.Do(ctx)
})

var end = func() {}

// Close ends the browser, if one was started. It is for the end of TestMain.
func Close() { end() }

func find() (string, error) {
	const headlessShell = "chromium-headless-shell" // first: it takes half the time of the whole browser
	for _, name := range []string{headlessShell, "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("the tests of pages need Chromium, which is missing: `make deps` installs it")
}

// A Tab is a tab with one page.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu         sync.Mutex
	complaints []string // of the browser: errors, violations of the page's policy
	expected   string   // part of a complaint that is expected
	requests   []string // addresses
}

// Open opens a page at a width, light or dark. Any complaint by the browser fails the test at its end.
func Open(t testing.TB, url string, width int64, scheme string) *Tab {
	t.Helper()
	if goruntime.GOOS == "windows" {
		t.Skip("Wine has no browser, and pages are the same everywhere")
	}
	browser, err := chromium()
	require.NoError(t, err, "Chromium does not start")
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx)) // a tab must not be opened under a deadline
	ctx, cancel = context.WithTimeout(ctx, Patience)
	t.Cleanup(cancel)
	b := &Tab{t: t, ctx: ctx}
	t.Cleanup(b.requireNoComplaints)
	require.NoError(t, chromedp.Listen(ctx, b.handleEvent))
	_, err = chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	require.NoError(t, err)
	_, err = chromedp.Call(ctx, network.Enable, network.EnableParams{})
	require.NoError(t, err)
	b.Do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(url))
	return b
}

func (b *Tab) handleEvent(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.complaints = append(b.complaints, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.complaints = append(b.complaints, fmt.Sprintf("console.%s was called", e.Type))
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// requireNoComplaints fails the test if the browser had anything to complain about.
func (b *Tab) requireNoComplaints() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, complaint := range b.complaints {
		assert.True(b.t, b.expected != "" && strings.Contains(complaint, b.expected), complaint)
	}
}

// Expect tolerates complaints that contain a text.
func (b *Tab) Expect(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = text
}

// Requests returns the addresses of the page and all that it loads.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// Do performs actions of a user.
func (b *Tab) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// Resize changes the width of the window.
func (b *Tab) Resize(width int64) {
	b.t.Helper()
	b.Do(chromedp.EmulateViewport(width, 900))
}

// Print switches to the print media type.
func (b *Tab) Print() {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	require.NoError(b.t, err)
}

// Eval evaluates, and if necessary awaits, an expression, and unmarshals the result into the value that into points to, unless
// it is nil.
func (b *Tab) Eval(expression string, into any) {
	b.t.Helper()
	p := runtime.EvaluateParams{Expression: expression, ReturnByValue: new(true), AwaitPromise: new(true)}
	r, err := chromedp.Call(b.ctx, runtime.Evaluate, p)
	require.NoError(b.t, err, expression)
	if r.ExceptionDetails != nil {
		require.Fail(b.t, r.ExceptionDetails.Exception.Description, expression)
	}
	if into != nil {
		require.NoError(b.t, json.Unmarshal(r.Result.Value, into), expression)
	}
}

// Names returns what a screen reader gets: the names of all visible nodes, by role and in the order of the page.
func (b *Tab) Names() map[string][]string {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(b.t, err)
	text := func(v *accessibility.Value) (s string) {
		if v != nil {
			_ = json.Unmarshal(v.Value, &s) // not a text: it has none
		}
		return s
	}
	names := make(map[string][]string)
	for _, n := range r.Nodes {
		if !n.Ignored {
			names[text(n.Role)] = append(names[text(n.Role)], text(n.Name))
		}
	}
	return names
}

// Screenshot returns the whole page as a PNG.
func (b *Tab) Screenshot() []byte {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true)})
	require.NoError(b.t, err)
	return r.Data
}

// Press presses keys, one after the other.
func (b *Tab) Press(keys string) {
	b.t.Helper()
	b.Do(chromedp.KeyEvent(keys))
}

// Until waits until an expression is true, evaluating it before each frame.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	var seen string
	b.Eval(fmt.Sprintf(`new Promise((done) => {
		const end = Date.now() + %d;
		const look = () => {
			if (%s) done("");
			else if (Date.now() > end) done("it reads:\n" + document.body.innerText);
			else requestAnimationFrame(look);
		};
		look();
	})`, (Patience/2).Milliseconds(), expression), &seen)
	require.Empty(b.t, seen, expression)
}

// Text returns the visible text of the first element of a selector.
func (b *Tab) Text(selector string) (text string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf("document.querySelector(%s)?.innerText ?? '(none)'", Quote(selector)), &text)
	return text
}

// Shows waits until an element of a selector contains a text.
func (b *Tab) Shows(selector, text string) {
	b.t.Helper()
	b.Until(fmt.Sprintf("[...document.querySelectorAll(%s)].some((node) => node.innerText.includes(%s))", Quote(selector), Quote(text)))
}

// TabTo presses Tab until the element of a selector has the focus.
func (b *Tab) TabTo(selector string) {
	b.t.Helper()
	for range 200 {
		b.Press(kb.Tab)
		var there bool
		b.Eval(fmt.Sprintf("document.activeElement.matches(%s)", Quote(selector)), &there)
		if there {
			return
		}
	}
	require.Fail(b.t, "not reached by Tab", selector)
}

// Quote quotes a string as JSON and JavaScript do.
func Quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}
