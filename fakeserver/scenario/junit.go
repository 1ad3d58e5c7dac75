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
	Timestamp  string          `xml:"timestamp,attr"`
	Host       string          `xml:"hostname,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
	Output     string          `xml:"system-err,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
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
// steps, with a test case for each step. Times are how long a step lasted, in seconds; what was
// measured of an expectation is in its output.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: r.Name}
	var suite *junitSuite
	for i, result := range r.Results {
		if i == 0 || result.Round != r.Results[i-1].Round {
			suite = r.suite(result)
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
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	if err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

// suite is the one that a result is the first of.
func (r *Report) suite(first Result) *junitSuite {
	s := &junitSuite{Name: r.Name + ", setup", Host: printable(r.Host)}
	if first.Round > 0 {
		s.Name = fmt.Sprintf("%s, round %d", r.Name, first.Round)
	}
	began := first.Began
	if began.IsZero() {
		began = r.Began.Add(r.Took) // skipped, as all that follows
	}
	s.Timestamp = began.UTC().Format("2006-01-02T15:04:05")
	for _, p := range []junitProperty{{"fakeserver", r.Version}, {"system", r.System}} {
		if p.Value != "" {
			s.Properties = append(s.Properties, p)
		}
	}
	return s
}

func (r Result) junit(number int) junitCase {
	c := junitCase{
		Name: fmt.Sprintf("%02d %s", number, printable(r.name())), Line: r.Line, Seconds: seconds(r.Took),
		Output: printable(r.Seen),
	}
	if r.Measured != nil {
		c.Output = fmt.Sprintf("measured: %v\n%s", *r.Measured, c.Output)
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
