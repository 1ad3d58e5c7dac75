package report

import (
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

// markup is a part of the page: what comes from outside is escaped in it.
type markup string

// attrs are alternating names and values. An attribute with an empty value is left out.
type attrs []string

func class(name string) attrs { return attrs{"class", name} }

// start returns the start tag of an element. Names are constants.
func start(name string, a attrs) markup {
	tag := "<" + name
	for i := 0; i < len(a); i += 2 {
		if a[i+1] != "" {
			tag += " " + a[i] + `="` + escape(a[i+1]) + `"`
		}
	}
	return markup(tag + ">")
}

func element(name string, a attrs, inside ...markup) markup {
	return start(name, a) + join(inside, func(m markup) markup { return m }) + markup("</"+name+">")
}

// leaf returns an element that contains only text.
func leaf(name string, a attrs, s string) markup { return element(name, a, text(s)) }

// join returns the markup of all items of a list.
func join[T any](list []T, item func(T) markup) markup {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(string(item(v)))
	}
	return markup(b.String())
}

// when returns a part of the page that not every page has.
func when(there bool, part markup) markup {
	if there {
		return part
	}
	return ""
}

func text(s string) markup { return markup(escape(s)) }

// escaped replaces what has a meaning in text or a quoted attribute. The package html would do the same, with 45 kB of entities.
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\x00", "\uFFFD")

func escape(s string) string { return escaped.Replace(strings.ToValidUTF8(s, "\uFFFD")) }

// HTML returns the page as a file.
func (p Page) HTML() []byte {
	direction := "ltr"
	if p.RightLeft {
		direction = "rtl"
	}
	return []byte("<!doctype html>\n" + element("html", attrs{"lang", p.Lang, "dir", direction},
		`<head><meta charset="utf-8">`+Mark,
		start("meta", attrs{"http-equiv", "Content-Security-Policy", "content", policy}),
		start("meta", attrs{"name", "viewport", "content", "width=device-width, initial-scale=1"}),
		start("meta", attrs{"name", "color-scheme", "content", "light dark"}),
		start("meta", attrs{"name", "referrer", "content", "no-referrer"}),
		leaf("title", nil, p.Title),
		"<style>"+markup(style)+"</style></head>\n",
		element("body", nil,
			element("header", nil,
				leaf("h1", nil, p.Title),
				element("p", class("facts"), join(p.Facts, func(f string) markup { return leaf("span", nil, f) + " " })),
			),
			element("main", nil,
				section("conditions", p.Conditions, p.condition),
				section("devices", p.Devices, p.product),
				section("clients", p.Clients, p.client),
				element("section", attrs{"aria-labelledby", "timeline"}, p.Timeline.markup(p.Label)),
			),
			element("footer", nil, leaf("p", nil, p.Private)),
		),
	) + "\n")
}

// section returns a heading, and a list or that it is empty.
func section[T any](id string, s Section[T], item func(T) markup) markup {
	list := leaf("p", class("none"), s.None)
	if len(s.List) > 0 {
		list = join(s.List, func(v T) markup { return item(v) + "\n" })
	}
	return element("section", attrs{"aria-labelledby", id, "class", id}, leaf("h2", attrs{"id", id}, s.Heading), list)
}

func (p Page) condition(c Condition) markup {
	return element("article", class("card condition "+c.Severity),
		element("p", nil, leaf("strong", class("pill"), c.Word), text(" "+c.Message)),
		when(c.Remedy != "", element("p", class("remedy"), leaf("b", nil, p.Label.Remedy), text(" "+c.Remedy))),
	)
}

func (p Page) product(d Product) markup {
	return element("article", class("card"), element("h3", nil, leaf("bdi", nil, d.Name)), join(d.Devices, func(part Device) markup {
		device := element("p", class("device"), leaf("span", nil, part.Type), " ", code(part.ID))
		if len(part.Flags) == 0 {
			return device
		}
		var rows [][]markup
		for _, f := range part.Flags {
			rows = append(rows, []markup{text(f.Name), f.Value.markup(), f.Origin.markup(), f.Since.markup()})
		}
		return device + table("flags", []string{p.Label.Flag, p.Label.Value, p.Label.Origin, p.Label.Since}, rows)
	}))
}

// code returns a name that a machine gave.
func code(name string) markup { return element("small", nil, leaf("bdi", class("code"), name)) }

// table returns a table whose cells carry their headings, for screens without room for columns. Roles are explicit, since browsers may
// drop those of a table that is not displayed as one.
func table(name string, heads []string, rows [][]markup) markup {
	return element("table", attrs{"role", "table", "class", name},
		element("thead", attrs{"role", "rowgroup"}, element("tr", attrs{"role", "row"}, join(heads, func(h string) markup {
			return leaf("th", attrs{"role", "columnheader", "scope", "col"}, h)
		}))),
		element("tbody", attrs{"role", "rowgroup"}, join(rows, func(cells []markup) markup {
			var row markup
			for i, cell := range cells {
				row += element("td", attrs{"role", "cell", "data-label", heads[i]}, element("span", nil, cell))
			}
			return element("tr", attrs{"role", "row"}, row) + "\n"
		})),
	)
}

// markup shows a value as it looks in the chart, and in words.
func (v Value) markup() markup {
	swatch := element("svg", attrs{"class", "swatch", "width", "22", "height", "14", "aria-hidden", "true"}, bar(v.Look, "0", "22", ""))
	return element("span", class("value"), when(v.Look != lookNone, swatch+" "), text(v.Text))
}

// bar draws a part of a lane.
func bar(l Look, x, width, title string) markup {
	top, height := "1", "12"
	if l == LookOff {
		top, height = "8", "5"
	}
	place := attrs{"class", string(l), "x", x, "y", top, "width", width, "height", height}
	return element("rect", place, when(title != "", leaf("title", nil, title)))
}

func (o Origin) markup() markup {
	if o.Detail == "" {
		return text(o.Text)
	}
	return text(o.Text+" ") + code(o.Detail)
}

func (t Time) markup() markup {
	if t.Text == "" {
		return "–"
	}
	return leaf("time", attrs{"datetime", t.At.Format(time.RFC3339Nano)}, t.Text)
}

func (p Page) client(c Client) markup {
	var facts markup
	for _, fact := range []struct{ label, text, more, class string }{
		{p.Label.Transport, c.Transport, c.Place, ""},
		{p.Label.Process, c.Process, "", ""},
		{p.Label.Delivered, c.Delivered, "", ""},
		{p.Label.Error, c.Error, "", "wide"},
		{p.Label.Remedy, c.Remedy, "", "wide"},
	} {
		if fact.text != "" || fact.more != "" {
			facts += element("div", class(fact.class), leaf("dt", nil, fact.label), element("dd", nil, Origin{fact.text, fact.more}.markup()))
		}
	}
	return element("article", class("card"),
		element("h3", nil, leaf("bdi", nil, c.Name), " ", c.State.markup()),
		element("dl", nil, facts),
	)
}

func (t Timeline) markup(label Labels) markup {
	heading := leaf("h2", attrs{"id", "timeline"}, t.Heading)
	if len(t.Rows) == 0 {
		return heading + leaf("p", class("none"), t.None)
	}
	var rows [][]markup
	for _, r := range t.Rows {
		rows = append(rows, []markup{r.Time.markup(), text(r.Subject), Value{r.Look, r.Change}.markup(), r.Origin.markup()})
	}
	changes := table("changes", []string{label.Time, label.Subject, label.Change, label.Origin}, rows)
	changes += join([]string{t.Older, t.Omitted}, func(note string) markup { return when(note != "", leaf("p", class("none"), note)) })
	return heading + element("div", class("card chart"), t.chart()) + leaf("h3", nil, t.TableHeading) + element("div", class("card"), changes)
}

// chart draws the lanes. The table contains the same information.
func (t Timeline) chart() markup {
	var ticks markup
	for i, tick := range t.Ticks {
		x, kind := percent(tick.At), "tick"
		if i%2 == 1 {
			kind += " odd"
		}
		ticks += element("line", attrs{"x1", x, "x2", x, "y1", "0", "y2", "4"}) +
			leaf("text", attrs{"class", kind, "x", x, "y", "16", "text-anchor", "middle"}, tick.Text)
	}
	return patterns + leaf("p", class("range"), t.Range) +
		element("p", class("legend"), join(t.Legend, func(v Value) markup { return v.markup() + " " })) +
		join(t.Groups, Group.markup) +
		element("div", attrs{"class", "lane axis", "aria-hidden", "true"},
			leaf("span", class("label"), ""),
			element("svg", attrs{"width", "100%", "height", "20", "dir", "ltr"}, ticks),
		)
}

func (g Group) markup() markup {
	name := element("p", class("name"), leaf("bdi", nil, g.Name))
	return element("div", class("group"), when(g.Name != "", name), join(g.Lanes, Lane.markup))
}

func (l Lane) markup() markup {
	kind := "lane"
	switch {
	case l.Sub:
		kind = "lane sub"
	case l.Sentence:
		kind = "lane sentence"
	}
	return element("div", class(kind),
		leaf("span", class("label"), l.Label),
		element("svg", attrs{"width", "100%", "height", "14", "aria-hidden", "true", "dir", "ltr"}, join(l.Segments, func(s Segment) markup {
			return bar(s.Look, percent(s.From), percent(s.Width), s.Text)
		})),
	)
}

func percent(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "%" }

// patterns fill segments that are neither on nor off.
var patterns markup = `<svg width="0" height="0" aria-hidden="true" class="defs"><defs>` +
	pattern("hatched", "back", "stripe", 6, 45) + pattern("striped", "back", "dense", 4, 0) + pattern("crossed", "crossing", "gap", 8, -45) +
	`</defs></svg>`

// pattern returns lines of one class on a ground of another.
func pattern(id, ground, line string, distance, turned int) markup {
	size := `width="` + strconv.Itoa(distance) + `" height="12"`
	return markup(`<pattern id="` + id + `" ` + size +
		` patternUnits="userSpaceOnUse" patternTransform="rotate(` + strconv.Itoa(turned) + `)">` +
		`<rect class="` + ground + `" ` + size + `/><rect class="` + line + `" width="2" height="12"/></pattern>`)
}
