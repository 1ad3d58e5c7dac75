//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	require.Equal(t, time.Duration(100), hundred.max())
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
	require.Greater(t, after.read, before.read)

	_, err = readUsage(1 << 30)
	require.Error(t, err)
}

func TestReport(t *testing.T) {
	text := report([]row{
		{figure: "speed", measured: "1 ms", baseline: "2 ms", ratio: "0.50×", target: "≤ 1×", met: true, note: "A note."},
		{figure: "size", measured: "13 MiB", target: "≤ 12 MiB", note: "A note.", excuse: "It is fat."},
		{figure: "wait", measured: "5 s", excuse: "It waits."},
	}, []string{"CPU: fast"})
	require.Contains(t, text, "- CPU: fast\n")
	require.Contains(t, text, "| wait | 5 s | – | – | – | – |\n")
	require.NotContains(t, text, "It waits.", "without a target nothing is missed")
	require.Contains(t, text, "| speed | 1 ms | 2 ms | 0.50× | ≤ 1× | yes |\n")
	require.Contains(t, text, "| size | 13 MiB | – | – | ≤ 12 MiB | **no** |\n")
	require.Equal(t, 1, strings.Count(text, "A note."))
	require.Contains(t, text, "## Missed targets\n\n- size: 13 MiB, target ≤ 12 MiB. It is fat.\n")
	for _, m := range measures {
		require.Contains(t, text, "-only "+m.name)
	}

	require.NotContains(t, report([]row{{met: true}}, nil), "Missed")
}

func TestChoose(t *testing.T) {
	all, err := choose("")
	require.NoError(t, err)
	require.Len(t, all, len(measures))
	one, err := choose("storm")
	require.NoError(t, err)
	require.Equal(t, "storm", one[0].name)
	_, err = choose("strom")
	require.ErrorContains(t, err, "storm")
}

func TestBudgets(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	code, err := codeOf(self)
	require.NoError(t, err)
	require.Greater(t, code["sidetone/bench"], int64(10_000))
	require.Positive(t, code["github.com/gorilla/websocket"])
	_, err = codeOf("bench_test.go")
	require.Error(t, err)

	code = map[string]int64{"sidetone/internal/tray": 1 << 20, "sidetone/internal/tray/menu": 1, "fyne.io/systrays": 5}
	require.EqualValues(t, 1<<20+1, features[0].size(code))
	require.Equal(t, features[0].rss, linked(code, func(f feature) int64 { return f.rss }))
	rows := budgets(code)
	require.Len(t, rows, len(features))
	require.Equal(t, "missed", rows[0].verdict())
	require.Equal(t, "no target", rows[1].verdict())
}

// at returns a moment, in milliseconds of the test's own time.
func at(ms int) time.Time { return time.Unix(1, 0).Add(time.Duration(ms) * time.Millisecond) }

func TestTokensFree(t *testing.T) {
	for _, c := range []struct {
		arrived []int
		want    []int // -1: there was one from the start
	}{
		{[]int{0, 5, 1000, 2000}, []int{-1, -1, 1000, 2000}},
		{[]int{0, 5, 1010, 2020}, []int{-1, -1, 1000, 2000}},
		{[]int{0, 1500, 1600, 2600}, []int{-1, -1, 1500, 2500}},
		{[]int{0, 5, 1700, 1800}, []int{-1, -1, 1000, 2000}},
		{[]int{0, 9000, 9001, 10000}, []int{-1, -1, 9000, 10000}},
	} {
		var lists []taken
		for _, ms := range c.arrived {
			lists = append(lists, taken{arrived: at(ms)})
		}
		free := tokensFree(lists, time.Second)
		for i, ms := range c.want {
			if ms < 0 {
				require.False(t, free[i].After(at(c.arrived[i])), "%d of %v", i, c.arrived)
				continue
			}
			require.True(t, free[i].Equal(at(ms)), "%d of %v: %s", i, c.arrived, free[i].Sub(at(0)))
		}
	}
}

// pressesAt alternate, from mute on.
func pressesAt(ms ...int) []press {
	var list []press
	for i, begin := range ms {
		list = append(list, press{at(begin), at(begin + 1), i%2 == 0})
	}
	return list
}

func TestLateness(t *testing.T) {
	presses := pressesAt(200, 400, 600, 800, 2500, 3480, 3700)
	lists := []taken{
		{arrived: at(0)},
		{arrived: at(203), mute: true},  // after its press
		{arrived: at(1007)},             // after its token
		{arrived: at(2504), mute: true}, // after its press, with a token from 2000
		{arrived: at(3001), mute: true}, // says nothing new
		{arrived: at(4010)},             // after its token, which came after its press
	}
	var want sample
	for _, ms := range []time.Duration{3, 7, 4, 10} {
		want = append(want, ms*time.Millisecond)
	}
	require.Equal(t, want, lateness(lists, presses[:6], time.Second))
	require.Empty(t, lateness(nil, presses, time.Second))

	slow := []taken{{arrived: at(0)}, {arrived: at(650), mute: true}}
	require.Equal(t, sample{450 * time.Millisecond}, lateness(slow, presses, time.Second), "it was owed from the first press on")
	brief := []taken{{arrived: at(0)}, {arrived: at(1)}, {arrived: at(1304), mute: true}}
	require.Equal(t, sample{4 * time.Millisecond}, lateness(brief, pressesAt(950, 1002, 1300), time.Second), "the first state was over when its token came")
}

func TestOutdated(t *testing.T) {
	presses := pressesAt(1000, 2000)
	for _, c := range []struct {
		at   int
		mute bool
		want int
	}{
		{500, false, 0},
		{500, true, 1},
		{999, true, 1},
		{1000, true, 0},
		{1000, false, 0},
		{1050, false, 0},
		{1150, false, 1},
		{1500, true, 0},
		{2050, true, 0},
		{2150, true, 1},
		{2000, false, 0},
		{9000, false, 0},
		{9000, true, 1},
	} {
		require.Equal(t, c.want, outdated([]taken{{at: at(c.at), mute: c.mute}}, presses), "%t at %d", c.mute, c.at)
	}
	require.Equal(t, 1, outdated([]taken{{at: at(500), mute: true}}, nil))
	require.Less(t, current, shortPause, "else a list could be two presses old")
}

func TestBursts(t *testing.T) {
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
		require.Equal(t, c.want, bursts(readings, ran), "%v", c.switches)
	}
	require.True(t, searched(usage{read: 50}, usage{read: 350}))
	require.False(t, searched(usage{read: 50}, usage{read: 349}))
}

func TestWire(t *testing.T) {
	payload := []byte(`{"cmd":"SET_CERTIFIED_DEVICES","nonce":"1","args":{"devices":[]}}`)
	scenes := map[fakeserver.Transport]scene{
		fakeserver.IPC: overIPC, fakeserver.WebSocket: overWebSocket, fakeserver.HTTP: overHTTP(time.Minute),
	}
	for over, s := range scenes {
		t.Run(string(over), func(t *testing.T) {
			p, err := s.open(t.TempDir())
			require.NoError(t, err)
			defer p.close()
			c := p.clients[0]
			w, err := wireTo(t.Context(), over, c.address(over))
			require.NoError(t, err)
			defer w.Close()
			for seq := range 2 {
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
	s := overHTTP(7 * time.Second)
	s.clients = 2
	p, err := s.open(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []string{
		fmt.Sprintf("SIDETONE_RPC_PORTS=%d,%d", p.clients[0].Port(), p.clients[1].Port()),
		"SIDETONE_RPC_IPC_FOLDERS=" + p.folder, "SIDETONE_RPC_TRANSPORTS=http",
		"SIDETONE_CONTROL_SOCKET=" + filepath.Join(p.folder, "agent.sock"), "XDG_RUNTIME_DIR=" + p.folder, "SIDETONE_RPC_TOKEN_EVERY=7s",
	}, s.settings(p))
	require.NoError(t, p.close())
	require.NoDirExists(t, p.folder)
	require.Equal(t, []string{"HOME=/x"}, clean([]string{"SIDETONE_LOG_LEVEL=debug", "HOME=/x", "SIDETONE_RPC_PORTS=1"}))
}

func TestOverBare(t *testing.T) {
	agent, bare := sample{3 * time.Millisecond}, sample{time.Millisecond}
	slow := overBare("x", 50, agent, bare, 2*time.Millisecond-1)
	require.False(t, slow.met)
	require.Equal(t, "3.00 ms, 2.00 ms more (max 3.00 ms)", slow.measured)
	require.True(t, overBare("x", 50, agent, bare, 2*time.Millisecond).met)
	fast := overBare("x", 50, bare, agent, 0)
	require.True(t, fast.met)
	require.Equal(t, "1.00 ms, 2.00 ms less (max 1.00 ms)", fast.measured)
}

func TestProgramsCheckTheirArguments(t *testing.T) {
	for name, program := range programs {
		require.ErrorContains(t, program(t.Context(), nil), "need", name)
	}
}

// openPlace starts one client of a scene.
func openPlace(t *testing.T, s scene) *child {
	p, err := s.open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.close()) })
	c := &child{name: "program", place: p, log: filepath.Join(t.TempDir(), "log"), waiting: t.Context()}
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
func plugHID(t *testing.T) (*testlab.HIDTree, *testlab.HIDNode) {
	lab, err := testlab.NewHIDTree(t.TempDir())
	require.NoError(t, err)
	headset, err := lab.Plug(hidHeadset)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, headset.Unplug()) })
	return lab, headset
}

// turnAndSee turns the headset's switch a few times.
func turnAndSee(t *testing.T, headset *testlab.HIDNode, c *child) {
	arrives(t, c, "the headset", lists)
	for _, mute := range []bool{true, false, true} {
		require.NoError(t, headset.Report([]byte{batteryReport, 7})) // of which nothing follows
		require.NoError(t, headset.Report(muteReport(mute)))
		arrives(t, c, fmt.Sprint("the mute ", mute), func(p fakeserver.Payload) bool { return mutes(p, mute) })
	}
}

func TestHIDAgent(t *testing.T) {
	for _, s := range []scene{overIPC, overWebSocket} {
		t.Run(string(s.transports[0]), func(t *testing.T) {
			lab, headset := plugHID(t)
			c := openPlace(t, s)
			for _, setting := range s.settings(c.place) {
				name, value, _ := strings.Cut(setting, "=")
				t.Setenv(name, value)
			}
			runs(t, runHIDAgent, lab.Root())
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
	r, err := drivenByPushes(t.Context(), c)
	require.NoError(t, err)
	defer r.leave()
	took, err := r.alternate(t.Context(), 4)
	require.NoError(t, err)
	require.Len(t, took, 4)
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
	f := &flood{child: c}
	defer f.close()
	require.NoError(t, f.connect(t.Context()))
	require.NoError(t, f.wave(t.Context(), 100*time.Millisecond))
	require.NoError(t, f.mark())
	require.Positive(t, f.seq)
	last, err := c.clients[0].WaitPayload(t.Context(), int(f.seq)) // one more came before the pushes
	require.NoError(t, err)
	require.Equal(t, int(f.seq)+1, last.Seq)
	require.Equal(t, last.Seq, f.newest().Seq)
	require.True(t, mutes(last, muteOf(f.seq)))
	require.False(t, marked(last), "the bare server knows one flag only")
	yes := true
	last.Devices[0].NoiseSuppression = &yes
	require.True(t, marked(last))

	stop()
	require.NoError(t, <-ended)
	err = f.wave(t.Context(), time.Hour)
	require.ErrorContains(t, err, "flood the program")
	require.ErrorContains(t, err, "last words")
}

func TestFloodPlan(t *testing.T) {
	began, f := time.Now().Add(time.Hour), &flood{seq: 5}
	n := 0
	for ; ; n++ {
		seq, due, more := f.next(began, 10*time.Millisecond, 5)
		if !more {
			break
		}
		require.EqualValues(t, 6+n, seq)
		require.True(t, due.Equal(began.Add(time.Duration(n)*100*time.Microsecond)))
	}
	require.Equal(t, 100, n)
	require.EqualValues(t, 105, f.seq, "the last one was sent")
	_, _, more := f.next(time.Now().Add(-time.Hour), time.Hour, f.seq)
	require.False(t, more, "what could not be sent in time is not made up for")
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
