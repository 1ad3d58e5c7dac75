package platform

import (
	"context"
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func dialTCP(t *testing.T, address string) net.Conn {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp4", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestConnOwner(t *testing.T) {
	self := Process{PID: os.Getpid(), UID: CurrentUser(), Name: comm("/proc", os.Getpid())}
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::]:0"} {
		listener, err := net.Listen("tcp", address)
		if address == "[::]:0" && err != nil {
			continue // this machine has no IPv6
		}
		require.NoError(t, err)
		defer listener.Close()
		at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(listener.Addr().(*net.TCPAddr).Port))
		conn := dialTCP(t, at.String())
		owner, err := ConnOwner(conn)
		require.NoError(t, err)
		require.Zero(t, owner, "nobody has accepted it yet")
		accepted, err := listener.Accept()
		require.NoError(t, err)
		defer accepted.Close()
		require.NoError(t, listener.Close(), "the connection counts, whoever listens now")
		owner, err = ConnOwner(conn)
		require.NoError(t, err)
		require.Equal(t, self, owner, address)
	}
}

func TestConnOwnerOfAnotherUser(t *testing.T) {
	cmd := helper(t, nobody, "listen tcp4 127.0.0.1:0")
	conn := dialTCP(t, start(t, cmd))
	_, err := conn.Read(make([]byte, 1)) // it says so when it has accepted
	require.NoError(t, err)
	owner, err := ConnOwner(conn)
	require.NoError(t, err)
	require.Equal(t, Process{PID: cmd.Process.Pid, UID: nobody, Name: "3"}, owner)
}

func TestConnOwnerUnknown(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	_, err := ConnOwner(near)
	require.ErrorContains(t, err, "not TCP")
	_, err = connOwner(t.TempDir(), netip.AddrPort{}, netip.AddrPort{})
	require.ErrorIs(t, err, os.ErrNotExist)
}
