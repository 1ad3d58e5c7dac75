//go:build linux

package main

import (
	"cmp"
	"fmt"
	"strings"
)

// row is one line of the table.
type row struct {
	figure   string
	measured string
	baseline string
	ratio    string
	target   string // empty: none, the figure is there for honesty
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

const preamble = `# Results of make bench

Written by ` + "`make bench`" + `. The agent is the real program in a process of its own, the sound servers are
real and private, the client is ` + "`fakeserver`" + `. Every figure stands beside a baseline that was measured in
the same run on the same machine: the absolute figures are this machine's, the ratios are the claim.

The *bare path* is the least that could do the job: a process that reads the one source when the sound
server says that it has changed, and writes one message of the agent's size, prepared beforehand, on a
connection on which the client has said READY. It has no catalogue, no model, no state, no pacing, and waits
for no answer (but over HTTP, where the next request has to wait for it).

Where no transport is named, the client has an IPC socket and a port, as the desktop client has, and agent
and bare path use the socket.
`

const goBenchmarks = "```" + `

What needs no process beside it is a Go benchmark. Its target:

` + "```" + `
go test -run '^$' -bench Scan -benchtime 100x ./internal/rpcclient   # eleven ports: at most 10 connects; black holes are not waited for
go test -run '^$' -bench Replay ./internal/engine                    # at least 1000 times as fast as it happened
go test -run '^$' -bench Push ./internal/engine                      # ten times the endpoints: at most 13 times as long
go test -run '^$' -bench ResolveDiff ./internal/devices              # 100 × 100: at most 1 ms; ten times as much: at most 13 times as long
` + "```\n"

func report(rows []row, machine []string) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("\n## Machine\n\n")
	for _, line := range machine {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	b.WriteString("\n## Commands\n\n```\nmake bench                       # all of it, writes this file\n")
	for _, m := range scenes {
		fmt.Fprintf(&b, "go run ./bench -only %-11s # %s\n", m.name, m.what)
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
