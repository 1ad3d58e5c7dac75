package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/platform/paths"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

// childEnv makes this test binary the agent itself, so that what is tested is the whole
// program as a process of its own, and the race detector watches it where it runs on.
const childEnv = "AGENT_TEST_CHILD"

// hidEnv names the folder with the HID devices of such an agent.
const hidEnv = "AGENT_TEST_HID"

// brandEnv makes such an agent take another file for its own program, beside which its brand file is.
const brandEnv = "AGENT_TEST_EXECUTABLE"

// limitsEnv has such an agent, or who asks one, give up as soon as for a user. Else it waits for as long as a test does: on a busy machine
// a process may not get to run for seconds.
const limitsEnv = "AGENT_TEST_LIMITS"

// insteadOfTests is what else this binary can be, by environment variable.
var insteadOfTests = map[string]func(){}

// patience is how long a test waits for what must happen. It is no claim about speed.
const patience = 60 * time.Second

// built is the folder of the programs that tests build. Every user may run them.
var built string

// unraced is this binary without the race detector.
var unraced = sync.OnceValues(func() (string, error) { return testlab.BuildUnraced(built) })

func TestMain(m *testing.M) {
	for name, run := range insteadOfTests {
		if os.Getenv(name) != "" {
			run()
		}
	}
	if os.Getenv(childEnv) != "" {
		host.HIDRoot = os.Getenv(hidEnv)
		paths.Etc = filepath.Join(os.Getenv("HOME"), "etc")
		host.Etc, host.Run = paths.Etc, filepath.Join(os.Getenv("HOME"), "run")
		if path := os.Getenv(brandEnv); path != "" {
			host.Executable = func() (string, error) { return path, nil }
		}
		ctx := context.Background()
		if os.Getenv(limitsEnv) == "" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, testLimit)
			defer cancel()
			host.StopTimeout = patience / 2
		}
		serveProcess(ctx)
	}
	paths.Etc = "/nonexistent" // nor what is set on this machine
	host.Etc, host.Run = paths.Etc, paths.Etc
	flag.Parse()
	_ = flag.Set("test.parallel", "10") // tests wait for other processes most of the time
	// It removes old files of the log, for the process's life.
	removesOldLogs := goleak.IgnoreTopFunction("gopkg.in/natefinch/lumberjack%2ev2.(*Logger).millRun")
	var err error
	if built, err = os.MkdirTemp("", "programs"); err == nil {
		err = os.Chmod(built, 0o755)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, ipctest.Kept, removesOldLogs, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(built)
		os.Exit(code)
	}))
}

// testLimit is for a test that hangs although each wait in it has its own patience, and for all processes of it.
const testLimit = 10 * time.Minute

// deadline returns a context for one test.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	t.Cleanup(cancel)
	return ctx
}

// privateEnv is base without anything that the agent would take for a setting, with folders of the
// test's own, then extra. base nil is the environment of this process without its sound server and
// session bus.
func privateEnv(t *testing.T, base []string, extra ...string) []string {
	t.Helper()
	var env []string
	home := t.TempDir()
	if base == nil {
		base = append(os.Environ(), "PULSE_SERVER=unix:"+filepath.Join(home, "no-sound-server"),
			"PULSE_COOKIE="+filepath.Join(home, "cookie"), "DBUS_SESSION_BUS_ADDRESS=unix:path="+filepath.Join(home, "no-bus"))
	}
	for _, kv := range base {
		if !strings.HasPrefix(kv, "SIDETONE_") {
			env = append(env, kv)
		}
	}
	// The race detector would sleep for a second at the end of each process.
	env = append(env, childEnv+"=1", "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=10")
	env = append(env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"), "XDG_STATE_HOME="+filepath.Join(home, "state"), "AppData="+home, "ProgramData="+home,
		"XDG_RUNTIME_DIR="+home)
	return append(env, extra...)
}

// child prepares the agent with the given arguments, without the race detector, for verbs that only ask or read: what they call is tested
// with it elsewhere.
func child(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := unraced()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// output is what a command that has ended leaves behind.
type output struct {
	code           int
	stdout, stderr string
}

// sidetone runs a command of the agent to its end, with nothing set but what env says.
func sidetone(t *testing.T, env []string, args ...string) output {
	t.Helper()
	return runToEnd(t, child(t, privateEnv(t, nil, env...), args...))
}

func runToEnd(t *testing.T, cmd *exec.Cmd) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		require.NoError(t, err)
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// lines collects what a process prints, and wakes who waits for a line.
type lines struct {
	mu   sync.Mutex
	all  []string
	rest []byte
	more chan struct{} // closed at the next line
}

func newLines() *lines { return &lines{more: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		l.all, l.rest = append(l.all, string(line)), rest
		close(l.more)
		l.more = make(chan struct{})
	}
}

// snapshot returns all lines so far and a channel that the next one closes.
func (l *lines) snapshot() ([]string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[:len(l.all):len(l.all)], l.more
}

// write puts a file into a folder of the test and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}
