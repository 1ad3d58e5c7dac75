package scenario

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// A Status is how a step ended.
type Status string

// The ways a step ends.
const (
	Passed  Status = "ok"
	Failed  Status = "FAILED"
	Skipped Status = "skipped" // the run ended before it
)

// A Result is the result of one step.
type Result struct {
	Round    int // of the steps, from 1; 0: the clients and the setup
	Line     int // where the step is in the file
	Title    string
	Status   Status
	Began    time.Time      // zero if skipped
	Took     time.Duration  // how long the step lasted
	Measured *time.Duration // from the end of the action before to the payload that brought what was expected
	Expected string         // "" if the step is not an expectation
	Seen     string
	Excerpt  string // if failed: of the last payload, or of a program's output
}

func (r Result) name() string {
	if r.Expected == "" {
		return r.Title
	}
	return r.Title + ": " + r.Expected
}

// time is the time to show.
func (r Result) time() string {
	switch {
	case r.Status == Skipped:
		return "-"
	case r.Measured != nil:
		return round(*r.Measured).String()
	case r.Expected != "":
		return "-" // how long it looked says nothing
	}
	return round(r.Took).String()
}

// A Report is the result of a run.
type Report struct {
	Name    string
	File    string
	Version string // of the program that ran it; may be ""
	Host    string // name of the machine; may be ""
	System  string // operating system and architecture
	Began   time.Time
	Took    time.Duration
	Results []Result
	Notes   []string // what went wrong apart from the steps
	Ended   error    // why the run ended early; nil if it did not
}

// Failed reports whether a step failed or the run ended early.
func (r *Report) Failed() bool { return r.Ended != nil || r.count(Failed)+r.count(Skipped) > 0 }

func (r *Report) count(s Status) int {
	n := 0
	for _, result := range r.Results {
		if result.Status == s {
			n++
		}
	}
	return n
}

// String is the report in one line.
func (r *Report) String() string {
	parts := []string{plural(len(r.Results), "step")}
	for _, s := range []Status{Failed, Skipped} {
		if n := r.count(s); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ToLower(string(s))))
		}
	}
	parts = append(parts, "in "+r.Took.Round(time.Millisecond).String())
	word := "passed"
	if r.Failed() {
		word = "FAILED"
	}
	text := fmt.Sprintf("%s: %s, %s", r.Name, word, strings.Join(parts, ", "))
	if r.Ended != nil {
		text += ": " + r.Ended.Error()
	}
	return printable(text)
}

func plural(n any, noun string) string {
	count := fmt.Sprint(n)
	if count != "1" {
		noun += "s"
	}
	return count + " " + noun
}

// printable replaces what could act on a terminal or is not text. Line ends stay.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}
