package ipc

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/local"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/session"
	"sidetone/internal/testlab/ipctest"
)

func listenersOf(t *testing.T, ports ...int) []local.Listener {
	t.Helper()
	machine := NewMachine(nil, platformtest.Quiet())
	got, err := machine.Listeners(ports)
	require.NoError(t, err)
	machine.Identify(got)
	return got
}

// listenOn listens on a port of a test's own.
func listenOn(t *testing.T, network, host string) (port int, l net.Listener) {
	t.Helper()
	port = ipctest.Port(t)
	l, err := net.Listen(network, net.JoinHostPort(host, fmt.Sprint(port)))
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return port, l
}

func TestListenersOfThisProcess(t *testing.T) {
	self := local.Process{PID: os.Getpid(), UID: session.User(), Name: filepath.Base(os.Args[0])}
	port, l := listenOn(t, "tcp4", "127.0.0.1")
	wide, _ := listenOn(t, "tcp4", "0.0.0.0")
	both, _ := listenOn(t, "tcp", "")
	elsewhere, _ := listenOn(t, "tcp4", "127.0.0.2")
	alone, _ := listenOn(t, "tcp6", "::1")
	free := ipctest.Port(t)
	got := listenersOf(t, port, wide, both, elsewhere, alone, free)
	var ports []int
	for _, l := range got {
		require.Equal(t, self, l.Process)
		require.NotZero(t, l.ID)
		ports = append(ports, l.Port)
	}
	require.ElementsMatch(t, []int{port, wide, both}, ports)
	require.NoError(t, l.Close())
	require.Empty(t, listenersOf(t, port))
}

func TestListenersOfAnotherUser(t *testing.T) {
	port := ipctest.Port(t)
	says, pid, stop := start(t, ipctest.StrangersToken(t), fmt.Sprintf("tcp 127.0.0.1:%d", port))
	require.Contains(t, says, "listens")
	got := listenersOf(t, port)
	require.Len(t, got, 1)
	require.Equal(t, local.Process{PID: pid, UID: ipctest.Stranger, Name: filepath.Base(os.Args[0])}, got[0].Process)

	stop()
	says, pid, _ = start(t, 0, fmt.Sprintf("tcp 127.0.0.1:%d", port))
	require.Contains(t, says, "listens")
	again := listenersOf(t, port)
	require.Len(t, again, 1)
	require.Equal(t, local.Process{PID: pid, UID: session.User(), Name: filepath.Base(os.Args[0])}, again[0].Process)
	require.NotEqual(t, got[0].ID, again[0].ID, "another process has opened it anew")
}

// The system's own process lets nobody look at it, and neither does one that is no more.
func TestAProcessThatCannotBeLookedAt(t *testing.T) {
	for _, pid := range []uint32{0, 1 << 30} {
		p := openProcess(pid)
		p.close()
		require.Equal(t, local.Process{PID: int(pid), Denied: true}, p.Process)
	}
}

func TestLineageOnWindows(t *testing.T) {
	machine := NewMachine(nil, platformtest.Quiet())
	_, pid, _ := start(t, 0, "tcp 127.0.0.1:0")
	self, err := os.Executable()
	require.NoError(t, err)
	child, own := machine.LineageOf(pid), machine.LineageOf(os.Getpid())
	require.Equal(t, filepath.Base(self), filepath.Base(child.Exe))
	require.Equal(t, append([]int{os.Getpid()}, own.Parents...), child.Parents)
	require.Zero(t, machine.LineageOf(1<<30))
}

func TestOwnersOfPipes(t *testing.T) {
	const me, other = "S-1-5-21-1-1", "S-1-5-21-1-2"
	for _, c := range []struct {
		name  string
		who   local.Process
		owner string
		want  local.Process
	}{
		{"one's own", local.Process{UID: me}, me, local.Process{UID: me}},
		{"one's own of a process that cannot be seen", local.Process{Denied: true}, me, local.Process{UID: me}},
		{"one's own, from a process of another user", local.Process{UID: other}, me, local.Process{UID: other}},
		{"one's own of another session", local.Process{UID: me, OtherSession: true}, me, local.Process{UID: me, OtherSession: true}},
		{"an administrator's that is oneself", local.Process{UID: me}, administrators, local.Process{UID: me}},
		{"an administrator's that is another", local.Process{UID: other}, administrators, local.Process{UID: other}},
		{"an administrator's of whom nobody tells", local.Process{Denied: true}, administrators, local.Process{Denied: true}},
		{"another's", local.Process{UID: other}, other, local.Process{UID: other}},
		{"another's whose process looks like one's own", local.Process{UID: me}, other, local.Process{UID: other}},
		{"another's that cannot be seen", local.Process{Denied: true}, other, local.Process{UID: other}},
		{"nobody's", local.Process{UID: me}, "", local.Process{}},
	} {
		require.Equal(t, c.want, ownedBy(c.who, c.owner, me), c.name)
	}
}
