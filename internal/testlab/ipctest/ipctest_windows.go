package ipctest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"sidetone/internal/winpipe"
)

// Folder returns a unique prefix for the names of pipes.
func Folder(testing.TB) string { return `\\.\pipe\sidetone-test-` + rand.Text() }

// Listen listens on a pipe, which buffers as much as a socket.
func Listen(path string) (net.Listener, error) {
	return winpipe.Listen(path, winio.PipeConfig{InputBufferSize: 64 << 10, OutputBufferSize: 64 << 10})
}

// Dial connects to a pipe.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}

type udpPort windows.Handle

// holdUDP binds a UDP port. Package net cannot do that under Wine, which lacks a socket option that it sets.
func holdUDP(port int) (io.Closer, error) {
	socket, err := windows.Socket(windows.AF_INET, windows.SOCK_DGRAM, 0)
	if err != nil {
		return nil, err
	}
	if err := windows.Bind(socket, &windows.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		windows.Closesocket(socket)
		return nil, err
	}
	return udpPort(socket), nil
}

// Close frees the port.
func (p udpPort) Close() error { return windows.Closesocket(windows.Handle(p)) }

// canListen reports whether a TCP port is free.
func canListen(port int) bool {
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}
