package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
	"sidetone/internal/timeline"
)

// reporter is the rpcclient, and logs what becomes of changes.
type reporter struct {
	*rpcclient.Client
	log      *slog.Logger
	timeline *timeline.Ring
	memory   rpcclient.Store // of what clients have answered; nil: there is none

	losses signal.Signal // a client may have lost devices of other agents

	events eventCounts
	hub    deliveryHub

	mu   sync.Mutex
	last devices.Snapshot
}

func newReporter(log *slog.Logger, ring *timeline.Ring, memory rpcclient.Store, opts rpcclient.Options) *reporter {
	r := &reporter{log: log, timeline: ring, memory: memory, losses: signal.New()}
	r.Client = rpcclient.New(r.complete(opts))
	return r
}

// configure puts new options into force.
func (r *reporter) configure(opts rpcclient.Options) { r.Reconfigure(r.complete(opts)) }

// complete adds the options that are not settings.
func (r *reporter) complete(opts rpcclient.Options) rpcclient.Options {
	opts.Memory = r.memory
	opts.Log, opts.OnDelivery, opts.OnEvent = r.log, r.delivered, r.events.count
	return opts
}

// publish is called by the Engine for every change.
func (r *reporter) publish(s devices.Snapshot) {
	r.Publish(s) // first of all: the rest is for people
	r.mu.Lock()
	before := r.last
	r.last = s
	r.mu.Unlock()
	if st := r.Status(); !st.Connected() {
		if changes := devices.Diff(before, s); len(changes) > 0 {
			r.log.Info("changed", "what", devices.Reasons(changes), "devices", len(s.Devices), "sent to", "no one: "+string(st.State))
		}
	}
}

// generation is that of the newest list. The Engine has published what follows from an event when it returns.
func (r *reporter) generation() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last.Generation
}

// delivered writes the one line for a change that the client has accepted.
func (r *reporter) delivered(d rpcclient.Delivery) {
	r.events.count(rpcclient.Delivered, d.To.Transport)
	r.hub.delivered(d)
	r.timeline.Acknowledged(timelineClient(rpcclient.Session{Address: d.To}), d.Snapshot)
	if d.First || removes(d.Changes) {
		r.losses.Notify()
	}
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

// announceLosses calls announce, which tells other agents, after each loss until ctx ends. It does so beside the sessions, whose lists must
// not wait for a file system.
func (r *reporter) announceLosses(ctx context.Context, announce func()) {
	for {
		select {
		case <-r.losses:
			announce()
		case <-ctx.Done():
			return
		}
	}
}

// removes reports whether a list lacks a device of the previous one. The list of a previous agent is not known.
func removes(changes []devices.Change) bool {
	return slices.ContainsFunc(changes, func(c devices.Change) bool { return c.Removed })
}

// sentTo returns the attributes that name a client in the log.
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
