package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/rpcclient"
)

// joinChanges announces the changes of the Engine and of the sessions.
func (a *App) joinChanges(ctx context.Context) {
	for {
		engine, clients := a.engine.Changed(), a.report.Changed()
		a.announce() // also of what changed between the last wake-up and the line above
		a.forgetEndedPause()
		select {
		case <-engine:
		case <-clients:
		case <-ctx.Done():
			return
		}
	}
}

// announce tells everybody who watches that something has changed.
func (a *App) announce() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
}

// nextChange returns a channel that is closed at the next change.
func (a *App) nextChange() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// Watch returns the present state, without the figures of the process, and a channel that is closed at the next change.
func (a *App) Watch() (control.Status, <-chan struct{}) {
	changed := a.nextChange()
	st, conditions := a.state()
	st.Conditions = control.ConditionsOf(conditions)
	return st, changed
}

// Status returns what the agent knows, and what its clients have, with the figures of its process.
func (a *App) Status() control.Status {
	st, _ := a.Watch()
	st.Process = a.process()
	return st
}

// state returns a Status without conditions, and the conditions, which have no words yet.
func (a *App) state() (control.Status, []health.Condition) {
	v, set := a.engine.View(), a.current()
	st := statusOf(v)
	st.Version, st.PID, st.Instance, st.Started = a.opts.Version, os.Getpid(), a.instance, a.started
	st.Vendor, st.Catalogue = set.Catalogue.Vendor.Name, set.Config.Catalogue
	st.Clients = sessions(a.report.Status())
	st.LogLevel = levelName(a.opts.LogLevel.Level())
	st.LogFile, st.NotifyMute = a.opts.LogFile, set.Config.Tray.NotifyMute
	st.Pause = pauseOf(v.Paused, set.Config.Pause.List)
	var conditions []health.Condition
	if refused := a.refused.Load(); refused != nil {
		conditions = append(conditions, *refused)
	}
	if set.Ignored != nil {
		conditions = append(conditions, *set.Ignored)
	}
	if a.safe {
		conditions = append(conditions, safeMode)
	}
	if untried := a.untried.Load(); untried != nil {
		conditions = append(conditions, *untried)
	}
	in, _ := a.engine.Inputs()
	return st, append(conditions, doctor.Standing(factsOf(st, v.Snapshot.Devices, in, time.Now()))...)
}

// statusOf returns what an Engine contributes to a status.
func statusOf(v engine.View) control.Status {
	st := control.Status{
		Generation: v.Snapshot.Generation, Changed: v.Snapshot.At,
		Sources: []control.Source{}, Products: control.ProductsOf(v.Snapshot.Devices), HID: []control.HID{}, Pushes: []control.Push{},
	}
	for _, s := range v.Sources {
		st.Sources = append(st.Sources, sourceOf(s))
	}
	for _, h := range v.HID {
		st.HID = append(st.HID, hidStatus(h))
	}
	for _, l := range v.Leases {
		st.Pushes = append(st.Pushes, control.Push{
			Product: l.Product, Serial: l.Serial, Owner: l.Owner,
			State: l.State, Until: l.Until, Unit: l.Unit, Units: l.Units,
		})
	}
	return st
}

// factsOf returns the facts by which an agent judges itself.
func factsOf(st control.Status, reported []devices.Report, in devices.Inputs, now time.Time) doctor.Facts {
	f := doctor.Facts{Status: &st, Sources: st.Sources, HID: st.HID, CataloguePath: st.Catalogue, Now: now}
	f.Devices.Reported = reported
	for _, e := range in.Endpoints {
		f.Devices.Endpoints = append(f.Devices.Endpoints, control.Endpoint{Endpoint: e})
	}
	return f
}

func sourceOf(s engine.SourceStatus) control.Source {
	return control.Source{
		Name: s.Name, Condition: string(s.Condition), Endpoints: s.Endpoints,
		Reason: control.ConditionOf(s.Reason), Remarks: control.ConditionsOf(s.Notes),
	}
}

func hidStatus(h hid.Status) control.HID {
	out := control.HID{
		Node: h.Node, Name: h.Name, VID: h.VID, PID: h.PID, Serial: h.Serial, Interface: h.Interface,
		Reason: control.ConditionOf(h.Reason), Sources: []control.HIDSource{},
	}
	for _, s := range h.Sensors {
		source := control.HIDSource{Product: s.Product, Rule: s.Rule, Via: s.Via, Value: s.Value, Since: s.Since}
		if s.Note != "" {
			source.Remark = control.ConditionOf(&health.Condition{Code: s.Note, Severity: health.Info})
		}
		out.Sources = append(out.Sources, source)
	}
	return out
}

// reasonOf returns the reason behind words, or these if there is none.
func reasonOf(words string, reason *health.Condition) *health.Condition {
	if reason == nil && words != "" {
		unnamed := health.Unnamed(words)
		return &unnamed
	}
	return reason
}

func sessions(st rpcclient.Status) control.Clients {
	out := control.Clients{
		State: string(st.State), Sessions: []control.Session{}, NextTry: st.NextTry,
		Reason: control.ConditionOf(reasonOf(st.Error, st.Reason)), Remarks: control.ConditionsOf(st.Notes),
	}
	for _, s := range st.Sessions {
		out.Sessions = append(out.Sessions, control.Session{
			State: string(s.State), Transport: string(s.Transport), Socket: s.Socket, Port: s.Port, PID: s.PID, Name: s.Name,
			Generation: s.Generation, Delivered: s.Delivered, Devices: s.Devices,
			Since: s.Since, Pending: s.Pending, Muted: s.Muted, Missing: s.Missing, NextTry: s.NextTry,
			Reason: control.ConditionOf(reasonOf(s.Error, s.Reason)),
		})
	}
	return out
}

// Devices returns what the OS says of endpoints, and what the catalogue makes of it.
func (a *App) Devices() control.Devices {
	in, r := a.engine.Inputs()
	return devicesOf(a.engine.View().Snapshot, in, r)
}

// Push applies what the vendor's software says, and gives clients a moment to accept it.
func (a *App) Push(ctx context.Context, product string, r control.PushRequest, holder string) (control.PushAnswer, error) {
	// There is no waiting if a client is behind already: a flood of pushes must not queue up.
	prompt := a.clientsBehind(a.report.generation()) == 0
	pushed, err := a.engine.Push(engine.Push{
		Product: product, Serial: r.Serial, Owner: r.Owner, Seq: r.Seq, Holder: holder,
		TTL: engine.Span(time.Duration(r.TTLms) * time.Millisecond), State: statesOf(r.State), At: time.Now(),
	})
	if err != nil {
		return control.PushAnswer{}, refusal(err)
	}
	if a.hid != nil {
		a.hid.Look() // what a device reports by itself from now on is known to be newer
	}
	generation := a.report.generation()
	if prompt {
		a.awaitClients(ctx, generation)
	}
	answer := control.PushAnswer{
		Generation: generation, Units: pushed.Units, Left: pushed.Left, Until: pushed.Until, OtherSerials: pushed.Others,
	}
	for _, s := range a.report.Status().Sessions {
		if s.Generation >= generation && (s.State == rpcclient.Ready || s.State == rpcclient.Degraded) {
			answer.Clients++
		}
	}
	return answer, nil
}

// statesOf returns what a request says, in which null takes a flag back.
func statesOf(said map[devices.Field]*bool) map[devices.Field]devices.Tri {
	state := make(map[devices.Field]devices.Tri, len(said))
	for field, value := range said {
		state[field] = devices.Unknown
		if value != nil {
			state[field] = devices.Of(*value)
		}
	}
	return state
}

// Release ends the pushes of holder that have no lease.
func (a *App) Release(holder string) { a.engine.Release(holder) }

// clientsBehind counts the clients that are ready and have not accepted that list.
func (a *App) clientsBehind(generation uint64) (n int) {
	for _, s := range a.report.Status().Sessions {
		if s.State == rpcclient.Ready && s.Generation < generation {
			n++
		}
	}
	return n
}

// clientsTimeout is how long the answer to a push waits for clients to accept the new list. They
// take about a millisecond.
const clientsTimeout = 20 * time.Millisecond

func (a *App) awaitClients(ctx context.Context, generation uint64) {
	ctx, cancel := context.WithTimeout(ctx, clientsTimeout)
	defer cancel()
	for {
		changed := a.report.Changed()
		if a.clientsBehind(generation) == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// refusal translates an Engine's error about a push for the API.
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
	case errors.Is(err, engine.ErrEnded):
		return &control.Refusal{Kind: control.ErrStopping, Message: err.Error() + ": push again when it runs"}
	case errors.Is(err, engine.ErrOvertaken):
		return &control.Refusal{Kind: control.ErrStale, Message: err.Error()}
	default:
		return &control.Refusal{Kind: control.ErrInvalid, Message: err.Error()}
	}
}
