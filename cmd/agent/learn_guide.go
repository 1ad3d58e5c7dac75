package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

// openTimeout is how long a device may take to be opened.
const openTimeout = 5 * time.Second

// capture collects the events of a headset and the marks of its user.
type capture struct {
	mu       sync.Mutex
	session  learn.Session
	attached map[string]bool   // nodes that are read
	names    []string          // of the devices that are read
	denied   map[string]string // why the others are not read, by node
	reports  int               // since the last mark
	locked   string            // the udev rule for devices that only root may read
	opened   signal.Signal     // a device was opened or denied
	end      func(error)       // ends the guide
}

func (r *capture) handle(e hid.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = append(r.session, learn.Step{Event: e})
	switch e.Kind {
	case hid.Attached:
		r.attached[e.Node] = true
		r.names = append(r.names, e.Device.String())
	case hid.Denied:
		why := e.Why()
		trouble := health.English.Phrase(*why)
		if why.Code == health.HIDDenied {
			trouble = "no permission to read " + why.Args["path"] // the remedy in its text needs a catalogue
			r.locked = catalogue.UdevRule(e.Device.VID, e.Device.PID)
		}
		r.denied[e.Node] = fmt.Sprintf("%s: %s", e.Device, trouble)
	case hid.Report:
		r.reports++
	case hid.Failed, hid.Gone:
		if r.attached[e.Node] {
			delete(r.attached, e.Node)
			r.end(errGone)
		}
	}
	if e.Kind == hid.Attached || e.Kind == hid.Denied {
		r.opened.Notify()
	}
}

// mark adds a mark, and returns the number of reports since the last one.
func (r *capture) mark(m learn.Mark) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.reports
	r.reports = 0
	r.session = append(r.session, learn.Step{Mark: m, Event: hid.Event{At: time.Now()}})
	return n
}

// state returns which devices are read, and why the others are not.
func (r *capture) state() (names []string, denied string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var why []string
	for _, node := range sortedKeys(r.denied) {
		why = append(why, printable(r.denied[node]))
	}
	denied = strings.Join(why, "; ")
	if r.locked != "" {
		denied += ": run this with sudo, or put this line into /etc/udev/rules.d/70-" + programName() +
			"-hid.rules and plug the device in again: " + r.locked
	}
	return slices.Clone(r.names), denied
}

// record guides the user through the presses. If that ends early, it returns what was captured, and why.
func (l *learner) record(ctx context.Context, h headsetID) (learn.Session, error) {
	guided, end := context.WithCancelCause(context.WithoutCancel(ctx)) // with the cause that the user is told
	defer context.AfterFunc(ctx, func() { end(errInterrupted) })()
	r := &capture{attached: map[string]bool{}, denied: map[string]string{}, opened: signal.New(), end: end}
	src, err := l.open(func(d hid.Device) bool { return headsetOf(d) == h }, r.handle)
	if err != nil {
		return nil, err
	}
	listed := make(chan devices.Observation, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		platform.Follow(guided, src, nil, func(o devices.Observation) {
			select {
			case listed <- o:
			default:
			}
		})
	})
	err = l.begin(guided, r, listed)
	if err == nil {
		err = l.guide(guided, r)
	}
	end(nil)
	reading.Wait() // then there are no more events
	return r.session, err
}

// begin waits until the headset's devices are open.
func (l *learner) begin(ctx context.Context, r *capture, listed <-chan devices.Observation) error {
	var notes []string
	select {
	case o := <-listed:
		if o.Err != nil {
			return o.Err
		}
		notes = health.English.Phrases(o.Notes)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	limit := time.After(openTimeout)
	for {
		names, denied := r.state()
		switch {
		case len(names) > 0:
			if denied != "" {
				fmt.Fprintf(l.messages, "note: reports will be missing: %s\n", denied)
			}
			fmt.Fprintf(l.messages, "Learning from %s. Ctrl-C ends it.\n", printable(strings.Join(names, ", ")))
			return nil
		case denied != "":
			return errors.New(denied)
		}
		select {
		case <-r.opened:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit:
			advice := cmp.Or(strings.Join(notes, "; "), "plug it in again")
			return fmt.Errorf("the device could not be opened within %v: %s", openTimeout, printable(advice))
		}
	}
}

// The reasons why the guide may end early.
var (
	errInterrupted = errors.New("interrupted")
	errNoMoreInput = errors.New("no more input")
	errGone        = errors.New("the device went away; plug it in and begin anew")
)

// guide prompts for each step, and marks it.
func (l *learner) guide(ctx context.Context, r *capture) error {
	lines := l.lines(ctx)
	step := 0
	say := func(format string, args ...any) {
		step++
		fmt.Fprintf(l.messages, "%d. "+format, append([]any{step}, args...)...)
	}
	ask := func(m learn.Mark, what string) error {
		say("%s, then press Enter. ", what)
		if err := l.enter(ctx, lines); err != nil {
			fmt.Fprintln(l.messages)
			return err
		}
		fmt.Fprintf(l.messages, "   %s\n", count(r.mark(m), "report"))
		return nil
	}
	if err := ask(learn.MarkUnmuted, "Make sure that the microphone is NOT muted"); err != nil {
		return err
	}
	say("Keep your hands off the headset for %v ... ", l.handsOff)
	select {
	case <-time.After(l.handsOff):
	case <-ctx.Done():
	}
	fmt.Fprintln(l.messages)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	fmt.Fprintf(l.messages, "   %s\n", count(r.mark(learn.MarkHandsOff), "report"))
	if err := ask(learn.MarkOther, "Use everything but mute once: volume, dial, other buttons"); err != nil {
		return err
	}
	for range l.rounds {
		if err := ask(learn.MarkMuted, "Press mute, so that the microphone IS muted"); err != nil {
			return err
		}
		if err := ask(learn.MarkUnmuted, "Press mute, so that it is NOT muted"); err != nil {
			return err
		}
	}
	return nil
}

// lines sends a value for each line of input, and is closed when the input or ctx ends. A pending read goes on until there is a line.
func (l *learner) lines(ctx context.Context) <-chan struct{} {
	lines := make(chan struct{})
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(l.in); s.Scan(); {
			select {
			case lines <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// enter waits for Enter.
func (l *learner) enter(ctx context.Context, lines <-chan struct{}) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.timeout, fmt.Errorf("nobody pressed Enter for %v", l.timeout))
	defer cancel()
	select {
	case _, more := <-lines:
		switch {
		case more:
			return nil
		case ctx.Err() == nil:
			return errNoMoreInput
		}
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}
