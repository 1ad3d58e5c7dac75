//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/control"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
)

func TestPercentile(t *testing.T) {
	var hundred sample
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		s    sample
		p    int
		want time.Duration
	}{
		{nil, 50, 0},
		{sample{7}, 1, 7},
		{sample{7}, 99, 7},
		{sample{3, 1, 2}, 50, 2},
		{sample{3, 1, 2, 4}, 50, 2},
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
	} {
		require.Equal(t, c.want, c.s.percentile(c.p), "p%d of %v", c.p, c.s)
	}
	require.Equal(t, time.Duration(100), hundred[0], "the sample keeps its order")
	require.Equal(t, time.Duration(100), hundred.percentile(slowest))
}

func TestBusiest(t *testing.T) {
	all := func(list ...int) []time.Time {
		var out []time.Time
		for _, ms := range list {
			out = append(out, at(ms))
		}
		return out
	}
	for _, c := range []struct {
		times []time.Time
		want  int
	}{
		{nil, 0},
		{all(0), 1},
		{all(0, 999), 2},
		{all(0, 1000), 1},
		{all(0, 900, 1100, 1200, 1899, 2500), 4},
		{all(0, 0, 0), 3},
	} {
		require.Equal(t, c.want, busiest(c.times, time.Second), "%v", c.times)
	}
}

func TestReadUsage(t *testing.T) {
	before, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, before.rss)
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; { // use some CPU time
		_ = strings.Repeat("x", 1000)
	}
	time.Sleep(time.Millisecond) // a context switch at least
	after, err := readUsage(os.Getpid())
	require.NoError(t, err)
	require.Greater(t, after.cpu, before.cpu)
	require.Greater(t, after.switches, before.switches)

	_, err = readUsage(1 << 30)
	require.Error(t, err)
}

func TestReport(t *testing.T) {
	text := report([]row{
		{figure: "speed", measured: "1 ms", baseline: "2 ms", ratio: "0.50×", target: "≤ 1×", met: true, note: "A note."},
		{figure: "size", measured: "13 MiB", target: "≤ 12 MiB", note: "A note."},
		{figure: "wait", measured: "5 s"},
	}, []string{"CPU: fast"})
	require.Contains(t, text, "- CPU: fast\n")
	require.Contains(t, text, "| wait | 5 s | – | – | – | – |\n")
	require.NotContains(t, text, "- wait", "without a target nothing is missed")
	require.Contains(t, text, "| speed | 1 ms | 2 ms | 0.50× | ≤ 1× | yes |\n")
	require.Contains(t, text, "| size | 13 MiB | – | – | ≤ 12 MiB | **no** |\n")
	require.Equal(t, 1, strings.Count(text, "A note."))
	require.Contains(t, text, "## Missed targets\n\n- size: 13 MiB, target ≤ 12 MiB.\n")
	for _, m := range measurements {
		require.Contains(t, text, "-only "+m.name)
	}

	require.NotContains(t, report([]row{{met: true}}, nil), "Missed")
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	require.Len(t, all, len(measurements))
	one, err := choose("storm")
	require.NoError(t, err)
	require.Equal(t, "storm", one[0].name)
	_, err = choose("strom")
	require.ErrorContains(t, err, "storm")
}

func TestMethodKeepers(t *testing.T) {
	require.Empty(t, methodKeepers("main.main -> fmt.Println\n"))
	require.Equal(t, []string{"a.Run", "b.(*T).Export"}, methodKeepers("b.(*T).Export <ReflectMethod> -> x\n"+
		"a.Run <ReflectMethod>\nmain.main -> a.Run <ReflectMethod>\nb.(*T).Export <ReflectMethod>\n"))
}

// at returns a moment, in milliseconds of the test's own time.
func at(ms int) time.Time { return time.Unix(1, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestWakeUps(t *testing.T) {
	for _, c := range []struct {
		switches []int
		want     int
	}{
		{nil, 0},
		{[]int{5}, 0},
		{[]int{5, 5, 5}, 0},
		{[]int{5, 6, 6}, 1},
		{[]int{5, 6, 8, 8, 9}, 2},
		{[]int{5, 5, 4, 4}, 1}, // a thread has ended
	} {
		var readings []usage
		for _, n := range c.switches {
			readings = append(readings, usage{switches: n})
		}
		require.Equal(t, c.want, wakeUps(readings), "%v", c.switches)
	}
}

func TestWire(t *testing.T) {
	payload := []byte(`{"cmd":"SET_CERTIFIED_DEVICES","nonce":"1","args":{"devices":[]}}`)
	long := slices.Insert(slices.Clone(payload), 1, bytes.Repeat([]byte(" "), 1000)...)
	for _, s := range []setup{overIPC, overWebSocket, overHTTP} {
		over := s.transports[0]
		t.Run(string(over), func(t *testing.T) {
			p, err := s.open(t.TempDir())
			require.NoError(t, err)
			defer p.close()
			c := p.clients[0]
			w, err := wireTo(t.Context(), over, c.address(over))
			require.NoError(t, err)
			defer w.Close()
			for seq, payload := range [][]byte{payload, long, payload} {
				require.NoError(t, w.send(w.prepare(payload)))
				got, err := c.WaitPayload(t.Context(), seq)
				require.NoError(t, err)
				require.NoError(t, got.Err)
				require.Empty(t, got.Warnings)
				require.Equal(t, over, got.Transport)
				require.Equal(t, payload, got.Raw)
			}

			c.Stop()
			_, err = wireTo(t.Context(), over, c.address(over))
			require.ErrorContains(t, err, string(over))
		})
	}
}

func TestSettings(t *testing.T) {
	s := overHTTP
	s.clients = 2
	p, err := s.open(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{
		fmt.Sprintf("SIDETONE_RPC_PORTS=%d,%d", p.clients[0].Port(), p.clients[1].Port()),
		"SIDETONE_RPC_IPC_FOLDERS=" + p.folder, "SIDETONE_RPC_TRANSPORTS=http",
		"SIDETONE_CONTROL_SOCKET=" + filepath.Join(p.folder, "agent.sock"), "XDG_RUNTIME_DIR=" + p.folder, "XDG_STATE_HOME=" + p.folder,
		"SIDETONE_RPC_TOKEN_EVERY=1ms",
	}, p.settings())
	require.NoError(t, p.close())
	require.NoDirExists(t, p.folder)
	require.Equal(t, []string{"HOME=/x"}, withoutSettings([]string{"SIDETONE_LOG_LEVEL=debug", "HOME=/x", "SIDETONE_RPC_PORTS=1"}))
}

func TestComparison(t *testing.T) {
	c := comparison{agent: sample{3 * time.Millisecond}, bare: sample{time.Millisecond}}
	for _, k := range []struct {
		most   limit
		target string
		met    bool
	}{
		{limit{overBare: 2 * time.Millisecond}, "≤ 2.00 ms over the bare path", true},
		{limit{overBare: 2*time.Millisecond - 1}, "≤ 2.00 ms over the bare path", false},
		{limit{ratio: 3}, "≤ 3×", true},
		{limit{ratio: 2.5}, "≤ 2.5×", false},
		{limit{inAll: 3 * time.Millisecond}, "≤ 3.00 ms", true},
		{limit{inAll: time.Millisecond}, "≤ 1.00 ms", false},
	} {
		got := c.row("x", 50, "bare", k.most)
		require.Equal(t, row{
			figure: "x, p50 of 1", measured: "3.00 ms (p99 3.00 ms, slowest 3.00 ms)",
			baseline: "1.00 ms (p99 1.00 ms, slowest 1.00 ms), bare",
			ratio:    "3.00×", target: k.target, met: k.met,
		}, got)
	}
	require.Equal(t, "no target", c.row("x", 50, "bare", limit{}).verdict())
}

func TestInTurns(t *testing.T) {
	var order []string
	named := func(name string, took time.Duration) round {
		return func(context.Context) sample {
			order = append(order, name)
			return sample{took, took}
		}
	}
	c := inTurns(t.Context(), 2, named("agent", 2), named("bare", 1))
	require.Equal(t, []string{"bare", "agent", "bare", "agent"}, order)
	require.Equal(t, comparison{agent: sample{2, 2, 2, 2}, bare: sample{1, 1, 1, 1}}, c)
}

func TestAFailureEndsTheMeasurement(t *testing.T) {
	var b bench
	var order []string
	open := func(context.Context, *bench) *lab {
		b.cleanup(func() error { order = append(order, "lab"); return os.ErrExist })
		return nil
	}
	_, err := b.measureOne(t.Context(), measurement{labs: []openLab{open}, measure: func(ctx context.Context, b *bench, _ []*lab) []row {
		b.cleanup(func() error { order = append(order, "child"); return nil })
		defer func() { order = append(order, "deferred") }()
		b.step = "over ipc"
		b.check(nil)
		inTurns(ctx, 2, func(context.Context) sample { order = append(order, "agent"); return nil }, func(context.Context) sample {
			b.check(os.ErrClosed)
			return nil
		})
		return nil
	}})
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorIs(t, err, os.ErrExist, "what fails at the end counts, too")
	require.EqualError(t, err, "over ipc: file already closed\nfile already exists", "only the failure is of the step")
	require.Equal(t, []string{"deferred", "child", "lab"}, order)
}

func TestProgramsCheckTheirArguments(t *testing.T) {
	for name, program := range programs {
		require.ErrorContains(t, program(t.Context(), nil), "need", name)
	}
}

// openPlace starts one client of a measurement.
func openPlace(t *testing.T, s setup) *child {
	p, err := s.open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.close()) })
	b := &bench{}
	t.Cleanup(func() {
		b.runCleanups()
		require.NoError(t, b.failed)
	})
	c := &child{bench: b, name: "program", place: p, log: filepath.Join(t.TempDir(), "log"), waiting: t.Context()}
	require.NoError(t, os.WriteFile(c.log, []byte("last words"), 0o600))
	return c
}

// runs runs one of the programs beside the test.
func runs(t *testing.T, program func(context.Context, []string) error, args ...string) {
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- program(ctx, args) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
}

func arrives(t *testing.T, c *child, what string, wanted func(fakeserver.Payload) bool) {
	require.NoError(t, c.await(t.Context(), c.clients[0], what, wanted))
}

// preparedPayloads stand for those of the agent.
func preparedPayloads(t *testing.T) string {
	dir := t.TempDir()
	for _, mute := range []bool{false, true} {
		var list []fakeserver.Device
		for _, kind := range []string{"audioinput", "audiooutput"} {
			list = append(list, fakeserver.Device{
				Type: kind, ID: kind, Vendor: fakeserver.Named{Name: "A", URL: "https://a.example"},
				Model: fakeserver.Named{Name: "B", URL: "https://b.example"}, Related: []string{},
			})
		}
		list[0].HardwareMute = &mute
		text, err := json.Marshal(map[string]any{"cmd": "SET_CERTIFIED_DEVICES", "nonce": "1", "args": map[string]any{"devices": list}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(payloadFile(dir, mute), text, 0o600))
	}
	return dir
}

// plugHID plugs a headset into a lab of its own.
func plugHID(t *testing.T) (root string, headset *testlab.HIDNode) {
	root = t.TempDir()
	lab, err := testlab.NewHIDTree(root)
	require.NoError(t, err)
	headset, err = lab.Plug(hidHeadset)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, headset.Unplug()) })
	return root, headset
}

// turnAndSee turns the headset's switch a few times.
func turnAndSee(t *testing.T, headset *testlab.HIDNode, c *child) {
	arrives(t, c, "the headset", lists)
	for _, mute := range []bool{true, false, true} {
		require.NoError(t, headset.Report([]byte{phoneReport + 1, 7})) // of which nothing follows
		require.NoError(t, headset.Report(muteReport(mute)))
		arrives(t, c, fmt.Sprint("the mute ", mute), func(p fakeserver.Payload) bool { return mutes(p, mute) })
	}
}

func TestHIDAgent(t *testing.T) {
	for _, s := range []setup{overIPC, overWebSocket} {
		t.Run(string(s.transports[0]), func(t *testing.T) {
			root, headset := plugHID(t)
			c := openPlace(t, s)
			for _, setting := range c.settings() {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			runs(t, runHIDAgent, root)
			turnAndSee(t, headset, c)
			require.Equal(t, s.transports[0], c.clients[0].last.Transport)
		})
	}
}

func TestHIDBare(t *testing.T) {
	_, headset := plugHID(t)
	c := openPlace(t, overIPC)
	runs(t, programs[hidBare], headset.Path(), string(fakeserver.IPC), c.clients[0].IPCPath(), preparedPayloads(t))
	arrives(t, c, "the headset", lists)
	for i, mute := range []bool{true, false, false, true} {
		require.NoError(t, headset.Report(muteReport(mute)))
		p, err := c.clients[0].WaitPayload(t.Context(), 1+i)
		require.NoError(t, err)
		require.True(t, mutes(p, mute))
	}
}

func TestPushes(t *testing.T) {
	c := openPlace(t, overIPC)
	runs(t, programs[pushBare], c.controlSocket(), string(fakeserver.IPC), c.clients[0].IPCPath(), preparedPayloads(t))
	arrives(t, c, "the headset", lists)
	require.Len(t, alternatePushes(t.Context(), c, 4), 4)
	require.True(t, mutes(c.clients[0].last, false))

	p, err := dialPusher(t.Context(), c.controlSocket())
	require.NoError(t, err)
	defer p.Close()
	require.ErrorContains(t, p.push(1, "{}"), "400")
	require.NoError(t, p.push(1, muted(true)), "the connection is kept")
}

func TestFlood(t *testing.T) {
	c := openPlace(t, overIPC)
	args := []string{c.controlSocket(), string(fakeserver.IPC), c.clients[0].IPCPath(), preparedPayloads(t)}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- programs[pushBare](ctx, args) }()
	arrives(t, c, "the headset", lists)
	f := connectPushers(t.Context(), c)
	require.NoError(t, f.makeChanges(t.Context(), 10_000, 100*time.Millisecond))
	require.NoError(t, f.last(t.Context(), int(f.next.Add(1))))
	sent := int(f.sent.Load()) + 1
	require.Greater(t, sent, 1)
	last, err := c.clients[0].WaitPayload(t.Context(), sent) // one more came before the pushes
	require.NoError(t, err)
	require.Equal(t, sent+1, last.Seq)
	require.Equal(t, last.Seq, c.newest().Seq)
	require.True(t, mutes(last, true))
	require.False(t, f.isLast(last), "the bare server knows one flag only")
	yes := true
	last.Devices[0].NoiseSuppression = &yes
	require.True(t, f.isLast(last))

	stop()
	require.NoError(t, <-ended)
	require.ErrorContains(t, f.makeChanges(t.Context(), 10_000, time.Hour), "10000 times a second")
}

func TestWave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var made []int
		f := &changer{sources: []func(context.Context, int) error{func(_ context.Context, n int) error {
			require.Equal(t, time.Duration(n)*100*time.Microsecond, time.Since(began))
			made = append(made, n)
			return nil
		}}}
		require.NoError(t, f.makeChanges(t.Context(), 10_000, 10*time.Millisecond))
		require.Len(t, made, 100)
		require.Equal(t, 99, made[99])
		require.EqualValues(t, 100, f.sent.Load())

		f.sources[0] = func(context.Context, int) error {
			time.Sleep(time.Millisecond)
			return nil
		}
		require.NoError(t, f.makeChanges(t.Context(), 10_000, 10*time.Millisecond))
		require.EqualValues(t, 110, f.sent.Load(), "what could not be made in time is not made up for")
	})
}

func TestComplete(t *testing.T) {
	st := control.Status{Products: []control.Product{{}}}
	for _, state := range []rpcclient.State{rpcclient.Ready, rpcclient.Ready, rpcclient.Connecting} {
		st.Clients.Sessions = append(st.Clients.Sessions, control.Session{State: string(state)})
	}
	said, err := json.Marshal(st)
	require.NoError(t, err)
	require.NoError(t, complete(said, 2))
	require.ErrorContains(t, complete(said, 3), "2 clients")
	require.ErrorContains(t, complete([]byte("{}"), 0), "0 products")
	require.Error(t, complete([]byte("sidetone"), 2))
}
