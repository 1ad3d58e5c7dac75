package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"sidetone/internal/hid/learn"
)

// printResult prints rules that can be pasted into a catalogue. All but the best one are comments.
func printResult(w io.Writer, l learn.Result) {
	fmt.Fprintf(w, "# %s, %s:%s\n", printable(cmp.Or(l.Device.Name, "HID device")), l.Device.VID, l.Device.PID)
	for i, p := range l.Proposals {
		if i == 0 {
			fmt.Fprintf(w, "# a product with this link: %s\n", p.LinkYAML())
		}
		fmt.Fprintf(w, "#\n# %d. %s; %s seen\n", i+1, printable(p.Why), count(p.Reports, "report"))
		fmt.Fprintf(w, "#    checked against the recording: right at %d of %d marks%s\n", p.Right, p.Marks, unknownBefore(p))
		for _, d := range p.Doubts {
			fmt.Fprintf(w, "#    make sure: %s\n", printable(d))
		}
		if i == 0 {
			fmt.Fprint(w, p.YAML())
			continue
		}
		for line := range strings.Lines(p.YAML()) {
			fmt.Fprint(w, "#", line)
		}
	}
	if len(l.Notes) > 0 {
		fmt.Fprintln(w, "#")
	}
	for _, n := range l.Notes {
		fmt.Fprintf(w, "# note: %s\n", printable(n))
	}
	if len(l.Proposals) == 0 {
		fmt.Fprint(w, "#\n# No rule was found: nothing that came follows the marks.\n")
		for _, s := range l.Summaries {
			printSummary(w, s)
		}
	}
}

func unknownBefore(p learn.Proposal) string {
	if p.Right == p.Marks {
		return ""
	}
	return fmt.Sprintf("; unknown at the %d before its first report", p.Marks-p.Right)
}

// printSummary prints reports below each other, with marks under the bytes that differ from the previous one.
func printSummary(w io.Writer, s learn.ReportSummary) {
	fmt.Fprintf(w, "#\n# %s", s.Device.Node)
	if s.Device.Interface >= 0 {
		fmt.Fprintf(w, ", interface %d", s.Device.Interface)
	}
	if s.ID != nil {
		fmt.Fprintf(w, ", report 0x%02x", int(*s.ID))
	}
	fmt.Fprintf(w, ": %s\n", count(s.Reports, "report"))
	var before []byte
	for _, p := range s.Phases {
		name := string(p.Mark)
		if len(p.Reports) == 0 {
			fmt.Fprintf(w, "#   %-10s nothing\n", name)
		}
		if p.More > 0 {
			fmt.Fprintf(w, "#   %-10s %s earlier\n", name, count(p.More, "different one"))
			name = ""
		}
		for _, r := range p.Reports {
			fmt.Fprintf(w, "#   %-10s % x%s\n", name, []byte(r.Data), times(r.Times))
			if signs := differences(before, r.Data); signs != "" {
				fmt.Fprintf(w, "#   %-10s %s\n", "", signs)
			}
			before, name = r.Data, ""
		}
	}
}

func times(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("  %d times", n)
}

// differences returns a line with ^^ under each byte of b that differs from a.
func differences(a, b []byte) string {
	if a == nil {
		return ""
	}
	var signs strings.Builder
	for i, v := range b {
		if i < len(a) && a[i] == v {
			signs.WriteString("   ")
		} else {
			signs.WriteString("^^ ")
		}
	}
	return strings.TrimRight(signs.String(), " ")
}
