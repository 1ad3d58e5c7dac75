package power

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
)

// A systemBusDaemon is a real dbus-daemon of the test's own.
type systemBusDaemon struct {
	t       *testing.T
	socket  string
	process *exec.Cmd
}

func startBus(t *testing.T) *systemBusDaemon {
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		t.Fatal("dbus-daemon is not installed: run 'make deps'")
	}
	dir, err := os.MkdirTemp("", "bus") // short: a socket's path is limited to 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	b := &systemBusDaemon{t: t, socket: filepath.Join(dir, "s")}
	b.start()
	t.Cleanup(b.kill)
	return b
}

func (b *systemBusDaemon) address() string { return "unix:path=" + b.socket }

// start returns when the daemon accepts connections.
func (b *systemBusDaemon) start() {
	config := filepath.Join(filepath.Dir(b.socket), "config")
	require.NoError(b.t, os.WriteFile(config, fmt.Appendf(nil, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "busconfig.dtd">
<busconfig>
  <listen>%s</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_type="method_call"/> <allow send_type="signal"/>
    <allow send_requested_reply="true"/> <allow receive_type="signal"/> <allow receive_type="method_call"/> <allow receive_requested_reply="true"/>
  </policy>
</busconfig>
`, b.address()), 0o600))
	b.process = exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--nopidfile", "--print-address=1")
	out, err := b.process.StdoutPipe()
	require.NoError(b.t, err)
	var complaints bytes.Buffer
	b.process.Stderr = &complaints
	require.NoError(b.t, b.process.Start())
	if _, err = out.Read(make([]byte, 256)); err != nil { // it prints its address when it listens
		b.kill()
		b.t.Fatalf("dbus-daemon does not start: %v: %s", err, &complaints)
	}
}

func (b *systemBusDaemon) kill() {
	_ = b.process.Process.Kill()
	_ = b.process.Wait()
}

// connect is another process on the bus, which owns name unless that is "".
func (b *systemBusDaemon) connect(name string) *dbus.Conn {
	conn, err := dbus.Connect(b.address())
	require.NoError(b.t, err)
	b.t.Cleanup(func() { conn.Close() })
	if name != "" {
		reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
		require.NoError(b.t, err)
		require.Equal(b.t, dbus.RequestNameReplyPrimaryOwner, reply)
	}
	return conn
}

func sleepSignal(t *testing.T, conn *dbus.Conn, starting any) {
	require.NoError(t, conn.Emit(logindPath, logindInterface+"."+prepareForSleep, starting))
}

// A journal is a log that can be waited for.
type journal struct{ testlab.Output }

func (j *journal) count(text string) int { return strings.Count(j.String(), text) }

func (j *journal) await(t *testing.T, text string, times int) {
	t.Helper()
	if !testlab.Until(j.Changed, func() bool { return j.count(text) >= times }) {
		t.Fatalf("%q was not logged %d times; the log: %s", text, times, j)
	}
}

// watching starts a resumeWatch on address; stop ends it and waits for its end.
func watching(t *testing.T, address string, timeout time.Duration, resumed func()) (log *journal, stop func()) {
	log = &journal{}
	ctx, cancel := context.WithCancel(t.Context())
	w := resumeWatch{
		address: address,
		log:     slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		resumed: resumed,
		timeout: timeout,
		pause:   func(int) time.Duration { return 10 * time.Millisecond },
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx)
	}()
	return log, func() {
		cancel()
		<-done
	}
}

func TestResume(t *testing.T) {
	platformtest.NoLeak(t)
	bus := startBus(t)
	logind := bus.connect(logindName)
	heard := signal.New()
	var times atomic.Int32
	log, stop := watching(t, bus.address(), busTimeout, func() { times.Add(1); heard.Notify() })
	log.await(t, "watching logind", 1)

	sleepSignal(t, bus.connect(""), false) // not logind
	sleepSignal(t, logind, true)
	sleepSignal(t, logind, "false") // not logind's own form
	sleepSignal(t, logind, false)
	platformtest.Hear(t, heard)
	sleepSignal(t, logind, true)
	sleepSignal(t, logind, false)
	platformtest.Hear(t, heard)
	require.EqualValues(t, 2, times.Load())

	bus.kill()
	log.await(t, "until the system bus is back", 1)
	bus.start()
	log.await(t, "tells of sleep again", 1)
	logind = bus.connect(logindName)
	sleepSignal(t, logind, false)
	platformtest.Hear(t, heard)
	require.EqualValues(t, 3, times.Load())
	stop()
	require.Equal(t, 1, log.count("until the system bus is back"), "one line however often it was dialled")
}

func TestResumeWithoutLogind(t *testing.T) {
	platformtest.NoLeak(t)
	bus := startBus(t)
	log, stop := watching(t, bus.address(), busTimeout, func() {})
	log.await(t, "systemd-logind does not run", 1)
	stop()
}

// A bus that accepts and never answers, then one that is gone.
func TestResumeBusWithoutLife(t *testing.T) {
	platformtest.NoLeak(t)
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	log, stop := watching(t, "unix:path="+socket, time.Millisecond, func() {})
	log.await(t, "the system bus does not answer", 1)
	stop()
	_, stop = watching(t, "unix:path="+socket, time.Hour, func() {})
	stop()
	require.NoError(t, l.Close())
	log, stop = watching(t, "unix:path="+socket, time.Hour, func() {})
	log.await(t, "connect to the system bus", 1)
	stop()
}

// Without a bus the kernel's clocks tell.
func TestWatchResumeWithoutBus(t *testing.T) {
	platformtest.NoLeak(t)
	socket := filepath.Join(t.TempDir(), "s")
	for address, reason := range map[string]string{
		"unix:path=" + socket:     "this machine has no system bus at " + socket,
		"unixexec:path=/bin/true": `the system bus address \"unixexec:path=/bin/true\" names no unix socket`,
	} {
		t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
		log := &journal{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- WatchResume(ctx, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), func(time.Time) {})
		}()
		log.await(t, reason, 1)
		cancel()
		require.NoError(t, <-done)
	}
}

func TestWatchResume(t *testing.T) {
	platformtest.NoLeak(t)
	bus := startBus(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+bus.socket+"-absent;tcp:host=localhost;unix:path="+bus.socket+",guid=0")
	log := &journal{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- WatchResume(ctx, slog.New(slog.NewTextHandler(log, nil)), func(time.Time) {})
	}()
	log.await(t, "systemd-logind does not run", 1)
	cancel()
	require.NoError(t, <-done)
}

func TestBusPause(t *testing.T) {
	for failures, most := range []time.Duration{busRetryMin, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, busRetryMax, busRetryMax} {
		for range 100 {
			d := busPause(failures)
			require.GreaterOrEqual(t, d, most/2)
			require.LessOrEqual(t, d, most)
		}
	}
	require.LessOrEqual(t, busPause(1<<30), busRetryMax)
}

func TestUnixBus(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	require.NoError(t, os.WriteFile(socket, nil, 0o600))
	for address, want := range map[string]string{
		"unix:path=" + socket:                            "unix:path=" + socket,
		"unix:path=" + socket + ",guid=1":                "unix:path=" + socket + ",guid=1",
		"unix:path=/absent;unix:path=" + socket:          "unix:path=" + socket,
		"unix:abstract=/tmp/x;tcp:host=h":                "unix:abstract=/tmp/x",
		"unix:path=/absent/a;unix:path=/absent/b,guid=1": "",
		"":     "",
		"tcp:": "",
	} {
		got, err := unixBus(address)
		require.Equal(t, want, got, address)
		require.Equal(t, want == "", err != nil, address)
	}
}
