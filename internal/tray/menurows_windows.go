package tray

import (
	"context"

	"fyne.io/systray"
)

// row is a place in the menu. It lives as long as the tray.
type row struct {
	item     *systray.MenuItem // nil: it is a separator
	text     string
	children []row
}

// newRows makes the rows of a menu. Each that can be chosen has a goroutine that waits for clicks, since the library drops a click that
// nobody waits for.
func newRows(ctx context.Context, items []item, parent *systray.MenuItem, chosen func(action)) []row {
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
		r.draw(it, false)
		if it.Action != "" {
			go clicks(ctx, r.item, func() { chosen(it.Action) })
		}
		rows[i] = r
	}
	return rows
}

// clicks calls chosen at each click. The channel is never closed, as no row is removed.
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

// draw applies what has changed and touches nothing else. In an open menu no row comes or goes: one that should vanish is disabled. It
// reports whether anything in such a menu has changed. A hidden row is left alone, since every change would show it.
func (r *row) draw(next item, open bool) (changed bool) {
	if r.item == nil {
		return false
	}
	for i := range min(len(r.children), len(next.Children)) {
		changed = r.children[i].draw(next.Children[i], open) || changed
	}
	last := r.text
	switch {
	case open && last == "", last == "" && next.Text == "":
		return changed
	case open && next.Text == "":
		next = item{Text: last, Disabled: true}
	case next.Text == "":
		r.item.Hide()
	}
	r.text = next.Text
	if r.text == "" {
		return false
	}
	if next.Text != last {
		r.item.SetTitle(label(next.Text))
		changed = true
	}
	if next.Disabled != r.item.Disabled() {
		set(next.Disabled, r.item.Disable, r.item.Enable)
		changed = true
	}
	if next.Check != nil && *next.Check != r.item.Checked() {
		set(*next.Check, r.item.Check, r.item.Uncheck)
		changed = true
	}
	return changed
}

func set(on bool, yes, no func()) {
	if on {
		yes()
	} else {
		no()
	}
}

// offers reports whether an action can be chosen.
func offers(items []item, a action) (is bool) {
	for _, it := range items {
		is = is || it.Action == a && it.Text != "" && !it.Disabled || offers(it.Children, a)
	}
	return is
}
