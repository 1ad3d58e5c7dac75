//go:build linux || windows

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

type row struct {
	figure   string
	measured string
	baseline string
	ratio    string
	target   string // empty: none, the figure is only for information
	met      bool
	note     string // what a reader must know to read the row
}

func (r row) verdict() string {
	switch {
	case r.target == "":
		return "no target"
	case r.met:
		return "met"
	}
	return "missed"
}

func report(rows []row, machine []string) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString(section("Machine", machine))
	fmt.Fprintf(&b, "\n## Commands\n\n```\n%-*s # all of it, writes this file\n", len(oneMeasurement)+11, target)
	for _, m := range measurements {
		fmt.Fprintf(&b, "%s%-11s # %s\n", oneMeasurement, m.name, m.what)
	}
	b.WriteString(goBenchmarks)
	b.WriteString("\n## Figures\n\n")
	b.WriteString(table(rows))
	var notes, missed []string
	for _, r := range rows {
		if r.note != "" && !slices.Contains(notes, r.note) {
			notes = append(notes, r.note)
		}
		if r.verdict() == "missed" {
			missed = append(missed, fmt.Sprintf("%s: %s, target %s.", r.figure, r.measured, r.target))
		}
	}
	b.WriteString(section("How to read them", notes) + section("Missed targets", missed))
	return b.String()
}

func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| figure | measured | baseline | ratio | target | met |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		met := map[string]string{"met": "yes", "missed": "**no**"}[r.verdict()]
		b.WriteString("|")
		for _, cell := range []string{r.figure, r.measured, r.baseline, r.ratio, r.target, met} {
			fmt.Fprintf(&b, " %s |", cmp.Or(cell, "–"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// section is a heading and a list, or nothing if the list is empty.
func section(title string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "\n## " + title + "\n\n- " + strings.Join(items, "\n- ") + "\n"
}
