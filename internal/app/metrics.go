package app

import (
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"sidetone/internal/engine"
	"sidetone/internal/metrics"
	"sidetone/internal/platform/system"
	"sidetone/internal/rpcclient"
	"sidetone/internal/rpcclient/policy"
)

// answerBounds are the upper bounds of the histogram of answers, in seconds: a healthy client takes about a millisecond, and one in which
// requests queue up takes up to rpc.http_timeout.
var answerBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 90}

// clientCounters count what happens with clients.
type clientCounters struct {
	answers map[rpcclient.Transport]*metrics.Histogram // to lists

	mu     sync.Mutex
	events map[clientEvent]int
}

type clientEvent struct {
	event rpcclient.Event
	over  rpcclient.Transport
}

func newClientCounters() *clientCounters {
	c := &clientCounters{answers: make(map[rpcclient.Transport]*metrics.Histogram), events: make(map[clientEvent]int)}
	for _, over := range policy.Transports {
		c.answers[over] = metrics.NewHistogram(answerBounds)
	}
	return c
}

func (c *clientCounters) delivered(d rpcclient.Delivery) {
	c.answers[d.To.Transport].Observe(d.RoundTrip.Seconds())
}

func (c *clientCounters) event(e rpcclient.Event, over rpcclient.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events[clientEvent{e, over}]++
}

// perTransport makes a metric with a sample for each transport.
func perTransport(name string, of metrics.Type, help string, sample func(rpcclient.Transport) metrics.Sample) metrics.Family {
	f := metrics.Family{Name: name, Help: help, Type: of, Label: "transport"}
	for _, over := range policy.Transports {
		s := sample(over)
		s.Of = string(over)
		f.Samples = append(f.Samples, s)
	}
	return f
}

// families returns the metrics of what was counted.
func (c *clientCounters) families() []metrics.Family {
	c.mu.Lock()
	defer c.mu.Unlock()
	count := func(name, help string, events ...rpcclient.Event) metrics.Family {
		return perTransport(name, metrics.Counter, help, func(over rpcclient.Transport) (s metrics.Sample) {
			for _, e := range events {
				s.Value += float64(c.events[clientEvent{e, over}])
			}
			return s
		})
	}
	return []metrics.Family{
		count("sidetone_connections_total", "Connections to clients that were opened.", rpcclient.Connected, rpcclient.Reconnected),
		count("sidetone_reconnects_total",
			"Connections to a client that was connected to before and has not restarted since, as far as the system tells.", rpcclient.Reconnected),
		count("sidetone_connections_refused_total", "Connections that a client has refused, with a reason.", rpcclient.ConnectionRefused),
		count("sidetone_lists_refused_total", "Lists that a client has refused.", rpcclient.ListRefused),
		count("sidetone_token_waits_total", "How often a connection or a list had to wait for a client's rate limit.", rpcclient.TokenAwaited),
		perTransport("sidetone_answer_duration_seconds", metrics.Buckets,
			"Time from the sending of a list to the answer by which the client accepts it.",
			func(over rpcclient.Transport) metrics.Sample {
				return metrics.Sample{Distribution: c.answers[over].Distribution()}
			}),
	}
}

// Metrics writes counters, gauges and histograms in the text format of Prometheus to w.
func (a *App) Metrics(w io.Writer) error { return metrics.Write(w, a.families()) }

// families returns all metrics, which docs/metrics.md lists. Values that this system does not tell are left out.
func (a *App) families() []metrics.Family {
	view, sessions := a.engine.View(), a.report.Status().Sessions
	working := countOf(view.Sources, func(s engine.SourceStatus) bool { return s.Condition == engine.Working })
	inState := func(states ...rpcclient.State) float64 {
		return countOf(sessions, func(s rpcclient.Session) bool { return slices.Contains(states, s.State) })
	}
	gauge := func(name, help string, value float64) metrics.Family {
		return metrics.Family{Name: name, Help: help, Type: metrics.Gauge, Samples: []metrics.Sample{{Value: value}}}
	}
	all := slices.Concat([]metrics.Family{
		gauge("sidetone_generation", "Number of the list in force; it rises with every change.", float64(view.Snapshot.Generation)),
		gauge("sidetone_devices_reported", "Devices in the list in force.", float64(len(view.Snapshot.Devices))),
		gauge("sidetone_endpoints_withheld", "Endpoints that the catalogue knows and does not report.", float64(len(view.Snapshot.Withheld))),
		gauge("sidetone_sources", "Sources that are read.", float64(len(view.Sources))),
		gauge("sidetone_sources_ok", "Sources that work.", working),
		gauge("sidetone_pushes", "Pushed states that are in force, or wait for their product.", float64(len(view.Leases))),
		gauge("sidetone_clients", "Clients that were found.", float64(len(sessions))),
		gauge("sidetone_clients_served", "Clients that take lists.", inState(rpcclient.Ready, rpcclient.Degraded)),
		gauge("sidetone_clients_slow", "Clients whose answer is overdue.", inState(rpcclient.Slow)),
		{
			Name: "sidetone_deliveries_total", Help: "Lists that clients have accepted.", Type: metrics.Counter,
			Samples: []metrics.Sample{{Value: float64(a.report.deliveries.Load())}},
		},
	}, a.report.counters.families(), []metrics.Family{
		gauge("sidetone_uptime_seconds", "Time since the agent was started.", time.Since(a.started).Seconds()),
		gauge("process_start_time_seconds", "When the agent was started, in seconds since 1970.", float64(a.started.UnixMilli())/1000),
		gauge("go_goroutines", "Goroutines that exist.", float64(runtime.NumGoroutine())),
	})
	if bytes, err := system.ResidentMemory(); err == nil {
		all = append(all, gauge("process_resident_memory_bytes", "Memory that the process occupies.", float64(bytes)))
	}
	if n, err := system.OpenFiles(); err == nil {
		all = append(all, gauge("process_open_fds", "File descriptors that are open.", float64(n)))
	}
	return all
}

// countOf counts the elements that match.
func countOf[T any](list []T, is func(T) bool) (n float64) {
	for _, one := range list {
		if is(one) {
			n++
		}
	}
	return n
}
