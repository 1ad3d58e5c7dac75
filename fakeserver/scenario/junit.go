package scenario

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

const junitFormat = `{{define "counts"}} tests="{{len .Results}}" failures="{{count . "FAILED"}}" errors="0" skipped="{{count . "skipped"}}"
{{- ""}} time="{{seconds .Took}}"{{end -}}
` + xml.Header + `<testsuites name="{{xml .Name}}"{{template "counts" .}}>
{{- range suites .}}
  <testsuite name="{{xml .Name}}"{{template "counts" .}} timestamp="{{.Began.UTC.Format "2006-01-02T15:04:05"}}"
  {{- with .Host}} hostname="{{xml .}}"{{end}}>
    <properties>
    {{- with .Version}}
      <property name="fakeserver" value="{{xml .}}"/>{{end}}
    {{- with .System}}
      <property name="system" value="{{xml .}}"/>{{end}}
    </properties>
    {{- range $i, $r := .Results}}
    <testcase name="{{number $i}} {{xml (name .)}}" classname="{{xml $.Name}}" file="{{xml (slashes $.File)}}" line="{{.Line}}"
    {{- ""}} time="{{seconds .Took}}">
      {{- if eq .Status "FAILED"}}
      <failure message="{{xml .Seen}}" type="{{if .Expected}}expectation{{else}}step{{end}}">{{xml (details .)}}</failure>{{end}}
      {{- if eq .Status "skipped"}}
      <skipped/>{{end}}
      {{- if or .Measured .Seen}}
      <system-out>{{with .Measured}}measured: {{.}}{{"\n"}}{{end}}{{xml .Seen}}</system-out>{{end}}
    </testcase>{{end}}
    {{- with .Notes}}
    <system-err>{{xml (lines .)}}</system-err>{{end}}
  </testsuite>{{end}}
</testsuites>
`

var junit = template.Must(template.New("").Funcs(template.FuncMap{
	"suites":  (*Report).suites,
	"count":   (*Report).count,
	"name":    Result.name,
	"details": Result.details,
	"number":  func(i int) string { return fmt.Sprintf("%02d", i+1) },
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.6f", d.Seconds()) }, // some readers do not accept exponents
	"slashes": filepath.ToSlash,
	"lines":   func(list []string) string { return strings.Join(list, "\n") },
	"xml": func(s string) (string, error) {
		var b strings.Builder
		err := xml.EscapeText(&b, []byte(printable(s)))
		return b.String(), err
	},
}).Parse(junitFormat))

// JUnit writes the report as JUnit XML: a test suite for the setup and for each round of the
// steps, with a test case for each step. Times are how long a step lasted, in seconds; what was
// measured of an expectation is in its output.
func (r *Report) JUnit(w io.Writer) error {
	var b bytes.Buffer
	err := junit.Execute(&b, r)
	if err == nil {
		_, err = w.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the JUnit report: %w", err)
	}
	return nil
}

// suites splits the report into the setup and the rounds. The last one has the notes.
func (r *Report) suites() []*Report {
	var all []*Report
	for i, result := range r.Results {
		if i == 0 || result.Round != r.Results[i-1].Round {
			s := &Report{Name: r.Name + ", setup", Host: r.Host, System: r.System, Version: r.Version, Began: result.Began}
			if result.Round > 0 {
				s.Name = fmt.Sprintf("%s, round %d", r.Name, result.Round)
			}
			if s.Began.IsZero() {
				s.Began = r.Began.Add(r.Took) // skipped, like all that follow
			}
			all = append(all, s)
		}
		s := all[len(all)-1]
		s.Results, s.Took = append(s.Results, result), s.Took+result.Took
	}
	if len(all) > 0 {
		all[len(all)-1].Notes = r.Notes
	}
	return all
}

// details is everything known about a failure.
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
