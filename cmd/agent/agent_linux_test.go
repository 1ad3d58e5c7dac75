package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// quiet is how long a test watches that nothing happens.
const quiet = 500 * time.Millisecond

// nobody is another user than the one who runs the tests.
const nobody = 65534

// asNobody starts a process as that user.
var asNobody = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}

// needsRoot skips a test that needs two users.
func needsRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
}

// agentRun is the agent as a process, in a runtime folder of its own.
type agentRun struct {
	t         *testing.T
	ctx       context.Context
	sound     *testlab.SoundServer // may be nil
	folder    string               // XDG_RUNTIME_DIR, where clients have their sockets
	ports     []int                // where clients are looked for
	catalogue string
	env       []string // settings, in the form NAME=value of the environment
	args      []string // further arguments
	user      *syscall.SysProcAttr
	program   string   // a copy of this binary to start; "": this one, or its twin without the race detector
	output    *os.File // where its log is, in place of log; nil: there

	raceDetector bool // it runs with the race detector: beside PulseAudio, unless a test says otherwise; program and user override it

	cmd   *exec.Cmd
	log   *lines
	ended chan struct{}
	read  int // lines of the log that logged has been through
}

// newAgentRun prepares an agent but does not start it.
func newAgentRun(t *testing.T, sound *testlab.SoundServer, settings ...string) *agentRun {
	t.Helper()
	catalogue, err := filepath.Abs("../../examples/acme.yaml")
	require.NoError(t, err)
	return &agentRun{
		t: t, ctx: deadline(t), sound: sound, folder: openFolder(t), catalogue: catalogue, env: settings,
		raceDetector: sound != nil && sound.Kind() == testlab.PulseAudio,
	}
}

// openFolder is a folder for all users, with the short path that sockets need.
func openFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "run")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o777))
	return folder
}

// start starts the agent.
func (a *agentRun) start() {
	a.t.Helper()
	var base []string
	if a.sound != nil {
		base = a.sound.Env()
	}
	ports := make([]string, len(a.ports))
	for i, port := range a.ports {
		ports[i] = strconv.Itoa(port)
	}
	env := privateEnv(a.t, base, "SIDETONE_LOG_FORMAT=json", "XDG_RUNTIME_DIR="+a.folder, "SIDETONE_RPC_PORTS="+strings.Join(ports, ","))
	a.cmd = child(a.t, append(env, a.env...), append([]string{"run", "--catalogue", a.catalogue}, a.args...)...)
	if a.user != nil {
		a.cmd.SysProcAttr = a.user
		a.cmd.Path = "/proc/self/exe" // the folder of this binary may be root's alone
		a.cmd.Dir = "/"
	}
	switch {
	case a.program != "":
		a.cmd.Path = a.program
	case a.user != nil:
	case a.raceDetector:
		self, err := os.Executable()
		require.NoError(a.t, err)
		a.cmd.Path = self
		a.cmd.Env = append(a.cmd.Env, "GOMAXPROCS=4") // more orders of events than with one, as it ships
	}
	a.log, a.read = newLines(), 0
	a.cmd.Stdout, a.cmd.Stderr = a.log, a.log
	if a.output != nil {
		a.cmd.Stdout, a.cmd.Stderr = a.output, a.output
	}
	a.ended = startForTest(a.t, a.cmd, a.log)
}

// startForTest starts a process that ends with the test, which shows what it has said if it fails.
func startForTest(t *testing.T, cmd *exec.Cmd, said *lines) (ended chan struct{}) {
	t.Helper()
	require.NoError(t, cmd.Start())
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if all, _ := said.snapshot(); t.Failed() {
			t.Logf("process %d, %s, said:\n%s", cmd.Process.Pid, strings.Join(cmd.Args[1:], " "), strings.Join(all, "\n"))
		}
	})
	return ended
}

// racedChild prepares the agent with the given arguments, with the race detector if this binary has it.
func racedChild(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := child(t, env, args...)
	var err error
	cmd.Path, err = os.Executable()
	require.NoError(t, err)
	return cmd
}

// plug plugs a headset in.
func (a *agentRun) plug(h testlab.Headset) *testlab.PluggedHeadset {
	a.t.Helper()
	p, err := a.sound.PlugHeadset(a.ctx, h)
	require.NoError(a.t, err)
	return p
}

// plugForTest plugs a headset in until the end of the test.
func (a *agentRun) plugForTest(h testlab.Headset) *testlab.PluggedHeadset {
	a.t.Helper()
	p := a.plug(h)
	a.t.Cleanup(func() { require.NoError(a.t, p.Unplug(a.ctx)) })
	return p
}

func (a *agentRun) mute(p *testlab.PluggedHeadset, on bool) {
	a.t.Helper()
	require.NoError(a.t, p.SetMute(a.ctx, on))
}

// entry is one line of the agent's log.
type entry map[string]any

func (e entry) msg() string { s, _ := e["msg"].(string); return s }

// logged waits for a line with one of the messages, after the one that the last call returned.
func (a *agentRun) logged(msgs ...string) entry {
	a.t.Helper()
	limit := time.After(patience)
	for {
		all, more := a.log.snapshot()
		for a.read < len(all) {
			e := a.parse(all[a.read])
			a.read++
			if slices.Contains(msgs, e.msg()) {
				return e
			}
		}
		select {
		case <-more:
		case <-limit:
			require.FailNow(a.t, "never logged", "%q", msgs)
		}
	}
}

// entries are all lines so far with one of the messages.
func (a *agentRun) entries(msgs ...string) []entry {
	a.t.Helper()
	var found []entry
	all, _ := a.log.snapshot()
	for _, line := range all {
		if e := a.parse(line); slices.Contains(msgs, e.msg()) {
			found = append(found, e)
		}
	}
	return found
}

// parse reads a line of the log. Anything but the log's own lines, such as a complaint of the
// race detector, fails the test.
func (a *agentRun) parse(line string) entry {
	a.t.Helper()
	var e entry
	require.NoError(a.t, json.Unmarshal([]byte(line), &e), "not a line of the log: %s", line)
	return e
}

func (a *agentRun) signal(s syscall.Signal) {
	a.t.Helper()
	require.NoError(a.t, a.cmd.Process.Signal(s))
}

// exit waits for the agent's end, which must be orderly.
func (a *agentRun) exit() {
	a.t.Helper()
	select {
	case <-a.ended:
	case <-time.After(patience):
		require.FailNow(a.t, "the agent does not end")
	}
	require.Equal(a.t, exitOK, a.cmd.ProcessState.ExitCode(), "%s", a.cmd.ProcessState)
}

// program is the name by which the log knows a process.
func program(name string, pid int) string { return fmt.Sprintf("%s (pid %d)", name, pid) }
