package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// count returns n with a noun: "1 product", "2 products".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// line prints one line, without control characters.
func line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, printable(fmt.Sprintf(format, args...)))
}

// newTable prints rows with cells that are separated by tabs.
func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// row prints one line of a table, without control characters or column separators.
func row(t *tabwriter.Writer, cells ...string) {
	for i, c := range cells {
		cells[i] = printable(c)
	}
	fmt.Fprintln(t, strings.Join(cells, "\t"))
}

// words are phrases in one language that several verbs use.
type words struct {
	health.Texts
	now time.Time
}

// because returns a reason as part of a sentence; "" if there is none.
func (w words) because(reason *control.Condition) string {
	if reason == nil {
		return ""
	}
	return w.Phrase(reason.Known())
}

// condition returns a condition and its remedy, each as a sentence.
func (w words) condition(c control.Condition) (message, remedy string) {
	if w.Lang() == texts.English || !w.Has(c.Code) {
		return c.Message, c.Remedy
	}
	return w.Message(c.Condition), w.Remedy(c.Condition)
}

// after returns a phrase preceded by what it is about.
func (w words) after(subject, phrase string) string {
	return w.Text("join.reason", texts.Args{"subject": subject, "phrase": phrase})
}

func (w words) age(since time.Time) string {
	return w.Text("cli.for", texts.Args{"age": age(since, w.now)})
}

// origin describes where the value of a flag comes from. hasSource: whether any source exists for it.
func (w words) origin(f devices.Flag, hasSource bool) string {
	switch {
	case f.Value.Known():
	case hasSource:
		return w.Text("cli.not_sent", nil)
	default:
		return w.Text("cli.not_sent.sourceless", nil)
	}
	says := []string{f.Origin.Say(w.Printer)}
	if !f.Since.IsZero() {
		says = append(says, w.age(f.Since))
	}
	return w.Join("join.words", says)
}

// pause says until when reporting is paused, and what clients see meanwhile.
func (w words) pause(p control.Pause) string {
	args := texts.Args{}
	if !p.Until.IsZero() {
		args["until"] = p.Until.Local().Format(time.DateTime)
	}
	if p.List == devices.PauseUnmuted {
		args["unmuted"] = "true"
	}
	return w.Text("cli.paused", args)
}
