package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab"
)

// chatter answers as an agent does that says something new all the time.
type chatter struct {
	said *atomic.Int64
	stop <-chan struct{}
}

func (c chatter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for n := 0; ; n++ {
		status := control.Status{PID: 1}
		for p := range 8 {
			status.Products = append(status.Products, control.Product{Unit: fmt.Sprint(p), Name: strings.Repeat(fmt.Sprint(n), 40)})
		}
		if json.NewEncoder(w).Encode(control.Change{Status: status}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		c.said.Add(1)
		select {
		case <-time.After(time.Millisecond):
		case <-c.stop:
			return
		}
	}
}

// socketOf is the socket on which a process is connected to the daemon, as that process has it.
func socketOf(t *testing.T, process int, bus string) int {
	t.Helper()
	handle, err := unix.PidfdOpen(process, 0)
	require.NoError(t, err)
	defer unix.Close(handle)
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", process))
	require.NoError(t, err)
	for n := range len(fds) + 10 {
		fd, err := unix.PidfdGetfd(handle, n, 0)
		if err != nil {
			continue
		}
		if peer, err := unix.Getpeername(fd); err == nil {
			if address, is := peer.(*unix.SockaddrUnix); is && address.Name == bus {
				return fd
			}
		}
		_ = unix.Close(fd)
	}
	require.FailNow(t, "it is not on the bus")
	return -1
}

// trayOf starts a tray, of what answers in the place of an agent.
func (d *desk) trayOf(agent http.Handler) *exec.Cmd {
	d.t.Helper()
	address := filepath.Join(d.home, "sidetone", "acme", "agent.sock")
	require.NoError(d.t, os.MkdirAll(filepath.Dir(address), 0o700))
	l, err := ipc.ListenControl(address)
	require.NoError(d.t, err)
	server := &http.Server{Handler: agent}
	go server.Serve(l)
	d.t.Cleanup(func() { _ = server.Close() })
	return d.start(d.agent+"-tray", "--address="+address, "--")
}

// TestMemoryForJunk: a line without an end costs what the longest of an agent would, and no more.
func TestMemoryForJunk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	said := make(chan struct{}, 100)
	tray := d.trayOf(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{"+strings.Repeat(" ", 16<<20))
		said <- struct{}{}
	}))
	icon := <-d.icons
	testlab.Eventually(t, "it is not understood", func() bool {
		return d.rows(icon)["The answer at the agent's address cannot be understood."] != 0
	})
	<-said
	<-said // another try
	peak := d.memory(tray, "VmHWM")
	require.LessOrEqual(t, peak, maxResident+10<<10)
	testlab.Eventually(t, "it is given back", func() bool { return d.memory(tray, "VmRSS") <= maxResident })
	t.Logf("resident memory of the tray: at most %d KiB, then %d KiB", peak, d.memory(tray, "VmRSS"))
}

// TestSecondSignal: a tray that waits for a bus which takes nothing any more, whose buffer is full, ends when it is told so again.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var said atomic.Int64
	tray := d.trayOf(chatter{&said, t.Context().Done()})
	icon := <-d.icons
	testlab.Eventually(t, "the menu shows devices", func() bool { return len(d.rows(icon)) > 8 })

	socket := socketOf(t, tray.Process.Pid, d.session.Socket())
	defer unix.Close(socket)
	require.NoError(t, unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_SNDBUF, 0)) // the least that the kernel has
	size, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_SNDBUF)
	require.NoError(t, err)
	d.session.Signal(syscall.SIGSTOP)
	defer d.session.Signal(syscall.SIGCONT)
	testlab.Eventually(t, "the buffer is full", func() bool {
		waiting, err := unix.IoctlGetInt(socket, unix.SIOCOUTQ)
		return err == nil && waiting >= size
	})
	before := said.Load()
	testlab.Eventually(t, "more is to be drawn than the bus takes", func() bool { return said.Load() > before+1000 })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = tray.Wait()
	}()
	testlab.Eventually(t, "the tray ends", func() bool {
		_ = tray.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
}
