package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/power"
	"sidetone/internal/testlab"
	"sidetone/internal/timeline"
)

// predecessor pretends to be an agent that runs and hands over.
type predecessor struct {
	listener net.Listener
	lock     *ipc.ClientLock
	answer   map[string]any           // to the one that asks
	done     func() int               // answers the one that has everything; nil: 204
	told     chan struct{}            // closed when that one has said so
	once     func()                   // closes it
	request  control.HandoverRequest  // of the one that asks
	release  func(*predecessor) error // lets go of the lock
}

// newPredecessor makes one where d looks for it.
func newPredecessor(d *controlled, inputs []engine.Input, further map[string]any) *predecessor {
	d.t.Helper()
	p := &predecessor{told: make(chan struct{}), release: func(p *predecessor) error { return p.lock.Release() }}
	p.once = sync.OnceFunc(func() { close(p.told) })
	p.answer = map[string]any{"inputs": inputs, "clients": []any{}}
	for name, value := range further {
		p.answer[name] = value
	}
	var err error
	p.lock = d.takeLock()
	p.listener, err = ipc.ListenControl(d.socket)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { p.listener.Close() })
	return p
}

// serve begins to answer.
func (p *predecessor) serve(d *controlled) {
	server := &http.Server{Handler: p}
	go func() { _ = server.Serve(p.listener) }()
	d.t.Cleanup(func() { server.Close() })
}

func (p *predecessor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/handover":
		_ = json.NewDecoder(r.Body).Decode(&p.request)
		_ = p.listener.Close()
		_ = p.release(p)
		_ = json.NewEncoder(w).Encode(p.answer)
	case "/v1/handover/done":
		p.once()
		code := http.StatusNoContent
		if p.done != nil {
			code = p.done()
		}
		w.WriteHeader(code)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// pushed is an input of a hand-over.
func pushed(owner string, ttl time.Duration) engine.Input {
	return engine.Input{Push: &engine.Push{
		Product: "acme-headset-700", Owner: owner, TTL: engine.Span(ttl), At: time.Now(),
		State: map[devices.Field]devices.Tri{devices.HardwareMute: devices.True},
	}}
}

// TestHandoverInAnotherForm: an agent that reads it goes on, one that does not leaves the other one as it is.
func TestHandoverInAnotherForm(t *testing.T) {
	t.Parallel()
	t.Run("older or newer in what may be left out", func(t *testing.T) {
		t.Parallel()
		d := newReplaced(t)
		p := newPredecessor(d, []engine.Input{pushed("suite", time.Hour)}, map[string]any{"mood": "good"})
		p.serve(d)
		next := d.beside(nil, "--replace")
		<-p.told
		require.Equal(t, control.HandoverForm, p.request.Form)
		next.logged("full list sent")
		d.hasMute(true)
	})
	t.Run("newer", func(t *testing.T) {
		t.Parallel()
		d := newReplaced(t)
		p := newPredecessor(d, []engine.Input{pushed("suite", time.Hour)}, map[string]any{"form": control.HandoverForm + 1})
		p.serve(d)
		fails(t, d.beside(nil, "--replace"), exitFailed, fmt.Sprintf("its form is %d, and this one reads %d", control.HandoverForm+1, control.HandoverForm))
		select {
		case <-p.told:
			require.Fail(t, "that one would end")
		default:
		}
		require.Empty(t, d.client.Payloads())
	})
	t.Run("asked for", func(t *testing.T) {
		t.Parallel()
		d := runningReplaced(t)
		r := ownRequest
		r.Form = -1
		_, err := d.handoverConn().HandOver(d.ctx, r)
		require.ErrorIs(t, err, control.ErrConflict)
		require.Len(t, d.client.Payloads(), 1, "it has not let go")
		r.Form = control.HandoverForm + 1 // it reads this one, too
		hold := d.handoverConn()
		defer hold.Close()
		before := power.Uptime().Milliseconds()
		answer, err := hold.HandOver(d.ctx, r)
		require.NoError(t, err)
		require.Equal(t, control.HandoverForm, answer.Form)
		require.LessOrEqual(t, before, answer.UptimeMS)
		require.LessOrEqual(t, answer.UptimeMS, power.Uptime().Milliseconds())
	})
}

// TestHandoverTakesLong, as where the machine has slept in between: leases and a pause do not become longer.
func TestHandoverTakesLong(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	then := power.Uptime() - time.Minute
	p := newPredecessor(d, []engine.Input{
		{Pause: &engine.Pause{For: engine.Span(30 * time.Second)}}, pushed("over", 30*time.Second), pushed("suite", 5*time.Minute),
	}, map[string]any{"uptime_ms": then.Milliseconds()})
	p.serve(d)
	next := d.beside(nil, "--replace")
	<-p.told
	next.logged("full list sent")
	d.hasMute(true)
	st := d.status()
	require.Nil(t, st.Pause)
	require.Len(t, st.Pushes, 1)
	require.WithinDuration(t, time.Now().Add(then+5*time.Minute-power.Uptime()), st.Pushes[0].Until, 30*time.Second)
}

// TestPauseThatIsHandedOverEnds with all that is kept of it, also where it began after the next agent had looked.
func TestPauseThatIsHandedOverEnds(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	state := t.TempDir()
	p := newPredecessor(d, []engine.Input{{Pause: &engine.Pause{For: engine.Span(time.Second)}}}, nil)
	kept := filepath.Join(state, "sidetone", "acme", "pause.json")
	p.release = func(p *predecessor) error {
		require.NoError(t, os.MkdirAll(filepath.Dir(kept), 0o700))
		require.NoError(t, os.WriteFile(kept, []byte(`{"until":"2100-01-01T00:00:00Z","for":"1s"}`), 0o600))
		return p.lock.Release()
	}
	p.serve(d)
	d.beside([]string{"XDG_STATE_HOME=" + state}, "--replace")
	<-p.told
	testlab.Eventually(t, "it is forgotten", func() bool { _, err := os.Stat(kept); return os.IsNotExist(err) })
}

// TestToldToStopDuringHandover: whoever has the list in hand tells clients of the end, and nobody else.
func TestToldToStopDuringHandover(t *testing.T) {
	t.Parallel()
	t.Run("the old one while the new one takes over", func(t *testing.T) {
		t.Parallel()
		d := runningReplaced(t)
		hold, _ := d.letsGo()
		lock := d.takeLock()
		d.signal(syscall.SIGTERM)
		d.logged("this agent is to end before the other one has everything: it tells clients itself")
		require.ErrorIs(t, hold.HandedOver(d.ctx), control.ErrConflict)
		require.NoError(t, lock.Release())
		d.exit()
		d.hasNone()
	})
	t.Run("the old one while the new one hangs", func(t *testing.T) {
		t.Parallel()
		d := runningReplaced(t)
		_, _ = d.letsGo()
		defer d.takeLock().Release()
		d.signal(syscall.SIGTERM)
		d.logged("clients keep the last list, as another agent is about to go on")
		d.exit()
		d.neverEmptied()
	})
	for name, taken := range map[string]bool{"the new one that has everything": true, "the new one when the old one has taken it back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t)
			_, known := d.letsGo()
			d.signal(syscall.SIGKILL)
			<-d.ended
			p := newPredecessor(d, []engine.Input{}, map[string]any{"clients": known.Clients})
			stop := make(chan *agentRun, 1)
			p.done = func() int {
				next := <-stop
				next.signal(syscall.SIGTERM)
				select {
				case <-next.ended: // without the answer
				case <-time.After(quiet):
				}
				if taken {
					return http.StatusNoContent
				}
				return http.StatusConflict
			}
			p.serve(d)
			next := d.beside(nil, "--replace")
			stop <- next
			<-next.ended
			if taken {
				d.hasNone()
			} else {
				d.neverEmptied()
			}
		})
	}
}

// TestPushesOutliveAHandoverThatFails, each as long as its own connection.
func TestPushesOutliveAHandoverThatFails(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, d.socket) })
	mute := control.PushRequest{Owner: "suite", State: map[devices.Field]*bool{devices.HardwareMute: new(true)}}
	one := client.PushConn()
	defer one.Close()
	_, err := one.Push(d.ctx, "acme-headset-700", mute)
	require.NoError(t, err)
	d.hasMute(true)
	hold, _ := d.letsGo()
	require.NoError(t, hold.Close())
	testlab.Eventually(t, "it goes on", func() bool { _, _, code := d.ask("status"); return code == 0 })
	for range 20 { // as many connections as there have been, and more
		two := client.PushConn()
		_, err = two.Push(d.ctx, "acme-headset-700", control.PushRequest{
			Owner: "other", State: map[devices.Field]*bool{devices.NoiseSuppression: new(true)},
		})
		require.NoError(t, err)
		require.NoError(t, two.Close())
	}
	testlab.Eventually(t, "theirs end", func() bool { return len(d.status().Pushes) == 1 })
	require.Equal(t, "suite", d.status().Pushes[0].Owner)
	d.hasMute(true)
}

// TestReplaceIsSeen by who watches, in the timeline and in the log level: as one agent that goes on.
func TestReplaceIsSeen(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	d.pushMute()
	d.hasMute(true)
	_, errs, code := d.ask("log-level", "debug")
	require.Zero(t, code, errs)
	client := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, d.socket) })
	var states []string
	watched, begun := make(chan error, 1), make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		watched <- client.Watch(d.ctx, func(c control.Change) error {
			states = append(states, c.Clients.State)
			begin()
			return nil
		})
	}()
	<-begun
	before, err := client.Timeline(d.ctx)
	require.NoError(t, err)
	next := d.beside(nil, "--replace")
	d.exit()
	require.ErrorIs(t, <-watched, control.ErrEnded)
	require.Equal(t, []string{"ready"}, slices.Compact(states))
	next.logged("full list sent")
	d.agentRun = next
	require.Equal(t, "debug", d.status().LogLevel)
	after, err := client.Timeline(d.ctx)
	require.NoError(t, err)
	require.WithinDuration(t, before.From, after.From, time.Second)
	lane := func(tl timeline.Timeline, kind timeline.Kind, flag devices.Field) (changes []string) {
		for _, l := range tl.Lanes {
			if l.Kind == kind && l.Flag == flag {
				for _, c := range l.Changes {
					changes = append(changes, c.To)
				}
			}
		}
		return changes
	}
	require.Equal(t, []string{timeline.Started, timeline.Started}, lane(after, timeline.KindAgent, ""))
	was := lane(before, timeline.KindFlag, devices.HardwareMute)
	require.Equal(t, timeline.True, was[len(was)-1])
	require.Equal(t, was, lane(after, timeline.KindFlag, devices.HardwareMute), "nothing has changed")
	require.Equal(t, []string{timeline.Present}, lane(after, timeline.KindProduct, ""))
}

// manager is a service manager to which an agent speaks.
type manager struct {
	*net.UnixConn
	path string
}

func newManager(t *testing.T) *manager {
	t.Helper()
	path := filepath.Join(openFolder(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return &manager{conn, path}
}

// mainPID waits until it is told that another process goes on.
func (m *manager) mainPID(t *testing.T) int {
	t.Helper()
	require.NoError(t, m.SetReadDeadline(time.Now().Add(patience)))
	said := make([]byte, 200)
	for {
		n, err := m.Read(said)
		require.NoError(t, err)
		if pid, is := strings.CutPrefix(string(said[:n]), "MAINPID="); is {
			pid, _, _ = strings.Cut(pid, "\n")
			number, err := strconv.Atoi(pid)
			require.NoError(t, err)
			return number
		}
	}
}

// installed has d run a program of its own, which can be replaced, under a service manager.
func (d *controlled) installed() *manager {
	d.t.Helper()
	self, err := os.Executable()
	require.NoError(d.t, err)
	d.program = filepath.Join(openFolder(d.t), "agent")
	text, err := os.ReadFile(self)
	require.NoError(d.t, err)
	writeProgram(d.t, d.program, text)
	log, err := os.Create(filepath.Join(d.t.TempDir(), "log"))
	require.NoError(d.t, err)
	d.t.Cleanup(func() { log.Close() })
	d.output = log
	m := newManager(d.t)
	d.env = append(d.env, "NOTIFY_SOCKET="+m.path)
	return m
}

// install puts another program in the place of that of d. It finds the first one beside it.
func (d *controlled) install(script string) {
	d.t.Helper()
	first := d.program + "-first"
	if _, err := os.Stat(first); err != nil {
		require.NoError(d.t, os.Rename(d.program, first))
	}
	writeProgram(d.t, d.program+".new", []byte(strings.ReplaceAll(script, "FIRST", first)))
	require.NoError(d.t, os.Rename(d.program+".new", d.program))
}

// runs waits until the agent answers, and the client has its list.
func (d *controlled) runs() control.Status {
	d.t.Helper()
	testlab.Eventually(d.t, "it runs", func() bool { _, _, code := d.ask("status"); return code == 0 && len(d.client.Devices()) == 1 })
	st := d.status()
	d.t.Cleanup(func() { _ = syscall.Kill(st.PID, syscall.SIGKILL) })
	return st
}

// TestUpgradeToAnotherProgram: whatever is in the place of the program, there is one agent afterwards.
func TestUpgradeToAnotherProgram(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		script  string
		foreign bool // the catalogue is another vendor's by then
		says    string
	}{
		"a script that starts it as a child":           {script: "#!/bin/sh\nFIRST \"$@\"\n"},
		"no program":                                   {script: "no program\n", says: "cannot be started"},
		"a program that ends":                          {script: "#!/bin/sh\nexit 3\n", says: "has ended"},
		"a program for another vendor":                 {script: "#!/bin/sh\nexec FIRST \"$@\"\n", foreign: true, says: "has ended"},
		"a program that hangs with all it was told of": {script: "#!/bin/sh\n" + hangEnv + "=1 exec FIRST \"$@\"\n", says: "has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newReplaced(t)
			m := d.installed()
			d.catalogue = write(t, "catalogue.yaml", strings.ReplaceAll(string(example), "\n    traces:", "\n    #"))
			d.start()
			before := d.runs()
			d.pushMute()
			d.hasMute(true)
			d.install(c.script)
			if c.foreign {
				other := strings.NewReplacer(clientID, "223456789012345678", "id: acme\n", "id: other\n", "\n    traces:", "\n    #").Replace(string(example))
				require.NoError(t, os.WriteFile(d.catalogue, []byte(other), 0o600))
			}
			_, errs, code := d.ask("upgrade")
			after := d.runs()
			if c.says == "" {
				require.Zero(t, code, errs)
				require.Equal(t, after.PID, m.mainPID(t))
				d.exit()
			} else {
				require.Equal(t, exitFailed, code)
				require.Contains(t, errs, c.says)
				require.Equal(t, before.PID, after.PID)
			}
			require.Len(t, after.Pushes, 1)
			d.hasMute(true)
			d.neverEmptied()
		})
	}
}

// TestTwoUpgradesAtOnce: the second starts nothing that its service manager would end with the first agent.
func TestTwoUpgradesAtOnce(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	m := d.installed()
	d.start()
	d.runs()
	d.pushMute()
	var asked sync.WaitGroup
	for range 2 {
		asked.Go(func() { _, _, _ = d.ask("upgrade") })
	}
	asked.Wait()
	d.exit()
	testlab.Eventually(t, "one runs", func() bool { return len(d.processes()) == 1 })
	main := m.mainPID(t)
	for main != d.runs().PID { // one after the other is fine, too
		main = m.mainPID(t)
	}
	require.Equal(t, []int{main}, d.processes())
	require.Len(t, d.status().Pushes, 1)
	d.neverEmptied()
}

// processes are those of the program of d.
func (d *controlled) processes() (all []int) {
	found, err := filepath.Glob("/proc/[0-9]*/exe")
	require.NoError(d.t, err)
	for _, exe := range found {
		if path, err := os.Readlink(exe); err == nil && path == d.program {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(exe)))
			require.NoError(d.t, err)
			all = append(all, pid)
		}
	}
	return all
}

// hangEnv makes the test binary an agent that takes over and then hangs.
const hangEnv = "AGENT_TEST_HANG"

func init() { insteadOfTests[hangEnv] = hang }

func hang() {
	dial := func(ctx context.Context) (net.Conn, error) {
		return ipc.DialControl(ctx, os.Getenv("SIDETONE_CONTROL_SOCKET"))
	}
	hold := control.NewClient(dial).HandoverConn()
	if _, err := hold.HandOver(context.Background(), ownRequest); err != nil {
		panic(err)
	}
	if _, err := ipc.LockClient(filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "sidetone"), clientID); err != nil {
		panic(err)
	}
	select {}
}
