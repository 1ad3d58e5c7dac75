package conform

import (
	"fmt"
	"go/doc/comment"
	"slices"
	"strings"
	"time"
)

// Widths of the columns of the table; with the blanks between them, 120.
const (
	wideSentence = 38
	wideGot      = 26
	wideSpec     = 22
	wideClient   = 31
)

// Text is the report as a table for a terminal, at most 120 columns wide.
func (r *Report) Text() string {
	var b strings.Builder
	row := func(cells ...string) {
		line := fmt.Sprintf("%-*s %-*s %-*s %s", wideSentence, cut(cells[0], wideSentence), wideGot, cut(cells[1], wideGot),
			wideSpec, cut(cells[2], wideSpec), cut(cells[3], wideClient))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	row("CHECK", "THIS SERVER", "SPECIFICATION", "REAL CLIENT")
	for _, g := range groups {
		checks := r.in(g)
		if len(checks) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n", heading(g, checks))
		if why, same := untried(checks); same {
			fmt.Fprintf(&b, "  %-*s not tried (%s)\n", wideSentence-2, fmt.Sprintf("all %d checks", len(checks)), why)
			continue
		}
		for _, c := range checks {
			if c.Got == "" {
				line := fmt.Sprintf("  %-*s not tried (%s)", wideSentence-2, c.Sentence, c.Why)
				b.WriteString(cut(line, 120) + "\n")
				continue
			}
			row("  "+c.Sentence, c.done(), c.Spec.short(), c.client(c.Client.short()))
		}
	}
	b.WriteString("\n" + r.Summary() + "\n" + cut("asked by "+r.asker(), 120) + "\n")
	for _, note := range r.Notes {
		b.WriteString("note: " + wrap(note, 114, "      ") + "\n")
	}
	return b.String()
}

func (r *Report) in(g Group) []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Group != g })
}

// untried reports whether none of the checks was tried, all for one reason.
func untried(checks []Check) (why string, same bool) {
	why = checks[0].Why
	return why, !slices.ContainsFunc(checks, func(c Check) bool { return c.Got != "" || c.Why != why })
}

// heading is the name of a group, with the transport of the payloads.
func heading(g Group, checks []Check) string {
	if g == InPayload && checks[0].Transport != "" {
		return fmt.Sprintf("%s, over %s", g, checks[0].Transport)
	}
	return string(g)
}

// done is what the server did, and how long it was silent.
func (c Check) done() string {
	if c.Got != "" && !(outcome{got: c.Got}).answered() {
		waited := time.Duration(c.WaitedMS) * time.Millisecond
		return fmt.Sprintf("%s in %.3gs", c.Got, waited.Seconds())
	}
	return c.Got
}

// client is the verdict on the real client, with the builds to which it applies.
func (c Check) client(verdict string) string {
	if c.Build == "" {
		return verdict
	}
	return verdict + ", " + c.Build
}

func (c Column) short() string {
	if c.Verdict == Differs {
		return "differs: " + strings.Join(c.Expects, "/")
	}
	return string(c.Verdict)
}

func cut(s string, width int) string {
	if len(s) > width {
		return s[:width-2] + ".."
	}
	return s
}

// wrap breaks a note into lines; all but the first are indented.
func wrap(note string, width int, indent string) string {
	lines := (&comment.Printer{TextWidth: width}).Text(new(comment.Parser).Parse(note))
	return strings.ReplaceAll(strings.TrimSpace(string(lines)), "\n", "\n"+indent)
}

// Markdown is the report as a document, with all that is known of each check.
func (r *Report) Markdown() string {
	var b strings.Builder
	mode := "quick run"
	if r.All {
		mode = "all checks"
	}
	server := joinNonEmpty(" and ", r.Target.URL, r.Target.IPC)
	fmt.Fprintf(&b, "# Conformance of %s\n\n%s, %s, client id %s. Asked by %s.\n\n**%s**\n", code(server),
		r.Began.UTC().Format(time.RFC3339), mode, code(r.Target.ClientID), code(r.asker()), r.Summary())
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\n> %s\n", note)
	}
	for _, g := range groups {
		checks := r.in(g)
		if len(checks) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n| id | check | this server | specification | real client |\n|---|---|---|---|---|\n", heading(g, checks))
		for _, c := range checks {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, c.Sentence, c.long(), c.Spec.long(), c.client(c.Client.long()))
		}
	}
	return b.String()
}

func (c Check) long() string {
	switch {
	case c.Got == "":
		return "not tried: " + c.Why
	case c.Detail != "":
		return c.done() + " (" + code(c.Detail) + ")"
	}
	return c.done()
}

func (c Column) long() string {
	if len(c.Expects) == 0 {
		return string(c.Verdict)
	}
	return fmt.Sprintf("%s: %s [%s]", c.Verdict, strings.Join(c.Expects, " or "), c.Basis)
}

func code(s string) string { return "`" + s + "`" }
