package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// grace is how long is waited beyond the time allowed, so that a report can say how much
	// too late something came.
	grace = time.Second
	// recordingTime is how long a payload that came within the time may take to be recorded.
	recordingTime = 50 * time.Millisecond
)

// An expectAction expects a condition to hold within a time, and counts to be right at its end.
type expectAction struct {
	Client string        `yaml:"client,omitempty"`
	Within time.Duration `yaml:"within"`
	condition
	Once     bool  `yaml:"once,omitempty"`
	Payloads *span `yaml:"payloads,omitempty"`
	Rejected *span `yaml:"rejected,omitempty"`
	Warnings *span `yaml:"warnings,omitempty"`
}

// A count is an expected number of payloads.
type count struct {
	name string
	span *span
}

// counts are those that are expected.
func (d expectAction) counts() []count {
	all := []count{{"payloads", d.Payloads}, {"rejected", d.Rejected}, {"warnings", d.Warnings}}
	return slices.DeleteFunc(all, func(c count) bool { return c.span == nil })
}

// of counts the first n payloads.
func (c count) of(h history, n int) int {
	total := 0
	for _, p := range h.payloads[:n] {
		switch {
		case c.name == "payloads":
			total++
		case c.name == "rejected" && p.Err != nil:
			total++
		case c.name == "warnings":
			total += len(p.Warnings)
		}
	}
	return total
}

func (d expectAction) String() string {
	return fmt.Sprintf("%s within %v", d.Client, d.Within)
}

func (d expectAction) expected() string {
	var parts []string
	if !d.empty() {
		text := d.condition.String()
		if d.Once {
			text += ", once"
		}
		parts = append(parts, text)
	}
	for _, c := range d.counts() {
		parts = append(parts, fmt.Sprintf("%s %v", c.name, c.span))
	}
	return strings.Join(parts, "; ")
}

func (d expectAction) limit() time.Duration { return d.Within }

func (d expectAction) run(ctx context.Context, r *runner) outcome {
	o := r.watch(ctx, d.Client, d.judge)
	if d.Once && !o.failed {
		r.pending = append(r.pending, pending{len(r.report.Results), d, r.clients[d.Client]}) // judged again later
	}
	return o
}

// watch judges a client again with each payload, until the verdict is decided.
func (r *runner) watch(ctx context.Context, name string, judge func(h history, over time.Duration) verdict) outcome {
	for c := r.clients[name]; ; {
		over := time.Since(r.anchor) // before reading, so that everything until then has been read
		v := judge(c.historySince(r.anchor), over)
		if v.decided {
			c.cursor = max(c.cursor, v.cursor)
		} else if err := c.awaitPayload(ctx, r.anchor.Add(v.until)); err != nil {
			v.decided, v.outcome = true, failure(err.Error())
		}
		if v.failed {
			v.excerpt = c.excerpt()
		}
		if v.decided {
			return v.outcome
		}
	}
}

// A verdict is the result of an expectation so far. While it is not decided, it is judged again
// with the next payload, or at until, counted from the anchor.
type verdict struct {
	outcome
	decided bool
	until   time.Duration
	cursor  int // payloads passed
}

// judge decides as soon as possible. over is the time that has passed since the anchor.
func (d expectAction) judge(h history, over time.Duration) verdict {
	v := verdict{cursor: h.cursor}
	met, wrong := true, ""
	if !d.empty() {
		met, wrong = d.judgeState(h, &v)
	}
	inTime := h.countWithin(d.Within)
	for _, c := range d.counts() {
		n := c.of(h, inTime)
		if c.span.max >= 0 && n > c.span.max {
			wrong = fmt.Sprintf("%s %d", c.name, n)
		}
		met = met && n >= c.span.min
		v.measureUntil(h, c)
	}
	switch {
	case wrong != "":
		v.decided, v.outcome = true, failure(wrong)
	case met && (!d.lastsWhole() || over >= d.Within+recordingTime):
		v.decided, v.seen = true, d.seen(h, inTime)
	case met:
		v.until = d.Within + recordingTime
	case over < d.Within+grace:
		v.until = d.Within + grace
	default:
		v.decided, v.outcome = true, failure(d.seen(h, len(h.payloads)))
	}
	return v
}

// measureUntil extends the measured time to the payload with which a count reached its minimum.
func (v *verdict) measureUntil(h history, c count) {
	if c.span.min == 0 {
		return
	}
	for n := range len(h.payloads) + 1 {
		if c.of(h, n) >= c.span.min {
			if took := h.arrival(n); v.measured == nil || took > *v.measured {
				v.measured = &took
			}
			return
		}
	}
}

// judgeState reports whether the condition was met, or why it no longer can be.
func (d expectAction) judgeState(h history, v *verdict) (met bool, wrong string) {
	course := h.conditionHistory(d.condition)
	if d.Once {
		if wrong := d.notOnce(course); wrong != "" {
			return false, wrong
		}
	}
	reached, since, ok := course.from(h.cursor)
	if !ok {
		return false, ""
	}
	took := h.arrival(since)
	if took > d.Within {
		return false, fmt.Sprintf("only after %v: %s", round(took), d.condition.seen(h.reported(since)))
	}
	v.cursor, v.measured = reached, &took
	return true, ""
}

// notOnce says why the condition did not come with exactly one payload, for good.
func (d expectAction) notOnce(c conditionHistory) string {
	came, went := c.transitions()
	switch {
	case c[0]:
		return "it was so before the step"
	case came > 1:
		return fmt.Sprintf("it came %d times", came)
	case went > 0:
		return "it was taken back"
	}
	return ""
}

// lastsWhole reports whether only the end of the time can decide.
func (d expectAction) lastsWhole() bool {
	return d.Once || slices.ContainsFunc(d.counts(), func(c count) bool { return c.span.max >= 0 })
}

// seen describes what the first n payloads reported.
func (d expectAction) seen(h history, n int) string {
	var parts []string
	if !d.empty() {
		parts = append(parts, d.condition.seen(h.reported(n)))
	}
	for _, c := range d.counts() {
		parts = append(parts, fmt.Sprintf("%s %d", c.name, c.of(h, n)))
	}
	return strings.Join(parts, "; ")
}

// A neverAction expects a condition not to hold for a time, which begins with the step.
type neverAction struct {
	Client string        `yaml:"client,omitempty"`
	For    time.Duration `yaml:"for"`
	condition
}

func (d neverAction) String() string {
	return fmt.Sprintf("%s for %v", d.Client, d.For)
}

func (d neverAction) expected() string { return fmt.Sprintf("never %s", d.condition) }

func (d neverAction) limit() time.Duration { return d.For }

func (d neverAction) run(ctx context.Context, r *runner) outcome {
	lasts := time.Since(r.anchor) + d.For
	return r.watch(ctx, d.Client, func(h history, over time.Duration) verdict { return d.judge(h, lasts, over) })
}

// judge is told how long the time lasts from the anchor, of which over has passed.
func (d neverAction) judge(h history, lasts, over time.Duration) verdict {
	reached, _, ok := h.conditionHistory(d.condition).from(h.cursor)
	took := h.arrival(reached)
	v := verdict{decided: true, cursor: len(h.payloads)}
	switch {
	case ok && took <= lasts:
		v.outcome = failure(d.seen(h.reported(reached)))
		v.measured = &took
	case over < lasts+recordingTime:
		return verdict{until: lasts + recordingTime}
	default:
		v.seen = d.seen(h.reported(len(h.payloads)))
	}
	return v
}

func round(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(10 * time.Millisecond)
	}
	return d.Round(100 * time.Microsecond)
}
