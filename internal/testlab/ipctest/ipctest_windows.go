package ipctest

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/Microsoft/go-winio"

	"sidetone/internal/winpipe"
)

// Folder is how the names of a test's pipes begin.
func Folder(testing.TB) string { return `\\.\pipe\sidetone-test-` + rand.Text() }

// Listen listens on a pipe, which takes as much as a socket while the other end does not read.
func Listen(path string) (net.Listener, error) {
	return winpipe.Listen(path, winio.PipeConfig{InputBufferSize: 64 << 10, OutputBufferSize: 64 << 10})
}

// Dial connects to a pipe.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, path)
}
