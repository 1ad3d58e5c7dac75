// Package testlab is shared by tests, the demo and the benchmarks: private sound servers with simulated
// headsets, folders that mimic sysfs and /dev with HID devices, and waiting without sleeping. It imports
// leaves only.
//
// A private sound server lives in its own folder, sees no hardware, and never touches the user's server,
// session bus or settings. It works as root and as a normal user, without D-Bus and without a display,
// and several can run at once.
package testlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// SoundKind is which sound server to start.
type SoundKind string

// The kinds.
const (
	PulseAudio SoundKind = "pulseaudio"
	PipeWire   SoundKind = "pipewire" // with WirePlumber, pipewire-pulse and a private session bus
)

// SoundKinds lists every kind.
var SoundKinds = []SoundKind{PulseAudio, PipeWire}

// SoundServer is a running private sound server. Its methods may be called from any goroutine,
// but those that start or end processes one at a time.
type SoundServer struct {
	kind  SoundKind
	dir   string
	log   Output
	group *group // the server's processes; replaced by Restart
}

const (
	startLimit = 30 * time.Second
	stopLimit  = 5 * time.Second
	poll       = 5 * time.Millisecond // interval of polling where there is no notification
)

// The longest name of a socket in the folder, and how long a socket's path may be on Linux.
const (
	longestSocket = "/pipewire-0-manager"
	maxSocketPath = 107
)

// StartSound starts a server and returns when it answers requests. ctx bounds the start only.
func StartSound(ctx context.Context, kind SoundKind) (*SoundServer, error) {
	if err := SoundAvailable(kind); err != nil {
		return nil, err
	}
	const pattern = "testlab-"
	parent := os.TempDir()
	if !usable(filepath.Join(parent, pattern+"4294967295")) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, fmt.Errorf("testlab: make folder: %w", err)
	}
	s := &SoundServer{kind: kind, dir: dir}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// plainPath matches paths that need no quoting in settings and arguments.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9/._+@-]+$`)

// usable reports whether a folder is suitable for a server's sockets.
func usable(dir string) bool {
	return len(dir)+len(longestSocket) <= maxSocketPath && plainPath.MatchString(dir)
}

// start starts the processes in a prepared folder and waits until the server answers.
func (s *SoundServer) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	err := errors.Join(os.MkdirAll(s.pulseDir(), 0o700), os.MkdirAll(s.path("state"), 0o700))
	if err != nil {
		return fmt.Errorf("testlab: make folder: %w", err)
	}
	s.group = &group{}
	if s.kind == PipeWire {
		err = s.startPipeWire(ctx)
	} else {
		err = s.startPulseAudio()
	}
	if err == nil { // a connection costs less than a program that asks
		err = s.waitFor(ctx, "open its socket "+s.Socket(), s.listens(s.Socket()))
	}
	if err == nil {
		err = s.waitFor(ctx, "answer requests", s.answers)
	}
	if err != nil {
		return fmt.Errorf("testlab: start %s: %w; its last output:\n%s", s.kind, err, s.tail())
	}
	return nil
}

// Kind returns which sound server s is.
func (s *SoundServer) Kind() SoundKind { return s.kind }

// Dir returns the server's folder.
func (s *SoundServer) Dir() string { return s.dir }

// Socket returns the path of the socket on which the PulseAudio protocol is spoken.
func (s *SoundServer) Socket() string { return filepath.Join(s.pulseDir(), "native") }

// Env returns an environment for programs that use this server: that of this process with the server's
// sound settings and a home in its folder, and without display and D-Bus.
func (s *SoundServer) Env() []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		group, _, _ := strings.Cut(name, "_")
		return slices.Contains([]string{"DBUS", "PULSE", "PIPEWIRE", "WIREPLUMBER"}, group) && group != name ||
			slices.Contains([]string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SESSION_MANAGER", "XDG_RUNTIME_DIR"}, name)
	})
	return append(env, s.clientEnv()...)
}

// Adopt sets this environment for the current process, for libraries that would otherwise use the user's
// server and settings.
func (s *SoundServer) Adopt() error {
	for _, setting := range s.clientEnv() {
		name, value, _ := strings.Cut(setting, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("testlab: set %s: %w", name, err)
		}
	}
	return nil
}

func (s *SoundServer) clientEnv() []string {
	return []string{
		"XDG_RUNTIME_DIR=" + s.dir,
		"PIPEWIRE_RUNTIME_DIR=" + s.dir,
		"PULSE_RUNTIME_PATH=" + s.pulseDir(),
		"PULSE_SERVER=unix:" + s.Socket(),
		"PULSE_COOKIE=" + s.path("cookie"), // else the client library would make one in the user's settings
		"HOME=" + s.dir,
		"XDG_CONFIG_HOME=" + s.path("config"),
		"XDG_STATE_HOME=" + s.path("state"),
		"XDG_CACHE_HOME=" + s.path("state"),
		"XDG_DATA_HOME=" + s.path("state"),
	}
}

// ownEnv returns the environment of the server's own programs, without anything of the user's.
func (s *SoundServer) ownEnv() []string {
	return append(s.clientEnv(),
		"LC_ALL=C.UTF-8",
		"PATH="+os.Getenv("PATH"),
		"PULSE_STATE_PATH="+s.path("state"),
		// Without an address, the libraries would look for the host's buses.
		"DBUS_SESSION_BUS_ADDRESS=unix:path="+s.path("dbus"),
		"DBUS_SYSTEM_BUS_ADDRESS=unix:path="+s.path("no-system-bus"),
	)
}

func (s *SoundServer) path(name string) string { return filepath.Join(s.dir, name) }

func (s *SoundServer) pulseDir() string { return s.path("pulse") }

// Kill ends the server at once, as a crash would, and waits until all its processes are gone.
func (s *SoundServer) Kill() error { return s.group.kill() }

// Restart kills the server if it still runs and starts it again, on the same socket and with nothing
// plugged in.
func (s *SoundServer) Restart(ctx context.Context) error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.start(ctx)
}

// Close kills what StartSound and Restart started and removes the folder.
func (s *SoundServer) Close() error {
	var err error
	if s.group != nil {
		err = s.group.kill()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// waitFor polls until check succeeds, a process of the server ends, or ctx does.
func (s *SoundServer) waitFor(ctx context.Context, what string, check func(context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if dead := s.group.firstEnded(); dead != "" {
			return fmt.Errorf("%s ended before the server could %s", dead, what)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server did not %s: %w (%w)", what, err, ctx.Err())
		case <-time.After(poll):
		}
	}
}

func (s *SoundServer) tail() string {
	const size = 16 << 10
	text := s.log.String()
	return strings.ToValidUTF8(text[max(0, len(text)-size):], "?")
}

// ForEachSound runs f as a subtest for each kind of sound server. Missing programs fail the test.
func ForEachSound(t *testing.T, f func(t *testing.T, s *SoundServer)) {
	t.Helper()
	for _, kind := range SoundKinds {
		t.Run(string(kind), func(t *testing.T) { f(t, SoundForTest(t, kind)) })
	}
}

// SoundForTest starts a server for the duration of the test. If the test fails, it logs the end of the
// server's output.
func SoundForTest(tb testing.TB, kind SoundKind) *SoundServer {
	tb.Helper()
	if err := SoundAvailable(kind); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := StartSound(ctx, kind)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("the last output of %s:\n%s", kind, s.tail())
		}
	})
	return s
}
