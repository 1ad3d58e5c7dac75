package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/rpcclient"
	"sidetone/internal/supervise"
	"sidetone/internal/testlab"
)

// newReplaced prepares an agent with one microphone, before a client that counts tokens and gives one a second.
func newReplaced(t *testing.T, settings ...string) *controlled {
	t.Helper()
	a := newAgentRun(t, nil, append([]string{
		"SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false", "SIDETONE_RPC_TOKEN_EVERY=1s",
		"SIDETONE_SOURCES_FILES=" + write(t, "endpoints.yaml", "endpoints: ["+microphone("Mic")+"]\n"),
	}, settings...)...)
	a.raceDetector = true                         // no other test has two agents that hand over
	require.NoError(t, os.Chmod(a.folder, 0o700)) // else no lock would count
	client, err := fakeserver.Start(fakeserver.Options{
		Profile: fakeserver.Desktop, Ports: []int{0}, IPCDir: a.folder, ClientIDs: []string{clientID}, Refill: time.Second,
	})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	a.ports = []int{client.Port()}
	d := &controlled{desk: &desk{a, client}, socket: filepath.Join(a.folder, "agent.sock")}
	d.env = append(d.env, d.setting())
	t.Cleanup(func() {
		for _, p := range client.Payloads() {
			require.Equal(t, rpcclient.Transport(p.Transport), rpcclient.Transport(client.Payloads()[0].Transport))
		}
		require.Zero(t, client.Stats().Waited, "nothing waits in the client's line")
	})
	return d
}

// runningReplaced starts it, and waits until the client has its list.
func runningReplaced(t *testing.T, settings ...string) *controlled {
	t.Helper()
	d := newReplaced(t, settings...)
	d.start()
	d.logged("full list sent")
	return d
}

// beside starts an agent like that of d, with further arguments.
func (d *controlled) beside(settings []string, args ...string) *agentRun {
	d.t.Helper()
	b := *d.agentRun
	b.env, b.args = append(slices.Clone(d.env), settings...), append(slices.Clone(d.args), args...)
	b.start()
	return &b
}

// handoverConn is for what another agent would ask.
func (d *controlled) handoverConn() control.HandoverConn {
	dial := func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, d.socket) }
	return control.NewClient(dial).HandoverConn()
}

// ownRequest is that of an agent of the same vendor.
var ownRequest = control.HandoverRequest{Vendor: "acme", ClientID: clientID}

// letsGo has the agent hand over to this process, for as long as the connection is open.
func (d *controlled) letsGo() (hold control.HandoverConn, known control.Handover) {
	d.t.Helper()
	hold = d.handoverConn()
	d.t.Cleanup(func() { hold.Close() })
	known, err := hold.HandOver(d.ctx, ownRequest)
	require.NoError(d.t, err)
	return hold, known
}

// takeLock takes the lock of the agent that lets go, as the one that goes on.
func (d *controlled) takeLock() *ipc.ClientLock {
	d.t.Helper()
	lock, err := ipc.LockClient(filepath.Join(d.folder, "sidetone"), clientID)
	require.NoError(d.t, err, "it was let go")
	return lock
}

// status asks the agent that has the local API.
func (d *controlled) status() (st control.Status) {
	d.t.Helper()
	code, answer := d.request(http.MethodGet, "/v1/status", "")
	require.Equal(d.t, http.StatusOK, code, answer)
	require.NoError(d.t, json.Unmarshal([]byte(answer), &st))
	return st
}

func (d *controlled) pushMute() {
	d.t.Helper()
	code, answer := d.request(http.MethodPut, "/v1/states/acme-headset-700", `{"owner":"suite","ttl_ms":600000,"state":{"hardware_mute":true}}`)
	require.Equal(d.t, http.StatusOK, code, answer)
}

func (d *controlled) hasMute(mute bool) {
	d.t.Helper()
	d.has("mute", func(list []fakeserver.Device) bool {
		return len(list) == 1 && list[0].HardwareMute != nil && *list[0].HardwareMute == mute
	})
}

// neverEmptied requires that the client's list has held the microphone since it first did.
func (d *controlled) neverEmptied() {
	d.t.Helper()
	for _, p := range d.client.Payloads() {
		require.NotEmpty(d.t, p.Devices, "payload %d", p.Seq)
	}
}

// fails waits until b has ended with that code, having said that.
func fails(t *testing.T, b *agentRun, code int, says string) {
	t.Helper()
	select {
	case <-b.ended:
	case <-time.After(patience):
		require.FailNow(t, "it does not end")
	}
	all, _ := b.log.snapshot()
	require.Equal(t, code, b.cmd.ProcessState.ExitCode(), "%s", strings.Join(all, "\n"))
	require.Contains(t, strings.Join(all, "\n"), says)
}

// TestReplace: an agent goes on in place of another one, over IPC and over HTTP where each list costs a token, with a lease
// of ten minutes and with a pause.
func TestReplace(t *testing.T) {
	t.Parallel()
	for _, tr := range []rpcclient.Transport{rpcclient.IPC, rpcclient.HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t, over(tr))
			d.pushMute()
			d.hasMute(true)
			before := d.status()
			for range 3 {
				next := d.beside(nil, "--replace")
				d.exit()
				d.agentRun = next
				next.logged("full list sent")
				d.hasMute(true)
				now := d.status()
				require.Equal(t, next.cmd.Process.Pid, now.PID)
				require.WithinDuration(t, before.Pushes[0].Until, now.Pushes[0].Until, 5*time.Second)
				require.Equal(t, before.Pushes[0].Unit, now.Pushes[0].Unit)
			}
			d.neverEmptied()

			_, errs, code := d.ask("pause", "--for", "1h")
			require.Zero(t, code, errs)
			d.hasNone()
			paused := d.status().Pause.Until
			next := d.beside(nil, "--replace")
			d.exit()
			d.agentRun = next
			require.WithinDuration(t, paused, d.status().Pause.Until, 5*time.Second)
			_, errs, code = d.ask("resume")
			require.Zero(t, code, errs)
			d.hasMute(true)
			d.signal(syscall.SIGTERM)
			d.exit()
			if tr == rpcclient.IPC { // over HTTP there is a token for it or not
				d.hasNone()
			}
		})
	}
}

// TestReplaceOfNobody is an ordinary start.
func TestReplaceOfNobody(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	d.args = []string{"--replace"}
	d.start()
	d.logged("full list sent")
}

// TestUpgrade: the agent starts its own program, and hands over to it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	d.output = log
	d.start()
	testlab.Eventually(t, "it runs", func() bool { _, _, code := d.ask("status"); return code == 0 })
	d.pushMute()
	d.hasMute(true)
	was := d.status().PID
	for range 2 {
		_, errs, code := d.ask("upgrade")
		require.Zero(t, code, errs)
		now := d.status()
		require.NotEqual(t, was, now.PID)
		t.Cleanup(func() { _ = syscall.Kill(now.PID, syscall.SIGKILL) })
		require.Len(t, now.Pushes, 1)
		was = now.PID
	}
	d.exit()
	testlab.Eventually(t, "it is connected", func() bool { return d.status().Clients.State == "ready" })
	d.neverEmptied()
	_, errs, code := d.ask("stop")
	require.Zero(t, code, errs)
	d.hasNone()
}

// TestWhoLooksAfterAnAgentIsToldWhatGoesOn in its place, by the code with which it ends: a process that it has started itself, or another's.
func TestWhoLooksAfterAnAgentIsToldWhatGoesOn(t *testing.T) {
	t.Parallel()
	upgrade := func(d *controlled) {
		_, errs, code := d.ask("upgrade")
		require.Zero(d.t, code, errs)
	}
	for name, c := range map[string]struct {
		goesOn func(*controlled)
		code   int
	}{
		"a process that it has started": {upgrade, supervise.ExitSucceeded},
		"one that this one has started": {func(d *controlled) {
			d.install("#!/bin/sh\nFIRST \"$@\"\n")
			upgrade(d)
		}, supervise.ExitReplaced},
		"another's": {func(d *controlled) { d.beside(nil, "--replace") }, supervise.ExitReplaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newReplaced(t)
			d.installed()
			d.env = append(d.env, supervise.StopEventVariable+"=any")
			d.start()
			was := d.runs().PID
			c.goesOn(d)
			<-d.ended
			require.Equal(t, c.code, d.cmd.ProcessState.ExitCode())
			require.NotEqual(t, was, d.runs().PID)
			d.neverEmptied()
		})
	}
}

// TestExitCodeOfAnEndThatHangs is that of the end, here since another agent goes on. What hangs is a reload.
func TestExitCodeOfAnEndThatHangs(t *testing.T) {
	t.Parallel()
	hang := filepath.Join(t.TempDir(), "hang")
	d := newReplaced(t)
	d.env = append(d.env, stuckEnv+"="+hang, supervise.StopEventVariable+"=any")
	d.start()
	d.logged("full list sent")
	require.NoError(t, os.WriteFile(hang, nil, 0o600))
	d.signal(syscall.SIGHUP)
	testlab.Eventually(t, "it hangs", func() bool { _, err := os.Stat(hang); return err != nil })
	hold, _ := d.letsGo()
	require.NoError(t, hold.HandedOver(d.ctx))
	d.logged("what is left to do hangs: the process ends without it")
	<-d.ended
	require.Equal(t, supervise.ExitReplaced, d.cmd.ProcessState.ExitCode())
}

// stuckEnv names a file. An agent that asks where its program is while that is there removes it, and hangs.
const stuckEnv = "AGENT_TEST_STUCK"

func init() { insteadOfTests[stuckEnv] = getStuck }

func getStuck() {
	executable := host.Executable
	host.Executable = func() (string, error) {
		if os.Remove(os.Getenv(stuckEnv)) == nil {
			select {}
		}
		return executable()
	}
}

// besideSilence starts an agent that is to go on in place of d and, when this returns, waits for a sound server that never answers: it is
// not ready for seconds.
func (d *controlled) besideSilence() *agentRun {
	d.t.Helper()
	silent := filepath.Join(openFolder(d.t), "silent")
	l, err := net.Listen("unix", silent)
	require.NoError(d.t, err)
	d.t.Cleanup(func() { l.Close() })
	next := d.beside([]string{"SIDETONE_SOURCES_AUDIO=true", "PULSE_SERVER=unix:" + silent}, "--replace")
	next.logged("source works") // the file
	return next
}

// TestReplaceFails in every way that leaves the agent that runs as it is.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	other := write(t, "other.yaml", strings.NewReplacer(clientID, "223456789012345678", "\n    traces:", "\n    #").Replace(string(example)))

	for name, run := range map[string]func(t *testing.T, d *controlled){
		"without the word": func(t *testing.T, d *controlled) { fails(t, d.beside(nil), exitFailed, "runs already") },
		"another application": func(t *testing.T, d *controlled) {
			d.catalogue = other
			fails(t, d.beside(nil, "--replace"), exitFailed,
				"this agent speaks for vendor acme with client_id 123456789012345678, and the one that wants to go on for acme with 223456789012345678")
		},
		"a broken catalogue": func(t *testing.T, d *controlled) {
			d.catalogue = write(t, "broken.yaml", "vendor: [\n")
			fails(t, d.beside(nil, "--replace"), exitBadInput, "broken.yaml")
		},
		"it crashes before it is ready": func(t *testing.T, d *controlled) {
			next := d.besideSilence()
			next.signal(syscall.SIGKILL)
			<-next.ended
		},
		"it is told to stop before it is ready": func(t *testing.T, d *controlled) {
			next := d.besideSilence()
			next.signal(syscall.SIGTERM)
			next.exit()
		},
		"it crashes with everything in its hands": func(t *testing.T, d *controlled) {
			hold, _ := d.letsGo()
			lock := d.takeLock()
			require.NoError(t, hold.Close())
			d.logged("the other agent has failed: this one goes on")
			_, err := os.Stat(d.socket)
			require.Error(t, err, "not before it has the lock")
			require.NoError(t, lock.Release())
		},
		"it hangs with everything in its hands": func(t *testing.T, d *controlled) {
			hold, _ := d.letsGo()
			d.logged("the other agent has failed: this one goes on")
			testlab.Eventually(t, "it goes on", func() bool { _, _, code := d.ask("status"); return code == 0 })
			require.ErrorIs(t, hold.HandedOver(d.ctx), control.ErrConflict)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t)
			d.pushMute()
			d.hasMute(true)
			run(t, d)
			testlab.Eventually(t, "the agent goes on", func() bool { _, _, code := d.ask("status"); return code == 0 })
			st := d.status()
			require.Equal(t, d.cmd.Process.Pid, st.PID)
			require.Len(t, st.Pushes, 1)
			code, answer := d.request(http.MethodPut, "/v1/states/acme-headset-700", `{"owner":"suite","ttl_ms":600000,"state":{"hardware_mute":false}}`)
			require.Equal(t, http.StatusOK, code, answer)
			d.hasMute(false)
			d.neverEmptied()
			d.signal(syscall.SIGTERM)
			d.exit()
			d.hasNone()
		})
	}
}

// TestReplaceOfAnAgentThatIsKilled: what it alone knew is lost, and the other one goes on all the same.
func TestReplaceOfAnAgentThatIsKilled(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	next := d.besideSilence()
	d.signal(syscall.SIGKILL)
	<-d.ended
	next.logged("the agent that ran has ended: what it alone knew is lost")
	next.logged("full list sent")
	d.neverEmptied()
}

// TestTwoReplaceAtOnce: one goes on, of whichever of the other two.
func TestTwoReplaceAtOnce(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	d.pushMute()
	d.hasMute(true)
	one, two := d.beside(nil, "--replace"), d.beside(nil, "--replace")
	d.exit()
	var rest *agentRun
	select {
	case <-one.ended:
		rest = two
	case <-two.ended:
		rest = one
	case <-time.After(patience):
		require.FailNow(t, "two agents")
	}
	testlab.Eventually(t, "the other one goes on", func() bool { _, _, code := d.ask("status"); return code == 0 })
	st := d.status()
	require.Equal(t, rest.cmd.Process.Pid, st.PID)
	require.Len(t, st.Pushes, 1)
	d.neverEmptied()
}

// TestReplaceOfAnOlderVersion, which does not know how to hand over.
func TestReplaceOfAnOlderVersion(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	l, err := ipc.ListenControl(d.socket)
	require.NoError(t, err)
	old := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"no_such_path","error":"there is no \"/v1/handover\" here"}`))
	})}
	go func() { _ = old.Serve(l) }()
	defer old.Close()
	fails(t, d.beside(nil, "--replace"), exitFailed, "the agent that runs is of a version that cannot hand over: stop it first")
	require.Empty(t, d.client.Payloads())
}
