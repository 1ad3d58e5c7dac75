//go:build unix

package ipctest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Folder returns a temporary folder for sockets. Its path leaves room for their names (a socket's path has 103 bytes at most),
// and other users may enter it.
func Folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ipc")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	return dir
}

// Listen listens on a path.
func Listen(path string) (net.Listener, error) { return net.Listen("unix", path) }

// Dial connects to a path.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "unix", path)
}

// holdUDP binds a UDP port.
func holdUDP(port int) (io.Closer, error) {
	return net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", port))
}

// canListen reports whether a TCP port is free. No child process may start meanwhile: it would inherit the socket, and keep the port until
// it becomes another program.
func canListen(port int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer func() { _ = syscall.Close(fd) }()
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) // as net.Listen does: ended connections do not count
	return syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil
}
