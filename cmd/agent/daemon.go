package main

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/agent"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/rpcclient"
)

// daemon is the running agent: sources feed the Engine, the Engine feeds the client.
type daemon struct {
	log     *slog.Logger
	sources []platform.Source
	kicks   []chan struct{} // one for each source: read it afresh
	hid     platform.HID    // among the sources; nil: none is read
	engine  *agent.Engine
	report  *reporter
	set     atomic.Pointer[settings] // in force
}

func newDaemon(log *slog.Logger, sources []platform.Source, set agent.Settings, rpc rpcclient.Options) *daemon {
	d := &daemon{log: log, sources: sources, report: newReporter(log, rpc)}
	names := make([]string, len(sources))
	for i, src := range sources {
		if h, ok := src.(platform.HID); ok {
			d.hid = h
		}
		names[i] = src.Name()
		d.kicks = append(d.kicks, make(chan struct{}, 1))
	}
	d.engine = agent.New(agent.Options{Settings: set, Sources: names, Publish: d.report.publish, Ask: d.ask, Log: log})
	return d
}

// ask sends what the Engine wants to know to a HID device.
func (d *daemon) ask(r hid.Request) {
	if d.hid != nil {
		d.hid.Send(r)
	}
}

// run returns when ctx has ended and the client's list has been emptied.
func (d *daemon) run(ctx context.Context) {
	// The sources and the Engine outlive the reporter's farewell by nothing, but they must not
	// publish into it: they end first.
	inputs, stopInputs := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInputs()
	var wg sync.WaitGroup
	wg.Go(func() { d.engine.Run(inputs) })
	for i, src := range d.sources {
		wg.Go(func() { platform.Follow(inputs, src, d.kicks[i], d.engine.Observe) })
	}
	wg.Go(func() {
		if err := platform.WatchResume(inputs, d.log, d.resumed); err != nil {
			d.log.Info("power events", "note", err)
		}
	})

	d.report.run(ctx)
	stopInputs()
	wg.Wait()
}

// current are the settings in force.
func (d *daemon) current() *settings { return d.set.Load() }

// resumed runs after the machine has slept: nothing that was known before it woke is trusted.
func (d *daemon) resumed(woke time.Time) {
	d.log.Info("resumed from sleep: reading everything again")
	d.engine.Resumed(woke)
	d.refresh()
}

// refresh reads all sources afresh and sends the whole list again.
func (d *daemon) refresh() {
	d.kick()
	d.report.resend()
}

// kick has all sources read afresh.
func (d *daemon) kick() {
	for _, kick := range d.kicks {
		select {
		case kick <- struct{}{}:
		default:
		}
	}
}

// reporter owns the rpcclient, and replaces it when its options change.
type reporter struct {
	log     *slog.Logger
	changed chan struct{}

	deliveries atomic.Uint64
	audience   audience

	mu     sync.Mutex
	opts   rpcclient.Options
	client *rpcclient.Client
	last   *devices.Snapshot
}

func newReporter(log *slog.Logger, opts rpcclient.Options) *reporter {
	r := &reporter{log: log, changed: make(chan struct{}, 1)}
	r.set(opts)
	return r
}

// configure puts new options into force. Clients that the new ones may not reach are told that
// the devices are gone.
func (r *reporter) configure(opts rpcclient.Options) {
	r.mu.Lock()
	same := reflect.DeepEqual(settable(opts), settable(r.opts))
	r.mu.Unlock()
	if same {
		return
	}
	r.set(opts)
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// settable leaves out what reflect cannot compare and nobody configures.
func settable(o rpcclient.Options) rpcclient.Options {
	o.Log, o.OnDelivery, o.DialPort, o.Chance = nil, nil, nil, nil
	return o
}

func (r *reporter) set(opts rpcclient.Options) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opts = opts
	opts.Log, opts.OnDelivery = r.log, r.delivered
	if l, ok := opts.Local.(local); ok {
		l.log = r.log
		opts.Local = l
	}
	r.client = rpcclient.New(opts)
	if r.last != nil {
		r.client.Publish(*r.last)
	}
}

func (r *reporter) current() *rpcclient.Client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.client
}

func (r *reporter) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-r.changed: // by what is taken now
		default:
		}
		client := r.current()
		session, stop := context.WithCancelCause(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			client.Run(session)
		}()
		select {
		case <-ctx.Done():
		case <-r.changed:
		}
		next := r.current()
		if next != client && next.ReachesAs(client) {
			stop(rpcclient.ErrSucceeded)
		}
		stop(nil)
		<-done
		if next != client {
			next.Succeed(client)
		}
	}
}

func (r *reporter) status() rpcclient.Status { return r.current().Status() }

// changes is closed at the next change of the status.
func (r *reporter) changes() <-chan struct{} { return r.current().Changed() }

func (r *reporter) resend() { r.current().Resend() }

// publish is called by the Engine for every change.
func (r *reporter) publish(s devices.Snapshot) {
	r.mu.Lock()
	var before devices.Snapshot
	if r.last != nil {
		before = *r.last
	}
	r.last = &s
	client := r.client
	r.mu.Unlock()
	client.Publish(s) // first of all: the rest is for people
	if st := client.Status(); !st.Connected() {
		if changes := devices.Diff(before, s); len(changes) > 0 {
			r.log.Info("changed", "what", devices.Reasons(changes), "devices", len(s.Devices), "sent to", "no one: "+string(st.State))
		}
	}
}

// delivered writes the one line for a change that the client has accepted.
func (r *reporter) delivered(d rpcclient.Delivery) {
	r.deliveries.Add(1)
	r.audience.delivered(d)
	what := devices.Reasons(d.Changes)
	args := append([]any{"devices", len(d.Snapshot.Devices)}, sentTo(d.To)...)
	args = append(args, "answered in", round(d.RoundTrip))
	switch {
	case d.First:
		r.log.Info("full list sent", append([]any{"what", what}, args...)...)
	case what == "":
		r.log.Info("full list sent again", args...)
	default:
		r.log.Info("reported", append([]any{"what", what, "after the event", round(d.SinceOS)}, args...)...)
	}
}

// sentTo names a client in the log.
func sentTo(a rpcclient.Address) []any {
	args := []any{"sent to", string(a.Transport)}
	if a.Transport == rpcclient.IPC {
		args = append(args, "socket", a.Socket)
	} else {
		args = append(args, "port", a.Port)
	}
	if a.PID != 0 {
		args = append(args, "client", fmt.Sprintf("%s (pid %d)", a.Name, a.PID))
	}
	return args
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
