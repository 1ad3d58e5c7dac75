package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
	"sidetone/internal/rpcclient"
)

// backend is the agent as the control API sees it.
type backend struct {
	*daemon
	started time.Time
	reread  func() error // settings and catalogue

	mu      sync.Mutex
	changed chan struct{} // closed at the next change of anything
}

func newBackend(d *daemon, reread func() error) *backend {
	return &backend{daemon: d, started: time.Now(), reread: reread, changed: make(chan struct{})}
}

// run makes one signal of those of the Engine and of the sessions.
func (b *backend) run(ctx context.Context) {
	for {
		engine, clients := b.engine.Changed(), b.report.changes()
		b.mu.Lock()
		close(b.changed) // what changed between the last wake-up and the lines above
		b.changed = make(chan struct{})
		b.mu.Unlock()
		select {
		case <-engine:
		case <-clients:
		case <-ctx.Done():
			return
		}
	}
}

func (b *backend) Watch() (control.Status, <-chan struct{}) {
	b.mu.Lock()
	changed := b.changed
	b.mu.Unlock()
	return b.Status(), changed
}

func (b *backend) Status() control.Status {
	v, clients, set := b.engine.View(), b.report.status(), b.current()
	st := control.Status{
		Version: version, PID: os.Getpid(), Started: b.started,
		Vendor: set.cat.Vendor.Name, Catalogue: set.Catalogue,
		Generation: v.Snapshot.Generation, Changed: v.Snapshot.At,
		Sources: []control.Source{}, Products: products(v.Snapshot), HID: []control.HID{}, Pushes: []control.Push{}, Clients: sessions(clients),
	}
	for _, s := range v.Sources {
		st.Sources = append(st.Sources, control.Source{Name: s.Name, Condition: string(s.Condition), Error: s.Error, Notes: s.Notes, Endpoints: s.Endpoints})
	}
	for _, h := range v.HID {
		st.HID = append(st.HID, hidStatus(h))
	}
	for _, l := range v.Leases {
		st.Pushes = append(st.Pushes, control.Push{Product: l.Product, Serial: l.Serial, Owner: l.Owner, State: l.State, Until: l.Until, Unit: l.Unit, Units: l.Units})
	}
	return st
}

func hidStatus(h hid.Status) control.HID {
	out := control.HID{
		Node: h.Node, Name: h.Name, VID: h.VID, PID: h.PID, Serial: h.Serial, Interface: h.Interface, Error: h.Error, Sources: []control.HIDSource{},
	}
	for _, s := range h.Sensors {
		out.Sources = append(out.Sources, control.HIDSource{Product: s.Product, Rule: s.Rule, Via: s.Via, Value: s.Value, Since: s.Since, Note: s.Note})
	}
	return out
}

// products groups the reported list by physical product, in its order.
func products(s devices.Snapshot) []control.Product {
	all := []control.Product{}
	for _, r := range s.Devices {
		i := slices.IndexFunc(all, func(p control.Product) bool { return p.Unit == r.Unit })
		if i < 0 {
			i = len(all)
			all = append(all, control.Product{ID: r.Product, Name: r.Model.Name, Unit: r.Unit})
		}
		all[i].Devices = append(all[i].Devices, control.Device{Type: r.Type, ID: r.ID, Flags: r.Flags})
	}
	return all
}

func sessions(st rpcclient.Status) control.Clients {
	out := control.Clients{
		State: string(st.State), Sessions: []control.Session{}, Notes: st.Notes, NextTry: st.NextTry, Error: st.Error, Remedy: st.Remedy,
	}
	for _, s := range st.Sessions {
		out.Sessions = append(out.Sessions, control.Session{
			State: string(s.State), Transport: string(s.Transport), Socket: s.Socket, Port: s.Port, PID: s.PID, Name: s.Name,
			Generation: s.Generation, Delivered: s.Delivered, Devices: s.Devices,
			Since: s.Since, Pending: s.Pending, Muted: s.Muted, NextTry: s.NextTry, Error: s.Error, Remedy: s.Remedy,
		})
	}
	return out
}

func (b *backend) Devices() control.Devices {
	in, r := b.engine.Inputs()
	s := b.engine.View().Snapshot
	out := control.Devices{
		Generation: s.Generation, Endpoints: []control.Endpoint{},
		Reported: slices.Concat([]devices.Report{}, s.Devices), Withheld: slices.Concat([]devices.Withheld{}, s.Withheld),
	}
	considered := r.Explain(in)
	for _, e := range in.Endpoints {
		out.Endpoints = append(out.Endpoints, control.Endpoint{Endpoint: e, Considered: considered[e.Key()]})
	}
	return out
}

func (b *backend) Push(ctx context.Context, product string, r control.PushRequest, holder string) (control.PushAnswer, error) {
	state := make(map[devices.Field]devices.Tri, len(r.State))
	for f, v := range r.State {
		if state[f] = devices.Unknown; v != nil {
			state[f] = devices.Of(*v)
		}
	}
	// Clients that are behind already are not waited for: a flood of pushes must not wait in line.
	prompt := b.behind(b.engine.View().Snapshot.Generation) == 0
	pushed, err := b.engine.Push(engine.Push{
		Product: product, Serial: r.Serial, Owner: r.Owner, Seq: r.Seq, Holder: holder,
		TTL: time.Duration(r.TTLms) * time.Millisecond, State: state, At: time.Now(),
	})
	if err != nil {
		return control.PushAnswer{}, refusal(err)
	}
	generation := b.engine.View().Snapshot.Generation
	if prompt {
		b.awaitClients(ctx, generation)
	}
	answer := control.PushAnswer{Generation: generation, Units: pushed.Units, Until: pushed.Until, OtherSerials: pushed.Others}
	for _, s := range b.report.status().Sessions {
		if s.Generation >= generation && (s.State == rpcclient.Ready || s.State == rpcclient.Degraded) {
			answer.Clients++
		}
	}
	return answer, nil
}

// behind counts the clients that could have a list by now and have not.
func (b *backend) behind(generation uint64) (n int) {
	for _, s := range b.report.status().Sessions {
		if s.State == rpcclient.Ready && s.Generation < generation {
			n++
		}
	}
	return n
}

// clientsPatience is how long the answer to a push waits for clients to have the new list. They
// take about a millisecond.
const clientsPatience = 20 * time.Millisecond

func (b *backend) awaitClients(ctx context.Context, generation uint64) {
	ctx, cancel := context.WithTimeout(ctx, clientsPatience)
	defer cancel()
	for {
		changed := b.report.changes()
		if b.behind(generation) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// refusal says in the API's terms what was wrong with a push.
func refusal(err error) error {
	var unknown *engine.UnknownProductError
	var ambiguous *engine.AmbiguousError
	switch {
	case errors.As(err, &unknown):
		return &control.Refusal{
			Kind: control.ErrUnknown, Candidates: unknown.Known,
			Message: fmt.Sprintf("%v: it knows %s", err, strings.Join(unknown.Known, ", ")),
		}
	case errors.As(err, &ambiguous):
		return &control.Refusal{Kind: control.ErrAmbiguous, Message: err.Error(), Candidates: ambiguous.Serials()}
	case errors.Is(err, engine.ErrOvertaken):
		return &control.Refusal{Kind: control.ErrStale, Message: err.Error()}
	default:
		return &control.Refusal{Kind: control.ErrInvalid, Message: err.Error()}
	}
}

func (b *backend) Release(holder string) { b.engine.Release(holder) }

func (b *backend) Refresh() { b.refresh() }

func (b *backend) Reload() error { return b.reread() }

func (b *backend) Metrics() map[string]float64 {
	v, st := b.engine.View(), b.report.status()
	m := map[string]float64{
		"generation":         float64(v.Snapshot.Generation),
		"devices_reported":   float64(len(v.Snapshot.Devices)),
		"endpoints_withheld": float64(len(v.Snapshot.Withheld)),
		"pushes":             float64(len(v.Leases)),
		"deliveries_total":   float64(b.report.deliveries.Load()),
		"uptime_seconds":     time.Since(b.started).Seconds(),
		"sources":            float64(len(v.Sources)),
		"sources_ok":         0,
		"clients":            float64(len(st.Sessions)),
		"clients_served":     0,
		"clients_slow":       0,
	}
	for _, s := range v.Sources {
		if s.Condition == engine.Working {
			m["sources_ok"]++
		}
	}
	for _, s := range st.Sessions {
		if s.State == rpcclient.Ready || s.State == rpcclient.Degraded {
			m["clients_served"]++
		}
		if s.State == rpcclient.Slow {
			m["clients_slow"]++
		}
	}
	return m
}
