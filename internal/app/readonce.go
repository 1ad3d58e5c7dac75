package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/health"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/hidio"
	"sidetone/internal/signal"
)

// lateListWait is how long ReadDevices waits for what a source may learn only after its first Read.
const lateListWait = 300 * time.Millisecond

// hidListTimeout bounds one look at the HID devices.
const hidListTimeout = 5 * time.Second

// ReadDevices reads all sources once, without an agent, and returns what they list and what the catalogue makes of it. An error means that
// they cannot be opened.
func ReadDevices(ctx context.Context, set *Settings, host Host, log *slog.Logger) ([]control.Source, control.Devices, error) {
	resolver, err := set.resolver()
	if err != nil {
		return nil, control.Devices{}, err
	}
	sources, err := set.openEndpoints(host, log, false, func() *catalogue.Resolver { return resolver })
	if err != nil {
		return nil, control.Devices{}, err
	}
	last := observe(ctx, sources)
	var in devices.Inputs
	states := []control.Source{}
	for _, src := range sources {
		o := last[src.Name()]
		st := engine.SourceStatus{Name: src.Name(), Condition: engine.Working, Endpoints: len(o.Endpoints), Notes: o.Notes}
		if st.Fail(o.Err); o.Err != nil {
			st.Condition = engine.Failing
		}
		states = append(states, sourceOf(st))
		in.Endpoints, in.Hardware = append(in.Endpoints, o.Endpoints...), append(in.Hardware, o.Hardware...)
	}
	return states, devicesOf(resolver.Resolve(in), in, resolver), nil
}

// Try reads what an agent needs to start, and nothing that another agent of the same user could notice. It returns how many endpoints there
// are. What a source cannot read now is no reason not to start.
func Try(ctx context.Context, set *Settings, host Host, log *slog.Logger) (endpoints int, err error) {
	ctx, cancel := context.WithTimeout(ctx, TryTimeout/2)
	defer cancel()
	if err := set.needCatalogue(); err != nil {
		return 0, err
	}
	if _, err := set.Engine(); err != nil {
		return 0, err
	}
	_, found, err := ReadDevices(ctx, set, host, log)
	return len(found.Endpoints), err
}

// observe reads all sources at once, gives them a moment for one more reading, and closes them.
func observe(ctx context.Context, sources []platform.Source) map[string]devices.Observation {
	var mu sync.Mutex
	last := make(map[string]devices.Observation)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first, followers sync.WaitGroup
	for _, src := range sources {
		once := sync.OnceFunc(first.Done)
		first.Add(1)
		followers.Go(func() {
			defer once()
			platform.Follow(ctx, src, nil, func(o devices.Observation) {
				mu.Lock()
				last[o.Source] = o
				mu.Unlock()
				once()
			})
		})
	}
	first.Wait()
	_ = signal.Sleep(ctx, lateListWait)
	cancel()
	followers.Wait()
	return last
}

// devicesOf returns what is known of devices, as the local API has it.
func devicesOf(s devices.Snapshot, in devices.Inputs, r *catalogue.Resolver) control.Devices {
	out := control.Devices{
		Generation: s.Generation, Endpoints: []control.Endpoint{},
		Reported: append([]devices.Report{}, s.Devices...), Withheld: append([]devices.Withheld{}, s.Withheld...),
		WithoutMicrophone: r.Group(in).WithoutMicrophone(in.Hardware),
	}
	for i, w := range out.Withheld {
		out.Withheld[i].Reason = health.English.Phrase(w.Condition())
	}
	considered := r.Explain(in)
	for _, e := range in.Endpoints {
		out.Endpoints = append(out.Endpoints, control.Endpoint{Endpoint: e, Considered: considered[e.Key()]})
	}
	return out
}

// ReadHID reads once, without an agent, the HID devices that the catalogue has rules for. It sends them nothing. It returns none where
// they cannot be listed; the agent's own source says why.
func ReadHID(ctx context.Context, set *Settings, host Host) []control.HID {
	resolver, err := set.resolver()
	if err != nil {
		return nil
	}
	rules := resolver.HID
	var mu sync.Mutex
	tracker := hid.NewTracker(rules)
	src, err := hidio.New(host.HIDRoot, rules, func(e hid.Event) {
		mu.Lock()
		defer mu.Unlock()
		tracker.Apply(e, time.Now())
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil // there are none on this system
	}
	defer src.Close()
	ctx, cancel := context.WithTimeout(ctx, hidListTimeout)
	defer cancel()
	if _, err := src.Read(ctx); err != nil {
		return nil
	}
	mu.Lock()
	defer mu.Unlock()
	var out []control.HID
	for _, st := range tracker.Status() {
		out = append(out, hidStatus(st))
	}
	return out
}
