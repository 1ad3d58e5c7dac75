package control

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/local"
	"sidetone/internal/memnet"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ipctest.Kept) }

// fake is a Backend that remembers what it was asked.
type fake struct {
	mu       sync.Mutex
	status   Status
	changed  chan struct{}
	pushes   map[string][]PushRequest // by holder
	products []string
	released map[string]int
	refused  error         // what Push answers
	broken   error         // what Reload and Bundle answer
	block    chan struct{} // what Push waits for
	deaf     bool          // Push does so even when it is told to give up
	entered  chan struct{} // has an element for each Push that has begun
	calls    map[string]int
	paused   PauseRequest
	lines    chan string // of recordings; closed: the agent has no more
}

func newFake() *fake {
	gone, note := health.Unnamed("gone"), ConditionsOf(health.Explained("a note"))
	return &fake{
		status: Status{
			Version: "1.4.0", PID: 4711, Started: at(0), Vendor: "Acme", Catalogue: "/acme.yaml", Generation: 7, Changed: at(1),
			Sources: []Source{
				{Name: "audio", Condition: "ok", Endpoints: 3, Remarks: note},
				{Name: "camera", Condition: "failing", Reason: ConditionOf(&gone)},
			},
			Products: []Product{headset(devices.False)},
			HID: []HID{{
				Node: "hidraw3", Name: "Acme 700", VID: "1209", PID: "0700", Serial: "A1", Interface: 3, Reason: ConditionOf(&gone),
				Sources: []HIDSource{{Product: "acme-700", Rule: "sources[0]"}},
			}},
			Pushes: []Push{{
				Product: "acme-700", Serial: "A1", Owner: "suite",
				State: map[devices.Field]devices.Tri{devices.HardwareMute: devices.False}, Until: at(9), Units: 1,
			}},
			Clients: Clients{
				State: "ready", Remarks: note, NextTry: at(5), Reason: ConditionOf(&gone), Sessions: []Session{
					{State: "ready", Transport: "ipc", Socket: "/run/discord-ipc-0", PID: 9, Name: "Discord", Generation: 7, Delivered: at(2), Devices: 1},
					{State: "refused", Transport: "http", Port: 6463, NextTry: at(5), Reason: ConditionOf(&gone)},
				},
			},
			Process:  &Process{MemoryBytes: 1 << 24, OpenFiles: 17, Goroutines: 30, Events: map[string]map[string]uint64{"delivered": {"ipc": 5}}},
			LogLevel: "info", Pause: &Pause{Until: at(5), List: devices.PauseUnmuted},
			Conditions: ConditionsOf([]health.Condition{
				{Code: health.SourceUnreadable, Severity: health.Problem, Subject: "camera", Because: []health.Condition{gone}},
			}),
		},
		changed: make(chan struct{}), pushes: map[string][]PushRequest{}, released: map[string]int{}, calls: map[string]int{},
		entered: make(chan struct{}, 1000), lines: make(chan string),
	}
}

func at(minute int) time.Time { return time.Date(2026, 3, 1, 8, minute, 0, 250e6, time.UTC) }

func headset(mute devices.Tri) Product {
	return Product{ID: "acme-700", Name: "Acme 700", Unit: "acme-700 usb-1-2", Devices: []Device{{
		Type: devices.AudioInput, ID: "mic",
		Flags: map[devices.Field]devices.Flag{
			devices.HardwareMute:     {Value: mute, Origin: devices.Origin{Via: "push", Detail: "suite"}, Since: at(1)},
			devices.EchoCancellation: {},
		},
	}}}
}

// set changes the status, and all watchers hear of it.
func (f *fake) set(change func(*Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.status)
	f.status.Generation++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) count(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[name]++
}

func (f *fake) Status() Status {
	f.count("status")
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (f *fake) Watch() (Status, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls["watch"]++
	return f.status, f.changed
}

func (f *fake) Devices() Devices {
	f.count("devices")
	yes := true
	key := devices.Key{Source: "audio", Type: devices.AudioInput, ID: "mic"}
	flag := devices.Flag{Value: devices.True, Origin: devices.Origin{Via: "push", Stale: true}, Since: at(3)}
	return Devices{
		Generation: 7,
		Endpoints: []Endpoint{{
			Endpoint: devices.Endpoint{
				Source: "audio", ID: "mic", Type: devices.AudioInput, Name: "Acme <700> Mono", Bus: devices.USB, VID: "1209", PID: "0700",
				Serial: "A1", Container: "usb-1-2",
				BusInfo: "usb-0000", Virtual: true, Master: "m", Default: true, Plugged: devices.True, Mute: devices.False, MuteInHardware: true,
				Effects: map[devices.Field]devices.Tri{devices.EchoCancellation: devices.Unknown}, Mixer: "controlC1",
				Controls: map[string]devices.Tri{"Mic": devices.True},
				SeenBy:   []string{"pulse"}, Attached: at(0), Changed: map[string]time.Time{"mute": at(1)}, Stale: true,
			},
			Considered: map[devices.Field][]devices.Considered{devices.HardwareMute: {{Rule: "push", Flag: flag}, {Rule: "sources[0]"}}},
		}, {Endpoint: devices.Endpoint{ID: "cam", Type: devices.VideoInput}}},
		Reported: []devices.Report{{
			Device: devices.Device{
				Type: devices.AudioInput, ID: "mic", Related: []string{"out"}, HardwareMute: &yes, EchoCancellation: &yes, NoiseSuppression: &yes,
				AutomaticGainControl: &yes,
			},
			Product: "acme-700", Unit: "u", Endpoints: []devices.Key{key}, Flags: map[devices.Field]devices.Flag{devices.HardwareMute: flag},
		}},
		Withheld: []devices.Withheld{{Key: key, Name: "x", Reason: "why"}},
	}
}

func (f *fake) Timeline() timeline.Timeline {
	f.count("timeline")
	return timeline.Timeline{Version: timeline.Version, From: at(0), To: at(9), Omitted: true, Lanes: []timeline.Lane{
		{Subject: timeline.Subject{Kind: timeline.KindAgent}, Changes: []timeline.Change{{At: at(0), To: timeline.Started, Detail: "1.4.0"}}},
		{
			Subject: timeline.Subject{
				Kind: timeline.KindAcknowledged, Client: "Discord", Product: "acme-700", Name: "Acme 700", Number: 2, Device: "mic",
				Flag: devices.HardwareMute,
			},
			AtStart: timeline.False,
			Changes: []timeline.Change{{
				At: at(1), Until: at(2), Count: 3, From: timeline.False, To: timeline.True,
				Origin: &devices.Origin{Via: "push"},
			}},
		},
		{
			Subject: timeline.Subject{Kind: timeline.KindCondition, Condition: &health.Condition{
				Code:     health.SourcesNone,
				Severity: health.Problem,
			}},
			Changes: []timeline.Change{},
		},
	}}
}

func (f *fake) Push(ctx context.Context, product string, r PushRequest, holder string) (PushAnswer, error) {
	f.entered <- struct{}{}
	if f.deaf {
		<-f.block
	}
	if f.block != nil {
		select {
		case <-f.block:
		case <-ctx.Done():
			return PushAnswer{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused != nil {
		return PushAnswer{}, f.refused
	}
	f.products = append(f.products, product)
	f.pushes[holder] = append(f.pushes[holder], r)
	return PushAnswer{Generation: 8, Units: 1, Clients: 2}, nil
}

func (f *fake) Release(holder string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.released[holder]++
}

func (f *fake) pushed() (all []PushRequest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, list := range f.pushes {
		all = append(all, list...)
	}
	return all
}

func (f *fake) releases() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int{}
	for holder, n := range f.released {
		out[holder] = n
	}
	return out
}

func (f *fake) Refresh()      { f.count("refresh") }
func (f *fake) Reload() error { f.count("reload"); return f.broken }

func (f *fake) Stop(_ context.Context, list StopList) { f.count("stop " + string(list)) }

func (f *fake) SetLogLevel(level string) error {
	f.count("level " + level)
	return f.broken
}

func (f *fake) Resume() { f.count("resume") }

// Pause answers with all that there may be in one.
func (f *fake) Pause(r PauseRequest) (Pause, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.paused = r
	return Pause{Until: at(5), List: devices.PauseEmpty}, nil
}

func (f *fake) Upgrade(context.Context) error {
	f.count("upgrade")
	return f.broken
}

// Record writes lines until it is told to end, and then a last one.
func (f *fake) Record(ctx context.Context, write func(lines []byte) error) error {
	for {
		select {
		case line, more := <-f.lines:
			if !more {
				return nil
			}
			if err := write([]byte(line + "\n")); err != nil {
				f.count("record broke")
				return err
			}
		case <-ctx.Done():
			return write([]byte(`{"end":{}}` + "\n"))
		}
	}
}

func (f *fake) Bundle(w io.Writer) error {
	if f.broken != nil {
		return f.broken
	}
	z := zip.NewWriter(w)
	entry, err := z.Create("status.json")
	if err == nil {
		_, err = io.WriteString(entry, "{}")
	}
	return errors.Join(err, z.Close())
}

// stand is a server on a real socket, or on one in memory.
type stand struct {
	t       testing.TB
	backend *fake
	server  *Server
	dial    Dialer
	path    string // "": in memory
	stop    func() // ends the server and waits for that
	open    atomic.Int64
	log     *testlab.Output
}

// serve starts a server until the test ends. Limits are those of the product where tune does
// not change them.
func serve(t testing.TB, tune func(*limits)) *stand {
	t.Helper()
	return serveOn(t, tune, func(l net.Listener) net.Listener { return l })
}

// serveOn is like serve, on what of makes of the listener.
func serveOn(t testing.TB, tune func(*limits), of func(net.Listener) net.Listener) *stand {
	t.Helper()
	path := ipctest.Path(t)
	l, err := ipctest.Listen(path)
	require.NoError(t, err)
	s := newStand(t, tune, l, of)
	s.path = path
	s.dial = func(ctx context.Context) (net.Conn, error) { return ipctest.Dial(ctx, path) }
	return s
}

// inVirtualTime runs a test of limits that are so short that a busy machine would exceed them by itself.
func inVirtualTime(t *testing.T, tune func(*limits), test func(t *testing.T, s *stand)) {
	t.Helper()
	inVirtualTimeOn(t, tune, func(l net.Listener) net.Listener { return l }, test)
}

// inVirtualTimeOn is like inVirtualTime, on what of makes of the listener.
func inVirtualTimeOn(t *testing.T, tune func(*limits), of func(net.Listener) net.Listener, test func(t *testing.T, s *stand)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		process := memnet.New(memnet.Options{}).Process(local.Process{PID: 1})
		l, port, err := process.ListenPort([]int{1})
		require.NoError(t, err)
		s := newStand(t, tune, l, of)
		s.dial = func(ctx context.Context) (net.Conn, error) { return process.DialPort(ctx, port) }
		test(t, s)
	})
}

// counting counts the connections that are accepted and not closed.
type counting struct {
	net.Listener
	open *atomic.Int64
}

type counted struct {
	net.Conn
	close func()
}

func (l counting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return counted{c, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

func (c counted) Close() error {
	defer c.close()
	return c.Conn.Close()
}

func (c counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// served is how many connections the server has.
func (s *stand) served() int { return int(s.open.Load()) }

func newStand(t testing.TB, tune func(*limits), l net.Listener, of func(net.Listener) net.Listener) *stand {
	s := &stand{t: t, backend: newFake(), log: &testlab.Output{}}
	l = of(counting{l, &s.open})
	limits := defaultLimits
	if tune != nil {
		tune(&limits)
	}
	s.server = newServer(s.backend, slog.New(slog.NewTextHandler(s.log, nil)), limits)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(ctx, l) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(s.stop)
	return s
}

// raw is a connection on which a test writes what it likes, for at most 20 s.
func (s *stand) raw() net.Conn {
	s.t.Helper()
	c, err := s.dial(s.t.Context())
	require.NoError(s.t, err)
	s.t.Cleanup(func() { c.Close() })
	require.NoError(s.t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

func (s *stand) client() *Client { return NewClient(s.dial) }

// ask sends one request and returns the answer, which has been checked against the document.
func (s *stand) ask(method, path, body string, header ...string) (*http.Response, string) {
	s.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = bytes.NewReader([]byte(body))
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://sidetone", reader)
	require.NoError(s.t, err)
	r.URL.Opaque = path
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else if header[i+1] == "-" {
			r.Header.Del(header[i])
		} else {
			r.Header[header[i]] = []string{header[i+1]}
		}
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		raw, err := s.dial(ctx)
		if err != nil {
			return nil, err
		}
		return newRequestConn(raw, make(chan struct{})), nil
	}}
	answer, err := transport.RoundTrip(r)
	require.NoError(s.t, err)
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	documented(s.t, method, path, answer, got)
	return answer, string(got)
}

// files is how many files and sockets this process has open. On Windows it is 0: handles are also those of threads and timers, and the
// files that Linux tells of a program under Wine are also Wine's own.
func files(t testing.TB) int {
	if runtime.GOOS == "windows" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

const aPush = `{"owner":"suite","ttl_ms":1000,"state":{"hardware_mute":true}}`

// request is a push as it is on the wire.
func request(body string, header string) string {
	return fmt.Sprintf("PUT /v1/states/acme-700 HTTP/1.1\r\n"+
		"Host: sidetone\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", header, len(body), body)
}
