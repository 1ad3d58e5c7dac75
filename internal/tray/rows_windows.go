package tray

import (
	"context"
	"strings"
	"unicode/utf16"

	"fyne.io/systray"
)

// maxTip is how many UTF-16 units Windows shows of a tooltip.
const maxTip = 127

// row is a place in the menu, which is there as long as the tray.
type row struct {
	item     *systray.MenuItem // nil: it is a separator
	text     string
	children []row
}

// newRows makes the rows of a menu. One that can be chosen has a goroutine for that: the library drops a click that nobody waits for.
func newRows(ctx context.Context, items []Item, parent *systray.MenuItem, chosen func(Action)) []row {
	add, addSeparator := systray.AddMenuItem, systray.AddSeparator
	if parent != nil {
		add, addSeparator = parent.AddSubMenuItem, parent.AddSeparator
	}
	rows := make([]row, len(items))
	for i, it := range items {
		if it.Separator {
			addSeparator()
			continue
		}
		r := row{item: add(label(it.Text), ""), text: it.Text}
		r.children = newRows(ctx, it.Children, r.item, chosen) // before it is hidden: then it would get no menu of its own
		if it.Text == "" {
			r.item.Hide()
		}
		r.draw(it)
		if it.Action != "" {
			go clicks(ctx, r.item, func() { chosen(it.Action) })
		}
		rows[i] = r
	}
	return rows
}

// clicks waits for them. The channel is never closed: no row is removed.
func clicks(ctx context.Context, item *systray.MenuItem, chosen func()) {
	for {
		select {
		case <-item.ClickedCh:
			chosen()
		case <-ctx.Done():
			return
		}
	}
}

// draw applies what differs, and touches nothing else: so a menu that is open stays as it is. A hidden row is left alone, because each
// change shows it.
func (r *row) draw(next Item) {
	if r.item == nil {
		return
	}
	for i := range min(len(r.children), len(next.Children)) {
		r.children[i].draw(next.Children[i])
	}
	last := r.text
	r.text = next.Text
	if next.Text == "" {
		if last != "" {
			r.item.Hide()
		}
		return
	}
	if next.Text != last {
		r.item.SetTitle(label(next.Text))
	}
	switch {
	case next.Disabled == r.item.Disabled():
	case next.Disabled:
		r.item.Disable()
	default:
		r.item.Enable()
	}
	switch {
	case next.Check == nil || *next.Check == r.item.Checked():
	case *next.Check:
		r.item.Check()
	default:
		r.item.Uncheck()
	}
}

// label is a text in which no ampersand is taken for the mark of a key, nor a tab for that of a column.
func label(text string) string { return strings.NewReplacer("&", "&&", "\t", " ").Replace(text) }

// tip is as much of a text as Windows shows.
func tip(text string) string {
	limit := maxTip
	for len(utf16.Encode([]rune(text))) > maxTip {
		text = shorten(text, limit)
		limit--
	}
	return text
}
