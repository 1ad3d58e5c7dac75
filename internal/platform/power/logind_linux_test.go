package power

import (
	"context"
	"log/slog"
	"net"
	"os"
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

// connect is another process on the bus, which owns name unless that is "".
func connect(t *testing.T, b *testlab.Bus, name string) *dbus.Conn {
	conn, err := dbus.Connect(b.Address())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	if name != "" {
		reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
		require.NoError(t, err)
		require.Equal(t, dbus.RequestNameReplyPrimaryOwner, reply)
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

// watching starts a logindWatch on address; stop ends it and waits for its end.
func watching(t *testing.T, address string, timeout time.Duration, resumed func()) (log *journal, stop func()) {
	log = &journal{}
	ctx, cancel := context.WithCancel(t.Context())
	w := logindWatch{
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
	bus := testlab.StartBus(t)
	logind := connect(t, bus, logindName)
	heard := signal.New()
	var times atomic.Int32
	log, stop := watching(t, bus.Address(), busTimeout, func() { times.Add(1); heard.Notify() })
	log.await(t, "watching logind", 1)

	sleepSignal(t, connect(t, bus, ""), false) // not logind
	sleepSignal(t, logind, true)
	sleepSignal(t, logind, "false") // not logind's own form
	sleepSignal(t, logind, false)
	platformtest.AwaitSignal(t, heard)
	sleepSignal(t, logind, true)
	sleepSignal(t, logind, false)
	platformtest.AwaitSignal(t, heard)
	require.EqualValues(t, 2, times.Load())

	bus.Kill()
	log.await(t, "until the system bus is back", 1)
	bus.Start()
	log.await(t, "reports sleep again", 1)
	logind = connect(t, bus, logindName)
	sleepSignal(t, logind, false)
	platformtest.AwaitSignal(t, heard)
	require.EqualValues(t, 3, times.Load())
	stop()
	require.Equal(t, 1, log.count("until the system bus is back"), "one line however often it was dialled")
}

func TestResumeWithoutLogind(t *testing.T) {
	platformtest.NoLeak(t)
	bus := testlab.StartBus(t)
	log, stop := watching(t, bus.Address(), busTimeout, func() {})
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
	bus := testlab.StartBus(t)
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", bus.Address()+"-absent;tcp:host=localhost;"+bus.Address()+",guid=0")
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
