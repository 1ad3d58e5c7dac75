package scenario

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sample() *Report {
	took := 30 * time.Millisecond
	began := time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC)
	return &Report{
		Name: "Lab|A", File: "lab.yaml", Version: "v1_2", Host: "desk", System: "linux/amd64", Began: began, Took: 90 * time.Second,
		Notes: []string{"agent ended by itself: ```\x1b[31m"},
		Results: []Result{
			{Round: 0, Line: 3, Title: "start A", Status: Passed, Began: began, Took: time.Millisecond, Seen: "listens"},
			{
				Round: 1, Line: 5, Title: "A within 1s", Status: Passed, Began: began.Add(time.Second), Took: 2 * time.Second, Measured: &took,
				Expected: "hardware_mute true", Seen: "hardware_mute true",
			},
			{Round: 1, Line: 6, Title: "A within 1s", Status: Failed, Took: 2 * time.Second, Expected: "1 device <&>", Seen: "0 devices", Excerpt: "payload 1\n{\"a\": \"``` & ]]>\x00\"}"},
			{Round: 2, Line: 7, Title: "run: agent", Status: Failed, Took: time.Hour, Seen: "exit status 1"},
			{Round: 2, Line: 8, Title: "wait 1s", Status: Skipped},
		},
	}
}

// suites is what a reader of JUnit XML expects, written down apart from what writes it.
type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     float64  `xml:"time,attr"`
	Suites   []struct {
		Name     string  `xml:"name,attr"`
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Errors   int     `xml:"errors,attr"`
		Time     float64 `xml:"time,attr"`
		Stamp    string  `xml:"timestamp,attr"`
		Host     string  `xml:"hostname,attr"`
		About    []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Err   string `xml:"system-err"`
		Cases []struct {
			Name    string  `xml:"name,attr"`
			Class   string  `xml:"classname,attr"`
			Time    float64 `xml:"time,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Type    string `xml:"type,attr"`
				Text    string `xml:",chardata"`
			} `xml:"failure"`
			Skipped *struct{} `xml:"skipped"`
			Out     string    `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().JUnit(&b))
	require.True(t, strings.HasPrefix(b.String(), `<?xml version="1.0" encoding="UTF-8"?>`))
	var got suites
	require.NoError(t, xml.Unmarshal(b.Bytes(), &got))
	require.Equal(t, []int{5, 2, 1}, []int{got.Tests, got.Failures, got.Skipped})
	require.InDelta(t, 90, got.Time, 0)
	require.Len(t, got.Suites, 3)
	require.Equal(t, "Lab|A, setup", got.Suites[0].Name)
	first := got.Suites[1]
	require.Equal(t, "Lab|A, round 1", first.Name)
	require.Equal(t, []int{2, 1, 0, 0}, []int{first.Tests, first.Failures, first.Skipped, first.Errors})
	require.InDelta(t, 4, first.Time, 1e-6)
	require.Equal(t, []string{"2026-01-31T15:04:05", "2026-01-31T15:04:06"}, []string{got.Suites[0].Stamp, first.Stamp})
	require.Equal(t, "desk", first.Host)
	require.Len(t, first.About, 2)
	require.Equal(t, "v1_2", first.About[0].Value)
	require.Equal(t, "linux/amd64", first.About[1].Value)
	require.Equal(t, "01 A within 1s: hardware_mute true", first.Cases[0].Name)
	require.InDelta(t, 2, first.Cases[0].Time, 1e-9, "how long it took")
	require.Equal(t, "measured: 30ms\nhardware_mute true", first.Cases[0].Out)
	require.Nil(t, first.Cases[0].Failure)
	require.Equal(t, "0 devices", first.Cases[1].Failure.Message)
	require.Equal(t, "expectation", first.Cases[1].Failure.Type)
	require.Equal(t, "expected: 1 device <&>\nseen: 0 devices\npayload 1\n{\"a\": \"``` & ]]>\uFFFD\"}\n", first.Cases[1].Failure.Text)
	last := got.Suites[2]
	require.Equal(t, []int{2, 1, 1, 0}, []int{last.Tests, last.Failures, last.Skipped, last.Errors})
	require.Equal(t, "step", last.Cases[0].Failure.Type)
	require.InDelta(t, 3600, last.Cases[0].Time, 0)
	require.NotNil(t, last.Cases[1].Skipped)
	require.Contains(t, last.Err, "agent ended by itself")
	require.Equal(t, "Lab|A", last.Cases[0].Class)
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().Markdown(&b))
	require.Equal(t, "# Lab\\|A\n\n"+
		"Lab\\|A: FAILED, 5 steps, 2 failed, 1 skipped, in 1m30s\n\n"+
		"File lab.yaml, begun 2026-01-31 15:04:05 +0000.\n\n"+
		"By fakeserver v1\\_2 on desk, linux/amd64.\n\n"+
		"| # | step | result | time | expected | seen |\n"+
		"|---|---|---|---|---|---|\n"+
		"| 1 | start A | ok | 1ms |  | listens |\n"+
		"| 2 (round 1) | A within 1s | ok | 30ms | hardware\\_mute true | hardware\\_mute true |\n"+
		"| 3 | A within 1s | **FAILED** | - | 1 device &lt;&amp;&gt; | 0 devices |\n"+
		"| 4 (round 2) | run: agent | **FAILED** | 1h0m0s |  | exit status 1 |\n"+
		"| 5 | wait 1s | skipped | - |  |  |\n"+
		"\n## Failed: 3, line 6, A within 1s\n\n"+
		"````\nexpected: 1 device <&>\nseen: 0 devices\npayload 1\n{\"a\": \"``` & ]]>\uFFFD\"}\n````\n"+
		"\n## Failed: 4, line 7, run: agent\n\n```\nseen: exit status 1\n```\n"+
		"\n## Notes\n\n````\nagent ended by itself: ```\uFFFD[31m\n````\n", b.String())
}

func TestEmptyReport(t *testing.T) {
	r := &Report{Name: "x", Ended: errors.New("no folder")}
	require.True(t, r.Failed())
	require.NoError(t, r.Markdown(io.Discard))
	var b bytes.Buffer
	require.NoError(t, r.JUnit(&b))
	require.NoError(t, xml.Unmarshal(b.Bytes(), &suites{}))
	one := &Report{Results: []Result{{Status: Passed}}}
	require.False(t, one.Failed())
	require.Contains(t, one.String(), ": passed, 1 step, in ")
	require.True(t, (&Report{Results: []Result{{Status: Skipped}}}).Failed())
}

// broken is a file that is full after some bytes.
type broken struct{ left int }

var errFull = errors.New("the disk is full")

func (b *broken) Write(p []byte) (int, error) {
	b.left -= len(p)
	if b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestReportsSayThatTheyCannotBeWritten(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, sample().JUnit(&whole))
	for _, room := range []int{0, 100, whole.Len() - 1} {
		require.ErrorIs(t, sample().JUnit(&broken{room}), errFull)
	}
	require.ErrorIs(t, sample().Markdown(&broken{0}), errFull)
}
