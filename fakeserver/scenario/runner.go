package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/fakeserver/internal/host"
)

// Options configure a run. The zero value runs a scenario once, silently and unattended.
type Options struct {
	// Progress gets a line for each step, and the prompts. nil discards them.
	Progress io.Writer
	// Confirm is called after a prompt that has to be confirmed. It returns when the operator has
	// confirmed it, or an error, at the latest when the context ends. nil: the run is unattended
	// and goes on at once.
	Confirm func(context.Context) error
	// Repeat is how often the steps run, for soak tests; 0 means once. The setup always runs
	// once.
	Repeat int
	// Timeout limits the whole run; 0 means no limit.
	Timeout time.Duration
	// Version is that of the program that runs the scenario, for the reports.
	Version string
}

// errInterrupted ends a run whose context was cancelled.
var errInterrupted = errors.New("the run was interrupted")

// An overError ends a run that took longer than its timeout. It is a context.DeadlineExceeded.
type overError struct{ timeout time.Duration }

func (e overError) Error() string {
	return fmt.Sprintf("the time for the whole run, %v, is over", e.timeout)
}

func (e overError) Unwrap() error { return context.DeadlineExceeded }

// reason is why a context has ended; nil if it has not.
func reason(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return errInterrupted
	}
	return cause
}

// A runner runs a scenario.
type runner struct {
	scenario *Scenario
	opts     Options
	report   *Report
	scratch  string // folder for programs, removed at the end
	clients  map[string]*client
	programs []*program // in the background
	anchor   time.Time  // when the last action ended that was neither an expectation nor a wait
	pending  []pending
	round    int
	broken   bool // a step could not be done: the rest is skipped
	printing sync.Mutex
}

// A pending expectation was met, but fails if what it saw is taken back before the next action.
type pending struct {
	result int // of the report
	action expectAction
	client *client
}

// Run runs the scenario: the clients and the setup, then the steps. A failed expectation does
// not end the run, a step that cannot be done does. When the context ends, everything that was
// started is ended in order. The report is never nil and has everything that was done; the
// error says why the run ended early: it was interrupted, timed out, or could not begin.
func (s *Scenario) Run(ctx context.Context, opts Options) (*Report, error) {
	r := &runner{scenario: s, opts: opts, clients: map[string]*client{}}
	name, _ := os.Hostname() // a report can do without
	r.report = &Report{Name: s.name, File: s.file, Version: opts.Version, Host: name, System: host.System(), Began: time.Now()}
	if r.opts.Progress == nil {
		r.opts.Progress = io.Discard
	}
	if opts.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, opts.Timeout, overError{opts.Timeout})
		defer cancel()
	}
	var err error
	if r.scratch, err = os.MkdirTemp("", "scenario-*"); err != nil {
		r.report.Ended = fmt.Errorf("cannot make a folder for the run: %w", err)
		return r.report, r.report.Ended
	}
	r.anchor = time.Now()
	r.runAll(ctx)
	r.report.Ended = reason(ctx)
	r.end()
	r.report.Took = time.Since(r.report.Began)
	return r.report, r.report.Ended
}

func (r *runner) runAll(ctx context.Context) {
	var first []step
	for _, spec := range r.scenario.clients {
		if spec.privateIPC {
			spec.options.IPCDir = r.scratch
		}
		r.clients[spec.name] = &client{spec: spec}
		if !spec.stopped {
			first = append(first, step{spec.line, "start " + spec.name, clientAction{verb: "start", client: spec.name}})
		}
	}
	r.runSteps(ctx, append(first, r.scenario.setup...))
	for r.round = 1; r.round <= max(1, r.opts.Repeat); r.round++ {
		if r.round > 1 && (r.broken || ctx.Err() != nil) {
			return
		}
		before := len(r.programs)
		r.runSteps(ctx, r.scenario.steps)
		r.judgePending()
		r.endPrograms(before)
	}
}

// runSteps runs or skips steps.
func (r *runner) runSteps(ctx context.Context, steps []step) {
	for i, s := range steps {
		result := Result{Round: r.round, Line: s.line, Title: s.title, Status: Skipped}
		if e, ok := s.do.(expectation); ok {
			result.Expected = e.expected()
		}
		label := r.label(i+1, len(steps))
		if !r.broken && ctx.Err() == nil {
			end := r.reportWait(label, s)
			r.do(ctx, s, &result)
			end()
		}
		r.report.Results = append(r.report.Results, result)
		r.progress(label, result)
	}
}

func (r *runner) do(ctx context.Context, s step, result *Result) {
	_, judges := s.do.(expectation)
	_, waits := s.do.(waitAction)
	changes := !judges && !waits
	if changes {
		r.beginAction()
	}
	result.Began = time.Now()
	o := s.do.run(ctx, r)
	result.Took = time.Since(result.Began)
	if changes {
		r.anchor = time.Now()
	}
	result.Status, result.Measured, result.Seen = Passed, o.measured, o.seen
	if o.failed {
		result.Status, result.Excerpt = Failed, o.excerpt
		r.broken = !judges
	}
}

// beginAction begins new histories.
func (r *runner) beginAction() {
	r.judgePending()
	for _, c := range r.clients {
		c.beginAction()
	}
}

// judgePending judges the pending expectations a last time.
func (r *runner) judgePending() {
	for _, p := range r.pending {
		result := &r.report.Results[p.result]
		wrong := p.action.notOnce(p.client.historySince(r.anchor).conditionHistory(p.action.condition))
		if wrong == "" || result.Status != Passed {
			continue
		}
		result.Status, result.Seen, result.Excerpt = Failed, wrong+" before the next step", p.client.excerpt()
		r.printf("        FAILED after all: %s: %s\n", printable(result.name()), printable(result.Seen))
	}
	r.pending = nil
}

// launch starts a program with the folder of the run and the clients' ports in its environment.
func (r *runner) launch(d runAction) (*program, error) {
	env := append(os.Environ(), "SCENARIO_DIR="+r.scratch)
	for name, c := range r.clients {
		if c.srv != nil {
			env = append(env, fmt.Sprintf("SCENARIO_PORT_%s=%d", variable(name), c.srv.Port()))
		}
	}
	folder, err := filepath.Abs(filepath.Dir(r.scenario.file))
	if err != nil {
		return nil, fmt.Errorf("cannot find the folder of %s: %w", r.scenario.file, err)
	}
	return start(d, folder, r.scratch, env)
}

// endPrograms ends the background programs, except for the first few, the youngest first. No
// expectation looks at what the clients are told meanwhile.
func (r *runner) endPrograms(keep int) {
	for _, p := range slices.Backward(r.programs[keep:]) {
		title := cmp.Or(p.name, firstLine(strings.Join(p.cmd.Args, " ")))
		if ended := p.ended(); ended && !p.asked {
			r.note("%s ended by itself: %s\n%s", title, p.status(), p.outputTail())
		} else if !ended && !p.terminate(context.Background(), killAfter) {
			r.note("%s did not end within %v and was killed", title, killAfter)
		}
		p.release()
	}
	r.programs = r.programs[:keep]
	for _, c := range r.clients {
		c.beginAction()
	}
	r.anchor = time.Now()
}

// end ends everything that was started. Programs end first, so that an agent can still clear
// the clients' lists (rule R53).
func (r *runner) end() {
	r.judgePending()
	r.endPrograms(0)
	for _, c := range r.clients {
		c.close()
	}
	if err := os.RemoveAll(r.scratch); err != nil {
		r.note("cannot remove the folder of the run: %v", err)
	}
}

func (r *runner) note(format string, args ...any) {
	text := strings.TrimSpace(fmt.Sprintf(format, args...))
	r.report.Notes = append(r.report.Notes, text)
	r.printf("note: %s\n", text)
}

func (r *runner) printf(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	fmt.Fprintf(r.opts.Progress, format, args...)
}

func (r *runner) label(number, of int) string {
	label := fmt.Sprintf("%d/%d", number, of)
	switch {
	case r.round == 0:
		return "setup " + label
	case r.opts.Repeat > 1:
		return fmt.Sprintf("round %d, %s", r.round, label)
	}
	return label
}

// reportEvery is how often the progress says that a step goes on.
const reportEvery = 5 * time.Second

// reportWait reports now and then that a step goes on, and how long it may take, until end is
// called.
func (r *runner) reportWait(label string, s step) (end func()) {
	most := ""
	if l, ok := s.do.(limited); ok && l.limit() > 0 {
		most = fmt.Sprintf(" of %v at most", l.limit())
	}
	done := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				r.printf("[%s] goes on, %v%s  %s\n", label, time.Since(began).Round(time.Second), most, printable(s.title))
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		reporting.Wait()
	}
}

func (r *runner) progress(label string, result Result) {
	r.printf("[%s] %-7s %8s  %s\n", label, result.Status, result.time(), printable(result.name()))
	if result.Status == Failed {
		r.printf("        seen: %s\n", printable(result.Seen))
		lines := slices.Collect(strings.Lines(result.Excerpt))
		for _, line := range lines[max(0, len(lines)-maxExcerptLines):] {
			r.printf("        | %s\n", printable(strings.TrimSuffix(line, "\n")))
		}
	}
}

// maxExcerptLines is how many lines of an excerpt the progress shows; the reports have all.
const maxExcerptLines = 10
