//go:build linux || windows

package main

import (
	"cmp"
	"fmt"
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
	b.WriteString("\n## Machine\n\n")
	for _, line := range machine {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	fmt.Fprintf(&b, "\n## Commands\n\n```\n%-*s # all of it, writes this file\n", len(oneMeasurement)+11, target)
	for _, m := range measurements {
		fmt.Fprintf(&b, "%s%-11s # %s\n", oneMeasurement, m.name, m.what)
	}
	b.WriteString(goBenchmarks)
	b.WriteString("\n## Figures\n\n")
	b.WriteString(table(rows))
	b.WriteString(remarks(rows))
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

// remarks are the notes, each once, and the missed targets.
func remarks(rows []row) string {
	var b strings.Builder
	seen := make(map[string]bool)
	missed := ""
	for _, r := range rows {
		if r.note != "" && !seen[r.note] {
			seen[r.note] = true
			fmt.Fprintf(&b, "- %s\n", r.note)
		}
		if r.verdict() == "missed" {
			missed += fmt.Sprintf("- %s: %s, target %s.\n", r.figure, r.measured, r.target)
		}
	}
	text := ""
	if b.Len() > 0 {
		text = "\n## How to read them\n\n" + b.String()
	}
	if missed != "" {
		text += "\n## Missed targets\n\n" + missed
	}
	return text
}
