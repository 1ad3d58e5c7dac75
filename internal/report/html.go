package report

import (
	"bytes"
	_ "embed" // the style
	"strconv"
	"strings"
	"time"
)

// The page is written by a few functions and not by html/template, which would cost the program 2.5 MB. Texts from outside get into two
// contexts only, text and quoted attributes, and only through functions that escape them.

//go:embed style.css
var style string

// Mark is near the beginning of each page: a file that has it may be overwritten by the next one.
const Mark = `<meta name="generator" content="sidetone report">`

// policy forbids the page everything but its own style.
const policy = "default-src 'none'; style-src 'unsafe-inline'"

// writer writes elements.
type writer struct{ bytes.Buffer }

// attrs are alternating names and values. An attribute with an empty value is left out.
type attrs []string

// start writes the start tag of an element. Names are constants.
func (w *writer) start(name string, a attrs) {
	w.WriteByte('<')
	w.WriteString(name)
	for i := 0; i < len(a); i += 2 {
		if a[i+1] != "" {
			w.WriteString(" " + a[i] + `="` + escape(a[i+1]) + `"`)
		}
	}
	w.WriteByte('>')
}

func (w *writer) end(name string) { w.WriteString("</" + name + ">") }

func (w *writer) text(s string) { w.WriteString(escape(s)) }

// element writes an element, whose content inside writes.
func (w *writer) element(name string, a attrs, inside func()) {
	w.start(name, a)
	inside()
	w.end(name)
}

// leaf writes an element that contains only text.
func (w *writer) leaf(name string, a attrs, text string) {
	w.element(name, a, func() { w.text(text) })
}

// escaped replaces what has a meaning in text or a quoted attribute. The package html would do the same, with 45 kB of entities.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", "\uFFFD")

func escape(s string) string { return escaped.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

func class(name string) attrs { return attrs{"class", name} }

// HTML returns the page as a file.
func (p Page) HTML() []byte {
	w := new(writer)
	w.WriteString("<!doctype html>\n")
	direction := "ltr"
	if p.RightLeft {
		direction = "rtl"
	}
	w.start("html", attrs{"lang", p.Lang, "dir", direction})
	w.WriteString(`<head><meta charset="utf-8">` + Mark)
	w.start("meta", attrs{"http-equiv", "Content-Security-Policy", "content", policy})
	w.start("meta", attrs{"name", "viewport", "content", "width=device-width, initial-scale=1"})
	w.start("meta", attrs{"name", "color-scheme", "content", "light dark"})
	w.start("meta", attrs{"name", "referrer", "content", "no-referrer"})
	w.leaf("title", nil, p.Title)
	w.WriteString("<style>" + style + "</style></head>\n")
	w.element("body", nil, func() {
		w.element("header", nil, func() { p.head(w) })
		w.element("main", nil, func() {
			section(w, "conditions", p.Conditions, func(c Condition) { p.condition(w, c) })
			section(w, "devices", p.Devices, func(d Product) { p.product(w, d) })
			section(w, "clients", p.Clients, func(c Client) { p.client(w, c) })
			w.element("section", attrs{"aria-labelledby", "timeline"}, func() { p.Timeline.write(w, p.Label) })
		})
		w.element("footer", nil, func() { w.leaf("p", nil, p.Private) })
	})
	w.end("html")
	w.WriteByte('\n')
	return w.Bytes()
}

func (p Page) head(w *writer) {
	w.leaf("h1", nil, p.Title)
	w.element("p", class("facts"), func() {
		for _, f := range p.Facts {
			w.leaf("span", nil, f)
			w.text(" ")
		}
	})
}

// section writes a heading, and a list or that it is empty.
func section[T any](w *writer, id string, s Section[T], item func(T)) {
	w.element("section", attrs{"aria-labelledby", id, "class", id}, func() {
		w.leaf("h2", attrs{"id", id}, s.Heading)
		if len(s.List) == 0 {
			w.leaf("p", class("none"), s.None)
			return
		}
		for _, v := range s.List {
			item(v)
			w.text("\n")
		}
	})
}

func (p Page) condition(w *writer, c Condition) {
	w.element("article", class("card condition "+c.Severity), func() {
		w.element("p", nil, func() {
			w.leaf("strong", class("pill"), c.Word)
			w.text(" " + c.Message)
		})
		if c.Remedy != "" {
			w.element("p", class("remedy"), func() {
				w.leaf("b", nil, p.Label.Remedy)
				w.text(" " + c.Remedy)
			})
		}
	})
}

func (p Page) product(w *writer, d Product) {
	w.element("article", class("card"), func() {
		w.element("h3", nil, func() { w.leaf("bdi", nil, d.Name) })
		for _, part := range d.Devices {
			w.element("p", class("device"), func() {
				w.leaf("span", nil, part.Type)
				w.text(" ")
				w.element("small", nil, func() { w.leaf("bdi", class("code"), part.ID) })
			})
			if len(part.Flags) > 0 {
				p.flags(w, part.Flags)
			}
		}
	})
}

func (p Page) flags(w *writer, flags []Flag) {
	table(w, "flags", []string{p.Label.Flag, p.Label.Value, p.Label.Origin, p.Label.Since}, func(row func(cells ...func())) {
		for _, f := range flags {
			row(
				func() { w.text(f.Name) },
				func() { w.value(f.Value) },
				func() { w.origin(f.Origin) },
				func() { w.time(f.Since) },
			)
		}
	})
}

// table writes a table whose cells carry their headings, for screens without room for columns. Roles are explicit, since browsers may
// drop those of a table that is not displayed as one.
func table(w *writer, name string, heads []string, rows func(row func(cells ...func()))) {
	w.element("table", attrs{"role", "table", "class", name}, func() {
		w.element("thead", attrs{"role", "rowgroup"}, func() {
			w.element("tr", attrs{"role", "row"}, func() {
				for _, h := range heads {
					w.leaf("th", attrs{"role", "columnheader", "scope", "col"}, h)
				}
			})
		})
		w.element("tbody", attrs{"role", "rowgroup"}, func() {
			rows(func(cells ...func()) {
				w.element("tr", attrs{"role", "row"}, func() {
					for i, cell := range cells {
						w.element("td", attrs{"role", "cell", "data-label", heads[i]}, func() { w.element("span", nil, cell) })
					}
				})
			})
		})
	})
}

func (w *writer) value(v Value) {
	w.element("span", class("value"), func() {
		if v.Look != lookNone {
			w.swatch(v.Look)
			w.text(" ")
		}
		w.text(v.Text)
	})
}

// swatch draws a value as it looks in the chart.
func (w *writer) swatch(l Look) {
	w.element("svg", attrs{"class", "swatch", "width", "22", "height", "14", "aria-hidden", "true"}, func() { w.bar(l, "0", "22", "") })
}

// bar draws a part of a lane.
func (w *writer) bar(l Look, x, width, title string) {
	top, height := "1", "12"
	if l == LookOff {
		top, height = "8", "5"
	}
	w.element("rect", attrs{"class", string(l), "x", x, "y", top, "width", width, "height", height}, func() {
		if title != "" {
			w.leaf("title", nil, title)
		}
	})
}

func (w *writer) origin(o Origin) {
	w.text(o.Text)
	if o.Detail != "" {
		w.text(" ")
		w.element("small", nil, func() { w.leaf("bdi", class("code"), o.Detail) })
	}
}

func (w *writer) time(t Time) {
	if t.Text == "" {
		w.text("–")
		return
	}
	w.leaf("time", attrs{"datetime", t.At.Format(time.RFC3339Nano)}, t.Text)
}

func (p Page) client(w *writer, c Client) {
	w.element("article", class("card"), func() {
		w.element("h3", nil, func() {
			w.leaf("bdi", nil, c.Name)
			w.text(" ")
			w.value(c.State)
		})
		w.element("dl", nil, func() {
			for _, fact := range []struct{ label, text, more, class string }{
				{p.Label.Transport, c.Transport, c.Place, ""},
				{p.Label.Process, c.Process, "", ""},
				{p.Label.Delivered, c.Delivered, "", ""},
				{p.Label.Error, c.Error, "", "wide"},
				{p.Label.Remedy, c.Remedy, "", "wide"},
			} {
				if fact.text != "" || fact.more != "" {
					w.element("div", class(fact.class), func() {
						w.leaf("dt", nil, fact.label)
						w.element("dd", nil, func() { w.origin(Origin{fact.text, fact.more}) })
					})
				}
			}
		})
	})
}

func (t Timeline) write(w *writer, label Labels) {
	w.leaf("h2", attrs{"id", "timeline"}, t.Heading)
	if len(t.Rows) == 0 {
		w.leaf("p", class("none"), t.None)
		return
	}
	w.element("div", class("card chart"), func() { t.chart(w) })
	w.leaf("h3", nil, t.TableHeading)
	w.element("div", class("card"), func() {
		table(w, "changes", []string{label.Time, label.Subject, label.Change, label.Origin}, func(row func(cells ...func())) {
			for _, r := range t.Rows {
				row(
					func() { w.time(r.Time) },
					func() { w.text(r.Subject) },
					func() { w.value(Value{r.Look, r.Change}) },
					func() { w.origin(r.Origin) },
				)
				w.text("\n")
			}
		})
		for _, note := range []string{t.Older, t.Omitted} {
			if note != "" {
				w.leaf("p", class("none"), note)
			}
		}
	})
}

// chart draws the lanes. The table contains the same information.
func (t Timeline) chart(w *writer) {
	w.WriteString(patterns)
	w.leaf("p", class("range"), t.Range)
	w.element("p", class("legend"), func() {
		for _, v := range t.Legend {
			w.value(v)
			w.text(" ")
		}
	})
	for _, g := range t.Groups {
		w.element("div", class("group"), func() {
			if g.Name != "" {
				w.element("p", class("name"), func() { w.leaf("bdi", nil, g.Name) })
			}
			for _, l := range g.Lanes {
				w.element("div", class(l.class()), func() {
					w.leaf("span", class("label"), l.Label)
					w.element("svg", attrs{"width", "100%", "height", "14", "aria-hidden", "true", "dir", "ltr"}, func() {
						for _, s := range l.Segments {
							w.bar(s.Look, percent(s.From), percent(s.Width), s.Text)
						}
					})
				})
			}
		})
	}
	w.element("div", attrs{"class", "lane axis", "aria-hidden", "true"}, func() {
		w.leaf("span", class("label"), "")
		w.element("svg", attrs{"width", "100%", "height", "20", "dir", "ltr"}, func() {
			for i, tick := range t.Ticks {
				x := percent(tick.At)
				w.element("line", attrs{"x1", x, "x2", x, "y1", "0", "y2", "4"}, func() {})
				kind := "tick"
				if i%2 == 1 {
					kind += " odd"
				}
				w.leaf("text", attrs{"class", kind, "x", x, "y", "16", "text-anchor", "middle"}, tick.Text)
			}
		})
	})
}

func (l Lane) class() string {
	switch {
	case l.Sub:
		return "lane sub"
	case l.Sentence:
		return "lane sentence"
	default:
		return "lane"
	}
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "%" }

// patterns fill segments that are neither on nor off.
var patterns = `<svg width="0" height="0" aria-hidden="true" class="defs"><defs>` +
	pattern("hatched", "back", "stripe", 6, 45) + pattern("striped", "back", "dense", 4, 0) + pattern("crossed", "crossing", "gap", 8, -45) +
	`</defs></svg>`

// pattern returns lines of one class on a ground of another.
func pattern(id, ground, line string, distance, turned int) string {
	size := `width="` + strconv.Itoa(distance) + `" height="12"`
	return `<pattern id="` + id + `" ` + size + ` patternUnits="userSpaceOnUse" patternTransform="rotate(` + strconv.Itoa(turned) + `)">` +
		`<rect class="` + ground + `" ` + size + `/><rect class="` + line + `" width="2" height="12"/></pattern>`
}
