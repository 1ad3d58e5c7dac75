package scenario

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Markdown writes the report for people: a table of all steps, then the details of those that
// failed.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", plain(r.Name), plain(r.String()))
	fmt.Fprintf(&b, "File %s, begun %s.\n\n", plain(r.File), r.Began.Format("2006-01-02 15:04:05 -0700"))
	if r.System != "" {
		fmt.Fprintf(&b, "By fakeserver %s on %s.\n\n", plain(r.Version), plain(strings.TrimPrefix(r.Host+", "+r.System, ", ")))
	}
	b.WriteString("| # | step | result | time | expected | seen |\n|---|---|---|---|---|---|\n")
	for i, result := range r.Results {
		status := string(result.Status)
		if result.Status == Failed {
			status = "**FAILED**"
		}
		fmt.Fprintf(&b, "| %d%s | %s | %s | %s | %s | %s |\n", i+1, r.roundMark(i),
			plain(result.Title), status, result.time(), plain(result.Expected), plain(result.Seen))
	}
	for i, result := range r.Results {
		if result.Status == Failed {
			fmt.Fprintf(&b, "\n## Failed: %d, line %d, %s\n\n", i+1, result.Line, plain(result.Title))
			writeCode(&b, result.details())
		}
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		writeCode(&b, strings.Join(r.Notes, "\n"))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("write the Markdown report: %w", err)
	}
	return nil
}

// roundMark names the round where it changes, if there are several.
func (r *Report) roundMark(i int) string {
	last, this := r.Results[len(r.Results)-1].Round, r.Results[i].Round
	if last < 2 || this == 0 || r.Results[max(0, i-1)].Round == this {
		return ""
	}
	return fmt.Sprintf(" (round %d)", this)
}

// escapes are the characters that Markdown interprets.
var escapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "[", `\[`, "]", `\]`, "#", `\#`, "\n", " ",
)

// plain is a text without meaning to Markdown that stays in its cell.
func plain(s string) string { return escapes.Replace(printable(s)) }

// writeCode writes a code block with a fence that the text does not contain.
func writeCode(b *bytes.Buffer, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s\n%s\n%s\n", fence, strings.TrimRight(printable(text), "\n"), fence)
}
