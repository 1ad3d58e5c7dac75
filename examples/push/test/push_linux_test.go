// Package test runs the client snippets of its parent folder against a real agent, in front of
// a fake client. They have a folder to themselves because Go allows no C files in a package of
// its own.
package test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

// patience is how long a test waits for what must happen. It is no claim about speed.
const patience = 60 * time.Second

// product is the headset's id in the example catalogue.
const product = "acme-headset-700"

// headset is its microphone, as a file of endpoints.
const headset = `endpoints: [{id: mic, type: audioinput, mute: false, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A700-0001}]`

// snippets are the snippets that run on Linux. All use the same owner, and so overwrite what
// another has pushed.
var snippets = []struct {
	name    string
	needs   string                        // toolchain
	compile func(program string) []string // nil: there is nothing to compile
	run     func(program string) []string // nil: the program itself
}{
	{name: "C", needs: "gcc", compile: func(p string) []string {
		return []string{"gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", p, "../push.c"}
	}},
	{name: "C++", needs: "g++", compile: func(p string) []string {
		return []string{"g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", p, "../push.cpp"}
	}},
	{name: "Go", needs: "go", compile: func(p string) []string { return []string{"go", "build", "-o", p, "../go"} }},
	{name: "Python", needs: "python3", run: func(string) []string { return []string{"python3", "../push.py"} }},
	{
		name: "C#", needs: "mcs",
		compile: func(p string) []string { return []string{"mcs", "-r:System.Core", "-out:" + p, "../push.cs"} },
		run:     func(p string) []string { return []string{"mono", p} },
	},
	{
		name: "Rust", needs: "rustc",
		compile: func(p string) []string { return []string{"rustc", "-D", "warnings", "-o", p, "../push.rs"} },
	},
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSnippets(t *testing.T) {
	d := newDesk(t)
	for _, s := range snippets {
		t.Run(s.name, func(t *testing.T) {
			_, err := exec.LookPath(s.needs)
			require.NoError(t, err, "run `make deps`")
			program := filepath.Join(t.TempDir(), "push")
			if s.compile != nil {
				o := execute(t, nil, s.compile(program)...)
				require.Zero(t, o.code, "compile: %s", o.stderr)
			}
			command := []string{program}
			if s.run != nil {
				command = s.run(program)
			}
			push := func(folder string, args ...string) outcome {
				return execute(t, d.env(folder), append(command, args...)...)
			}

			for _, muted := range []bool{true, false} {
				o := push(d.folder, product, fmt.Sprint(muted))
				require.Zero(t, o.code, o.stderr)
				require.Empty(t, o.stderr)
				var answer struct{ Units, Clients int }
				require.NoError(t, json.Unmarshal([]byte(o.stdout), &answer), "what it prints is the answer: %q", o.stdout)
				require.Equal(t, 1, answer.Units)
				d.wait(muted)
				require.True(t, d.leased(), "it must outlive its connection")
			}

			o := push(d.folder, "acme-headset-70", "true")
			require.Equal(t, 1, o.code)
			require.Empty(t, o.stdout)
			require.Contains(t, o.stderr, "push: the agent refuses: ")
			require.Contains(t, o.stderr, `"unknown_product"`)
			require.Contains(t, o.stderr, product, "the candidates")

			nobody := t.TempDir()
			o = push(nobody, product, "true")
			require.Equal(t, 1, o.code)
			require.Empty(t, o.stdout)
			require.Contains(t, o.stderr, "no agent runs (start it with 'sidetone run'): ")
			require.Contains(t, o.stderr, nobody+"/sidetone/acme/agent.sock")

			o = push(d.folder, product, "yes")
			require.Equal(t, 1, o.code)
			require.Contains(t, o.stderr, "usage: ")
			d.wait(false)
		})
	}
}

// TestFollow: each time that the file is written is one push. What it said before the script was started, what is not JSON and what the
// agent refuses changes nothing.
func TestFollow(t *testing.T) {
	d := newDesk(t)
	file := filepath.Join(d.home, "state.json")
	write := func(content string) {
		require.NoError(t, os.WriteFile(file+".new", []byte(content), 0o600))
		require.NoError(t, os.Rename(file+".new", file))
	}
	write(`{"hardware_mute": true}`)
	cmd := exec.Command("python3", "../follow.py", product, file)
	cmd.Env = append(append(bare(), d.env(d.folder)...), "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
	}()
	answers, problems := bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	says := func(s *bufio.Scanner, what string) {
		t.Helper()
		for line := ""; line == ""; line = s.Text() { // an answer ends with an empty line
			require.True(t, s.Scan(), "the script has ended: %v", s.Err())
		}
		require.Contains(t, s.Text(), what)
	}
	says(problems, "waiting for "+file)
	for _, muted := range []bool{false, true, false} {
		write(fmt.Sprintf(`{"hardware_mute": %t}`, muted))
		says(answers, `"units":1`)
		d.wait(muted)
	}
	require.True(t, d.leased())
	write(`{"hardware_mute": tr`)
	says(problems, "Expecting value")
	write(`{"hardware_mut": true}`)
	says(problems, "the agent refuses: ")
	require.NoError(t, os.Remove(file))
	write(`{"hardware_mute": true}`)
	says(answers, `"units":1`)
	d.wait(true)
}

// desk is a fake client and an agent that reports the headset to it.
type desk struct {
	t      *testing.T
	client *fakeserver.Server
	agent  string          // the agent's program
	ended  context.Context // done when its process has ended
	folder string          // XDG_RUNTIME_DIR
	home   string
}

// env is what differs for a program of this desk, whose runtime folder is the given one.
func (d *desk) env(folder string) []string {
	return []string{"HOME=" + d.home, "XDG_CONFIG_HOME=" + d.home, "XDG_STATE_HOME=" + d.home, "XDG_RUNTIME_DIR=" + folder}
}

// newDesk starts both, and returns when the client shows the headset as not muted.
func newDesk(t *testing.T) *desk {
	t.Helper()
	folder, err := os.MkdirTemp("", "run") // sockets need a short path
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, IPCDir: folder})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })

	home := t.TempDir()
	agent := filepath.Join(home, "agent")
	require.NoError(t, testlab.Build(agent, "../../../cmd/agent"))
	file := filepath.Join(home, "endpoints.yaml")
	require.NoError(t, os.WriteFile(file, []byte(headset), 0o600))

	var log bytes.Buffer // read when the process has ended
	cmd := exec.Command(agent, "run", "--catalogue", "../../acme.yaml",
		"--sources-audio=false", "--sources-camera=false", "--sources-files", file)
	d := &desk{t: t, client: client, agent: agent, folder: folder, home: home}
	cmd.Env = append(append(bare(), d.env(folder)...), fmt.Sprintf("SIDETONE_RPC_PORTS=%d", client.Port()), "SIDETONE_RPC_IPC_FOLDERS="+folder)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, cmd.Start())
	ended, end := context.WithCancel(context.Background())
	go func() {
		defer end()
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended.Done()
		if cmd.ProcessState.ExitCode() != 0 || t.Failed() {
			t.Errorf("the agent ended with %s and logged:\n%s", cmd.ProcessState, &log)
		}
	})
	d.ended = ended
	d.wait(false)
	return d
}

// wait waits until the client shows the headset as muted or not.
func (d *desk) wait(muted bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ended, patience)
	defer cancel()
	require.NoError(d.t, d.client.Wait(ctx, func(list []fakeserver.Device) bool {
		return len(list) == 1 && list[0].HardwareMute != nil && *list[0].HardwareMute == muted
	}), "hardware_mute %t", muted)
}

// leased says whether the one push in force has a lease of its own.
func (d *desk) leased() bool {
	d.t.Helper()
	o := execute(d.t, d.env(d.folder), d.agent, "status", "--json")
	require.Zero(d.t, o.code, o.stderr)
	var status struct{ Pushes []struct{ Until time.Time } }
	require.NoError(d.t, json.Unmarshal([]byte(o.stdout), &status))
	return len(status.Pushes) == 1 && !status.Pushes[0].Until.IsZero()
}

// outcome is what a program that has ended leaves behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// execute runs a program to its end, with further variables in its environment.
func execute(t *testing.T, env []string, command ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(bare(), env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err, strings.Join(command, " "))
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// bare is this process's environment without anything that the agent would take for a setting.
func bare() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SIDETONE_") {
			env = append(env, kv)
		}
	}
	return env
}
