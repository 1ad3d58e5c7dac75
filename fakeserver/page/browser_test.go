package page

import (
	"testing"

	"sidetone/internal/testlab/browser"
)

// A tab is one look at the page.
type tab struct {
	*browser.Tab
	t *testing.T
}

// open shows a page at a width, light or dark, and waits until it is live.
func open(t *testing.T, p *Page, width int64, scheme string) *tab {
	t.Helper()
	b := &tab{browser.Open(t, p.URL(), width, scheme), t}
	b.Until(`document.getElementById("live").textContent === "Live" && document.querySelector("h2").textContent !== ""`)
	return b
}
