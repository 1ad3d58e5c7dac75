package conform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Group is a heading of the report.
type Group string

// The groups.
const (
	InHTTP      Group = "HTTP"
	InWebSocket Group = "WebSocket"
	InIPC       Group = "IPC"
	InPayload   Group = "Payload"
)

var groups = []Group{InHTTP, InWebSocket, InIPC, InPayload}

// A Verdict compares what the server did with one of the two models.
type Verdict string

// The verdicts.
const (
	Same     Verdict = "same"
	Differs  Verdict = "differs"
	NotSaid  Verdict = "not said"  // the model says nothing about it
	NotTried Verdict = "not tried" // Check.Why says why
)

// A Column is one of the two comparisons of a check.
type Column struct {
	Verdict Verdict  `json:"verdict"`
	Expects []string `json:"expects,omitempty"` // one of these
	Basis   Basis    `json:"basis,omitempty"`
}

// A Check is the result of one check.
type Check struct {
	ID        string    `json:"id"` // never reused for another check
	Group     Group     `json:"group"`
	Transport Transport `json:"transport,omitempty"` // "" if a payload was not sent
	Sentence  string    `json:"sentence"`
	Got       string    `json:"got,omitempty"`    // what the server did; "" if not tried
	Detail    string    `json:"detail,omitempty"` // what else it said, shortened and quoted
	WaitedMS  int64     `json:"waited_ms"`        // for the answer, or until giving up
	Why       string    `json:"why_not_tried,omitempty"`
	Spec      Column    `json:"specification"`
	Client    Column    `json:"real_client"`
	Build     string    `json:"build,omitempty"` // which builds of the client do that, if not all do

	builds map[string]string // by what they do
}

// A Count says in how many checks the server does what a model says.
type Count struct {
	Same int `json:"same"`
	Said int `json:"said"` // checks that were tried and about which the model says something
}

func (c Count) String() string { return fmt.Sprintf("%d/%d", c.Same, c.Said) }

// A Report is the result of a run.
type Report struct {
	Target  Target        `json:"-"`
	All     bool          `json:"-"`
	Refill  time.Duration `json:"-"`
	Version string        `json:"version,omitempty"` // of the program that ran the checks; may be ""
	Host    string        `json:"host,omitempty"`    // name of the machine that it ran on; may be ""
	System  string        `json:"system,omitempty"`  // operating system and architecture of that machine
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"-"`
	Checks  []Check       `json:"checks"`
	Notes   []string      `json:"notes,omitempty"` // what a reader must know, in sentences
}

func (r *Report) add(c Check, o outcome) {
	c.Got, c.Detail, c.WaitedMS, c.Why = o.got, o.detail, o.waited.Milliseconds(), o.skip
	c.Spec.Verdict, c.Client.Verdict = c.Spec.judge(o), c.Client.judge(o)
	c.Build = c.builds[o.got]
	if c.Group == InPayload {
		c.Transport = o.via
	}
	r.Checks = append(r.Checks, c)
}

// mixture says that the server does in one check what some builds of the client do, and in another what only others do; "" if it
// does not.
func (r *Report) mixture() string {
	for _, builds := range []change{february2026, year2024} {
		like := map[string]string{}
		for _, c := range slices.Backward(r.Checks) {
			like[c.Build] = c.ID
		}
		if before, after := like[builds.before], like[builds.after]; before != "" && after != "" {
			return fmt.Sprintf("No known build of the client does all of it: in %s the server is like %s, in %s like %s.",
				before, builds.before, after, builds.after)
		}
	}
	return ""
}

// Spec counts against the written specification.
func (r *Report) Spec() Count {
	return r.count(func(c Check) Verdict { return c.Spec.Verdict })
}

// Client counts against the real client.
func (r *Report) Client() Count {
	return r.count(func(c Check) Verdict { return c.Client.Verdict })
}

func (r *Report) count(column func(Check) Verdict) (n Count) {
	for _, c := range r.Checks {
		switch column(c) {
		case Same:
			n.Same++
			n.Said++
		case Differs:
			n.Said++
		}
	}
	return n
}

// NotTried is the number of checks that were not tried.
func (r *Report) NotTried() (n int) {
	for _, c := range r.Checks {
		if c.Got == "" {
			n++
		}
	}
	return n
}

// Summary is the report in one line.
func (r *Report) Summary() string {
	checks := "checks"
	if r.NotTried() == 1 {
		checks = "check"
	}
	return fmt.Sprintf("behaves like: specification %s, real client %s (%d %s not tried)", r.Spec(), r.Client(), r.NotTried(), checks)
}

// JSON is the whole report. Keys may be added, never changed.
func (r *Report) JSON() []byte {
	mode := "quick"
	if r.All {
		mode = "all"
	}
	data, _ := json.MarshalIndent(struct { // texts and numbers: cannot fail
		Target
		Mode     string `json:"mode"`
		RefillMS int64  `json:"refill_ms"`
		TookMS   int64  `json:"took_ms"`
		*Report
		Summary  map[string]Count `json:"summary"`
		NotTried int              `json:"not_tried"`
	}{
		r.Target, mode, r.Refill.Milliseconds(), r.Took.Milliseconds(), r,
		map[string]Count{"specification": r.Spec(), "real_client": r.Client()},
		r.NotTried(),
	}, "", "  ")
	return append(data, '\n')
}

// asker names the program that ran the checks, and where it ran.
func (r *Report) asker() string {
	return joinNonEmpty(", ", strings.TrimSpace("fakeserver "+r.Version), r.Host, r.System)
}

func joinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), separator)
}
