package conform

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/ipctest"
)

// launch starts a fake server on the machine, with IPC unless its profile has none.
func (m machine) launch(t *testing.T, opts fakeserver.Options) (*fakeserver.Server, Target) {
	t.Helper()
	opts.Ports, opts.IPCDir, opts.Network = []int{0}, "/run", m.server
	return start(t, opts)
}

// launch starts a fake server on real sockets.
func launch(t *testing.T, opts fakeserver.Options) (*fakeserver.Server, Target) {
	t.Helper()
	opts.Ports, opts.IPCDir = []int{0}, ipctest.Folder(t)
	return start(t, opts)
}

func start(t *testing.T, opts fakeserver.Options) (*fakeserver.Server, Target) {
	t.Helper()
	srv, err := fakeserver.Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	target := Target{URL: srv.URL()}
	if opts.Profile != fakeserver.Squatter {
		target.IPC = srv.IPCPath()
	}
	return srv, target
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts   fakeserver.Options
		refill time.Duration
		origin string
	}{
		"documented":      {opts: fakeserver.Options{}, refill: time.Minute},
		"desktop":         {opts: fakeserver.Options{Profile: fakeserver.Desktop, Refill: 500 * time.Millisecond}, refill: 500 * time.Millisecond},
		"desktop-2026-02": {opts: fakeserver.Options{Profile: fakeserver.DesktopFebruary2026, Refill: 500 * time.Millisecond}, refill: 500 * time.Millisecond},
		"desktop-origin":  {opts: fakeserver.Options{Profile: fakeserver.Desktop, Bucket: -1, Origins: []string{"https://acme.example"}}, refill: time.Minute, origin: "https://acme.example"},
		"arrpc":           {opts: fakeserver.Options{Profile: fakeserver.ArRPC}, refill: 2 * time.Second},
		"squatter":        {opts: fakeserver.Options{Profile: fakeserver.Squatter}, refill: time.Minute},
		"blackhole":       {opts: fakeserver.Options{Profile: fakeserver.Blackhole}, refill: 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				srv, target := m.launch(t, c.opts)
				target.Origin = c.origin
				report := m.conform(t, target, Options{All: true, Refill: c.refill, Patience: 1500 * time.Millisecond})
				golden(t, name, masked(table(report)))
				require.Empty(t, srv.DevicesOf(ExampleClientID))
			})
		})
	}
}

// Where builds of the client differ, the report says which of them the server is like.
func TestBuildsOfTheClient(t *testing.T) {
	t.Parallel()
	for profile, build := range map[fakeserver.Profile]string{
		fakeserver.Desktop:             "same, builds after Feb 2026",
		fakeserver.DesktopFebruary2026: "same, builds until Feb 2026",
	} {
		inMemory(t, func(t *testing.T, m machine) {
			_, target := m.launch(t, fakeserver.Options{Profile: profile})
			target.URL = ""
			report := m.conform(t, target, Options{All: true})
			require.Equal(t, report.Client().Said, report.Client().Same)
			require.Equal(t, 2, strings.Count(report.Text(), build), report.Text())
			require.Equal(t, 3+2, strings.Count(string(report.JSON()), `"build": "`), "and three lines in which only builds of 2024 differ")
			require.Empty(t, report.Notes)
		})
	}
}

// A server that does in one thing what older builds do, and in another what newer ones do, is like none of them.
func TestNoBuildDoesBoth(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		_, target := m.launch(t, fakeserver.Options{})
		target.URL = ""
		report := m.conform(t, target, Options{All: true})
		require.Contains(t, report.Notes, "No known build of the client does all of it: in ipc-wrong-v the server is like builds of 2024, "+
			"in payload-unknown-key like builds since 2025.")
	})
}

// What waits in line is let in like what came before it.
func TestALineThatIsCutOff(t *testing.T) {
	answers := []string{ready, ready, closeWith(1006)}
	r := &run{limits: map[Transport]bool{}, opts: Options{Refill: time.Minute}}
	o, err := rate(IPC, func(context.Context, *run) (outcome, error) {
		o := outcome{got: answers[0]}
		answers = answers[1:]
		return o, nil
	})(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, closeWith(1006), o.got)
	require.Empty(t, r.limits)
}

// A connection that ends only while the crowd comes has its place taken by the last of it; then another was turned away.
func TestACrowdWhileAnotherConnectionEnds(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		_, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Desktop})
		early, err := m.dial(t.Context(), networkIPC, target.IPC)
		require.NoError(t, err)
		dials := 0
		r := &run{target: target, opts: Options{Patience: time.Second, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			if dials == tooManyConnections {
				synctest.Wait()
				require.NoError(t, early.Close())
				synctest.Wait()
			}
			return m.dial(ctx, network, address)
		}}}
		o, err := manyConnections(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, closeWith(1006), o.got)
	})
}

func TestQuickRunSpendsTwoTokens(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		srv, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Desktop, Refill: time.Hour})
		o := Options{Refill: time.Hour, Patience: time.Second}
		report := m.conform(t, target, o) // whoever needs a third token does not finish
		golden(t, "desktop-quick", table(report))
		require.Empty(t, srv.DevicesOf(ExampleClientID))
		require.NotEmpty(t, srv.Payloads())
	})
}

func TestQuickRunOverTCPAlone(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		_, target := m.launch(t, fakeserver.Options{})
		target.IPC = ""
		report := m.conform(t, target, Options{})
		golden(t, "documented-quick", table(report))
		require.Equal(t, report.Spec().Said, report.Spec().Same)
	})
}

// TestABodyThatStalls is answered, and ends its connection: a fake client waits for nobody for ever.
func TestABodyThatStalls(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		_, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Squatter})
		c, err := m.dial(t.Context(), "tcp", strings.TrimPrefix(target.URL, "http://"))
		require.NoError(t, err)
		defer c.Close()
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
		_, err = fmt.Fprint(c, "POST /rpc?v=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nx")
		require.NoError(t, err)
		answer, err := io.ReadAll(c)
		require.NoError(t, err, "%s", answer)
		require.Contains(t, string(answer), "404 Not Found")
	})
}

func TestAFlakyServerEndsNoRun(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			inMemory(t, func(t *testing.T, m machine) {
				_, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Flaky, Seed: seed, Refill: 100 * time.Millisecond})
				report, err := Run(t.Context(), target, Options{
					All: true, Refill: 100 * time.Millisecond, Patience: 500 * time.Millisecond, Dial: m.dial,
				})
				require.NotNil(t, report)
				if err != nil { // it plays offline now and then
					require.ErrorAs(t, err, new(*UnreachableError))
				}
				require.Len(t, report.Checks, len(checks(target)))
				require.Equal(t, fingerprint, find(t, report, "http-root").Got)
			})
		})
	}
}

// An answer that stands in line is not taken for silence.
func TestATokenThatSomebodyElseHasSpent(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, m machine) {
		srv, target := m.launch(t, fakeserver.Options{Profile: fakeserver.Desktop})
		r := &run{target: target, opts: Options{Patience: time.Second, Refill: DefaultRefill, Dial: m.dial}, buckets: map[string]*tokenEstimate{}}
		r.target.ClientID = ExampleClientID
		require.NoError(t, r.checkReachable(t.Context()))
		for range capacity {
			o, err := takePost(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, httpSuccess, o.got)
		}
		require.Equal(t, capacity, srv.Stats().Spent)
		target.IPC = ""
		report := m.conform(t, target, Options{Patience: time.Second})
		require.Equal(t, httpSuccess, find(t, report, "http-empty-list").Got)
		require.Equal(t, closeWith(4001), find(t, report, "ws-no-origin").Got)
	})
}

func TestARunThatIsCutShortLeavesNoDevices(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(deadline(t))
	srv, target := launch(t, fakeserver.Options{OnPayload: func(p fakeserver.Payload) {
		if len(p.Devices) > 0 && p.Err == nil {
			cancel()
		}
	}})
	report, err := Run(ctx, target, Options{})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, report.Checks, len(checks(target)))
	require.Equal(t, "the run broke off", find(t, report, "payload-empty-list").Why)
	require.Empty(t, report.Notes)
	require.Empty(t, srv.DevicesOf(ExampleClientID))
	payloads := srv.Payloads()
	require.NotEmpty(t, payloads[len(payloads)-1].Previous, "there was something to take back")
}

func TestAServerThatGoesAway(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	serve(t, ln, func(c net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
			_ = ln.Close()
		}
	})
	report, err := Run(deadline(t), Target{URL: "http://" + ln.Addr().String()}, Options{})
	require.ErrorAs(t, err, new(*UnreachableError))
	require.Equal(t, "connection refused", find(t, report, "http-other-path").Why)
	require.Contains(t, strings.Join(report.Notes, "\n"), "The last check that reached it was http-root.")
}
