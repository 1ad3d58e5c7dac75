package scenario

import (
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []*junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int     `xml:"tests,attr"`
	Failures int     `xml:"failures,attr"`
	Errors   int     `xml:"errors,attr"`
	Skipped  int     `xml:"skipped,attr"`
	Seconds  seconds `xml:"time,attr"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
	Output    string      `xml:"system-err,omitempty"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	File    string        `xml:"file,attr"`
	Line    int           `xml:"line,attr"`
	Seconds seconds       `xml:"time,attr"`
	Failure *junitFailure `xml:"failure"`
	Skipped *struct{}     `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// seconds are written without an exponent, which not every reader takes.
type seconds time.Duration

func (s seconds) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%.6f", time.Duration(s).Seconds()), nil
}

// JUnit writes the report as JUnit XML: a test suite for the setup and for each round of the
// steps, with a test case for each step. The time of an expectation that was met is the measured
// one, of other steps how long they lasted, in seconds.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: r.Name}
	var suite *junitSuite
	for i, result := range r.Results {
		if i == 0 || result.Round != r.Results[i-1].Round {
			suite = &junitSuite{Name: r.suite(result.Round), Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05")}
			all.Suites = append(all.Suites, suite)
		}
		c := result.junit(len(suite.Cases) + 1)
		c.Class, c.File = r.Name, filepath.ToSlash(r.File)
		suite.Cases = append(suite.Cases, c)
		suite.add(c)
		all.add(c)
	}
	if suite != nil {
		suite.Output = printable(strings.Join(r.Notes, "\n"))
	}
	all.Seconds = seconds(r.Took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

func (r *Report) suite(round int) string {
	if round == 0 {
		return r.Name + ", setup"
	}
	return fmt.Sprintf("%s, round %d", r.Name, round)
}

func (r Result) junit(number int) junitCase {
	c := junitCase{
		Name: fmt.Sprintf("%02d %s", number, printable(r.name())), Line: r.Line, Seconds: seconds(r.Took),
		Output: printable(r.Seen),
	}
	if r.Measured != nil {
		c.Seconds = seconds(*r.Measured)
	}
	switch r.Status {
	case Skipped:
		c.Skipped = &struct{}{}
	case Failed:
		c.Failure = &junitFailure{Message: printable(r.Seen), Type: r.kind(), Text: printable(r.details())}
	}
	return c
}

func (r Result) kind() string {
	if r.Expected != "" {
		return "expectation"
	}
	return "step"
}

// details is all that is known of a failure.
func (r Result) details() string {
	var b strings.Builder
	if r.Expected != "" {
		fmt.Fprintf(&b, "expected: %s\n", r.Expected)
	}
	fmt.Fprintf(&b, "seen: %s\n", r.Seen)
	if r.Excerpt != "" {
		fmt.Fprintf(&b, "%s\n", r.Excerpt)
	}
	return b.String()
}

func (c *junitCounts) add(of junitCase) {
	c.Tests++
	c.Seconds += of.Seconds
	if of.Failure != nil {
		c.Failures++
	}
	if of.Skipped != nil {
		c.Skipped++
	}
}
