package main

import (
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
	"sidetone/internal/health"
	"sidetone/internal/rpcclient"
	"sidetone/internal/supervise"
	"sidetone/internal/testlab"
)

// newReplaced prepares an agent with one microphone, before a client that counts tokens and gives one a second.
func newReplaced(t *testing.T, settings ...string) *controlled {
	t.Helper()
	a := newAgentRun(t, nil, append([]string{
		"SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false", "SIDETONE_RPC_TOKEN_EVERY=1s",
		"XDG_STATE_HOME=" + t.TempDir(), // of all agents of the test: where they keep what clients have answered
		"SIDETONE_SOURCES_FILES=" + write(t, "endpoints.yaml", "endpoints: ["+microphone("Mic")+"]\n"),
	}, settings...)...)
	a.raceDetector = true                         // no other test has an agent that makes way
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

// another waits until another agent than that of a status answers, and the client has its list.
func (d *controlled) another(was control.Status) (now control.Status) {
	d.t.Helper()
	testlab.Eventually(d.t, "another one runs", func() bool {
		out, _, code := d.ask("status", "--json")
		return code == 0 && json.Unmarshal([]byte(out), &now) == nil && now.Instance != was.Instance && slices.Contains([]string{"ready", "degraded"}, now.Clients.State)
	})
	return now
}

// gap requires that the client has lost its mute and nothing else to an update, and returns how long it then had no agent.
func (d *controlled) gap() (gap time.Duration) {
	d.t.Helper()
	d.neverEmptied()
	all := d.client.Payloads()
	muted := slices.IndexFunc(all, func(p fakeserver.Payload) bool { return p.Devices[0].HardwareMute != nil && *p.Devices[0].HardwareMute })
	require.GreaterOrEqual(d.t, muted, 0)
	for _, p := range all[muted+1:] {
		require.Nil(d.t, p.Devices[0].HardwareMute, "payload %d", p.Seq)
	}
	require.Greater(d.t, len(all), muted+2, "the farewell, and the first list of the next agent")
	return all[muted+2].Time.Sub(all[muted+1].Time)
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

// TestUpgrade: the agent makes way for its own program, in the same process, over IPC and over HTTP, where each list costs a token. A pause
// goes on.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, tr := range []rpcclient.Transport{rpcclient.IPC, rpcclient.HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t, over(tr))
			d.pushMute()
			d.hasMute(true)
			was := d.status()
			for range 2 {
				_, errs, code := d.ask("upgrade")
				require.Zero(t, code, errs)
				now := d.another(was)
				require.Equal(t, was.PID, now.PID)
				require.Empty(t, now.Pushes, "its software is told to push again by the instance")
				was = now
			}
			t.Logf("the client had no agent for %v", d.gap())

			_, errs, code := d.ask("pause", "--for", "1h")
			require.Zero(t, code, errs)
			d.hasNone()
			paused := d.status()
			_, errs, code = d.ask("upgrade")
			require.Zero(t, code, errs)
			now := d.another(paused)
			require.WithinDuration(t, paused.Pause.Until, now.Pause.Until, 5*time.Second)
			require.Empty(t, d.client.Devices())
			_, errs, code = d.ask("stop")
			require.Zero(t, code, errs)
			d.exit()
		})
	}
}

// TestReplace: an agent has the one that runs end, and goes on with the client. One that finds nobody starts as any other.
func TestReplace(t *testing.T) {
	t.Parallel()
	for _, tr := range []rpcclient.Transport{rpcclient.IPC, rpcclient.HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			d := newReplaced(t, over(tr))
			d.args = []string{"--replace"}
			d.start()
			d.logged("full list sent")
			d.pushMute()
			d.hasMute(true)
			was := d.status()
			next := d.beside(nil)
			d.exit()
			d.agentRun = next
			require.Equal(t, next.cmd.Process.Pid, d.another(was).PID)
			t.Logf("the client had no agent for %v", d.gap())
		})
	}
}

// TestTwoReplaceAtOnce: one of the two goes on.
func TestTwoReplaceAtOnce(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	was := d.status()
	one, two := d.beside(nil, "--replace"), d.beside(nil, "--replace")
	d.exit()
	rest := two
	select {
	case <-one.ended:
	case <-two.ended:
		rest = one
	case <-time.After(patience):
		require.FailNow(t, "two agents")
	}
	require.Equal(t, rest.cmd.Process.Pid, d.another(was).PID)
}

// TestReplaceFails in every way that leaves the agent that runs as it is.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, d *controlled){
		"without the word": func(t *testing.T, d *controlled) { fails(t, d.beside(nil), exitFailed, "runs already") },
		"another application": func(t *testing.T, d *controlled) {
			d.catalogue = ofAnother(t)
			fails(t, d.beside(nil, "--replace"), exitFailed, "runs already")
		},
		"a broken catalogue": func(t *testing.T, d *controlled) {
			d.catalogue = write(t, "broken.yaml", "vendor: [\n")
			fails(t, d.beside(nil, "--replace"), exitBadInput, "broken.yaml")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t)
			d.pushMute()
			d.hasMute(true)
			run(t, d)
			require.Equal(t, d.cmd.Process.Pid, d.status().PID)
			d.hasMute(true)
			d.signal(syscall.SIGTERM)
			d.exit()
			d.hasNone()
		})
	}
}

// ofAnother is the example catalogue for another application.
func ofAnother(t *testing.T) (path string) {
	t.Helper()
	example, err := os.ReadFile("../../examples/acme.yaml")
	require.NoError(t, err)
	return write(t, "other.yaml", strings.NewReplacer(clientID, "223456789012345678", "\n    traces:", "\n    #").Replace(string(example)))
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

// hears waits for the next thing that it is told.
func (m *manager) hears(t *testing.T) string {
	t.Helper()
	require.NoError(t, m.SetReadDeadline(time.Now().Add(patience)))
	said := make([]byte, 200)
	n, err := m.Read(said)
	require.NoError(t, err)
	return string(said[:n])
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

// TestUpgradeToAnotherProgram, which its service manager takes for the same process: it hears that the agent is ready, twice, and never that
// it stops.
func TestUpgradeToAnotherProgram(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	m := d.installed()
	d.start()
	d.logged("full list sent")
	require.Equal(t, "READY=1", m.hears(t))
	d.install("#!/bin/sh\nexec FIRST \"$@\"\n")
	was := d.status()
	_, errs, code := d.ask("upgrade")
	require.Zero(t, code, errs)
	require.Equal(t, d.cmd.Process.Pid, d.another(was).PID)
	require.Equal(t, "READY=1", m.hears(t))
	d.neverEmptied()
}

// TestUpgradeToAProgramThatNeverStarts, although it has shown that it would: the client keeps its devices, and no mute.
func TestUpgradeToAProgramThatNeverStarts(t *testing.T) {
	t.Parallel()
	d := newReplaced(t)
	d.installed()
	d.start()
	d.logged("full list sent")
	d.pushMute()
	d.hasMute(true)
	d.install("#!/bin/sh\nfor arg; do test $arg = --try && exec FIRST \"$@\"; done; exit 7\n")
	_, errs, code := d.ask("upgrade")
	require.Zero(t, code, errs)
	<-d.ended
	require.Equal(t, 7, d.cmd.ProcessState.ExitCode(), "its service manager decides what follows")
	require.Len(t, d.client.Devices(), 1)
	require.Nil(t, d.client.Devices()[0].HardwareMute)
}

// TestUpgradeIsRefused where the program on disk does not show that it starts: the agent goes on, and says why.
func TestUpgradeIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script    string
		catalogue func(t *testing.T) string // by then
		says      string
	}{
		"no program":                        {script: "no program\n", says: "exec format error"},
		"a program that ends":               {script: "#!/bin/sh\necho one; echo it is broken >&2; exit 3\n", says: "exit status 3: it is broken"},
		"a program that hangs":              {script: "#!/bin/sh\nexec sleep 600\n", says: "it does not end"},
		"an older program":                  {script: "#!/bin/sh\nexec FIRST \"$@\" --unknown\n", says: "unknown flag: --unknown"},
		"a program for another application": {catalogue: ofAnother, says: "it is for \"acme/223456789012345678: "},
		"a broken catalogue":                {catalogue: func(t *testing.T) string { return write(t, "broken.yaml", "vendor: [\n") }, says: "catalogue.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newReplaced(t)
			d.installed()
			example, err := os.ReadFile("../../examples/acme.yaml")
			require.NoError(t, err)
			d.catalogue = write(t, "catalogue.yaml", strings.ReplaceAll(string(example), "\n    traces:", "\n    #"))
			d.start()
			d.logged("full list sent")
			d.pushMute()
			d.hasMute(true)
			was := d.status()
			if c.script != "" {
				d.install(c.script)
			}
			if c.catalogue != nil {
				text, err := os.ReadFile(c.catalogue(t))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(d.catalogue, text, 0o600))
			}
			_, errs, code := d.ask("upgrade")
			require.Equal(t, exitFailed, code)
			require.Contains(t, errs, c.says)
			now := d.status()
			require.Equal(t, was.Instance, now.Instance)
			require.True(t, slices.ContainsFunc(now.Conditions, func(c control.Condition) bool { return c.Code == health.UpdateRefused }))
			require.Len(t, now.Pushes, 1)
			d.hasMute(true)
		})
	}
}

// TestTry shows whose the agent would be, beside one that runs, and leaves nothing behind.
func TestTry(t *testing.T) {
	t.Parallel()
	d := runningReplaced(t)
	try := d.beside(nil, "--try")
	try.exit()
	said, _ := try.log.snapshot()
	require.Equal(t, []string{"acme/" + clientID + ": 1 endpoint"}, said)
	var left []string
	home := envOf(try.cmd.Env, "HOME")
	require.NoError(t, filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		left = append(left, path)
		return err
	}))
	require.Equal(t, []string{home}, left)
	require.Len(t, d.client.Payloads(), 1)
}

// TestEmpty: an agent that was killed has left its list in the client, over IPC and over HTTP. Where one runs, its list stays.
func TestEmpty(t *testing.T) {
	t.Parallel()
	for _, tr := range []rpcclient.Transport{rpcclient.IPC, rpcclient.HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			d := runningReplaced(t, over(tr))
			d.pushMute()
			d.hasMute(true)
			empty := func() output { return runToEnd(t, child(t, d.cmd.Env, "empty", "--catalogue", d.catalogue)) }
			out := empty()
			require.Equal(t, exitFailed, out.code)
			require.Contains(t, out.stderr, "runs already for client_id")
			d.hasMute(true)
			d.signal(syscall.SIGKILL)
			<-d.ended
			time.Sleep(time.Second) // over HTTP the client has a token again
			out = empty()
			require.Zero(t, out.code, out.stderr)
			d.hasNone()
		})
	}
}

// envOf returns the last value of a variable.
func envOf(env []string, name string) (value string) {
	for _, kv := range env {
		if of, is := strings.CutPrefix(kv, name+"="); is {
			value = of
		}
	}
	return value
}

// TestUpdateOfAnAgentWhoseEndHangs: what hangs, here a reload, does not keep the next one from starting. Under a supervisor that starts it.
func TestUpdateOfAnAgentWhoseEndHangs(t *testing.T) {
	t.Parallel()
	for name, supervised := range map[string]bool{"supervised": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hang := filepath.Join(t.TempDir(), "hang")
			d := newReplaced(t)
			d.env = append(d.env, stuckEnv+"="+hang)
			if supervised {
				d.env = append(d.env, supervise.StopEventVariable+"=any")
			}
			d.start()
			d.logged("full list sent")
			was := d.status()
			require.NoError(t, os.WriteFile(hang, nil, 0o600))
			d.signal(syscall.SIGHUP)
			testlab.Eventually(t, "it hangs", func() bool { _, err := os.Stat(hang); return err != nil })
			_, errs, code := d.ask("upgrade")
			require.Zero(t, code, errs)
			d.logged("what is left to do hangs: the process ends without it")
			if supervised {
				<-d.ended
				require.Equal(t, supervise.ExitUpdate, d.cmd.ProcessState.ExitCode())
				return
			}
			require.Equal(t, was.PID, d.another(was).PID)
		})
	}
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
