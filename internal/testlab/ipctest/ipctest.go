// Package ipctest provides unique addresses for tests: paths of Unix sockets, on Windows names of pipes, and ports.
package ipctest

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Kept is an option for goleak: one goroutine serves all pipes of a process for as long as the process lives.
var Kept = goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor")

// Path returns an unused address in a Folder of its own.
func Path(t testing.TB) string {
	t.Helper()
	return filepath.Join(Folder(t), "s")
}

const firstPort, portCount = 16000, 16000 // below the ephemeral ports

// Port returns an unused TCP port of 127.0.0.1, reserved for this test even while nobody listens on it: the test holds the UDP
// port of the same number.
func Port(t testing.TB) int {
	t.Helper()
	for range portCount {
		port := firstPort + rand.IntN(portCount)
		// The UDP port comes first: to bind a TCP port that another test holds would get in its way for a moment.
		if held, err := holdUDP(port); err == nil {
			t.Cleanup(func() { held.Close() })
			if canListen(port) {
				return port
			}
		}
	}
	require.FailNow(t, "no port is free")
	return 0
}
