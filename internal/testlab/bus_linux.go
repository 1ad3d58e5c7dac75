package testlab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A Bus is a private dbus-daemon.
type Bus struct {
	tb      testing.TB
	socket  string
	process *exec.Cmd
}

// NewBus prepares a bus. Start starts it.
func NewBus(tb testing.TB) *Bus {
	tb.Helper()
	if _, err := exec.LookPath("dbus-daemon"); err != nil {
		tb.Fatal("dbus-daemon is not installed: run 'make deps'")
	}
	folder, err := os.MkdirTemp("", "bus") // short: a socket's path is limited to 107 bytes
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(folder) })
	return &Bus{tb: tb, socket: filepath.Join(folder, "bus")}
}

// StartBus starts a bus.
func StartBus(tb testing.TB) *Bus {
	tb.Helper()
	b := NewBus(tb)
	b.Start()
	return b
}

// Address returns the bus address.
func (b *Bus) Address() string { return "unix:path=" + b.socket }

// Socket returns the path of the daemon's socket.
func (b *Bus) Socket() string { return b.socket }

// Signal sends a signal to the daemon.
func (b *Bus) Signal(s os.Signal) {
	b.tb.Helper()
	if err := b.process.Process.Signal(s); err != nil {
		b.tb.Fatal(err)
	}
}

// Folder returns the folder of the socket, which is named bus, like that of a session bus in its runtime folder.
func (b *Bus) Folder() string { return filepath.Dir(b.socket) }

// Start returns when the daemon accepts connections. The daemon is killed at the end of the test.
func (b *Bus) Start() {
	b.tb.Helper()
	must := func(err error) {
		b.tb.Helper()
		if err != nil {
			b.tb.Fatal(err)
		}
	}
	config := filepath.Join(b.Folder(), "config")
	must(os.WriteFile(config, []byte(busConfig(b.socket)), 0o600))
	process := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--nopidfile", "--print-address=1")
	out, err := process.StdoutPipe()
	must(err)
	var complaints bytes.Buffer
	process.Stderr = &complaints
	must(process.Start())
	b.process = process
	b.tb.Cleanup(b.Kill)
	if _, err = out.Read(make([]byte, 256)); err != nil { // it prints its address when it listens
		b.Kill()
		b.tb.Fatalf("dbus-daemon does not start: %v: %s", err, &complaints)
	}
}

// Kill kills the daemon.
func (b *Bus) Kill() {
	if b.process != nil {
		_ = b.process.Process.Kill()
		_ = b.process.Wait()
		b.process = nil
	}
}
