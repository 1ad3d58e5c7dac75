// Package ipctest gives tests addresses of their own: the paths of Unix sockets, on Windows the names of pipes, and ports.
package ipctest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Kept is for goleak: of all pipes of a process one goroutine hears, for as long as the process lives.
var Kept = goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor")

// Path is an address on which nobody listens yet, in a Folder of its own.
func Path(t testing.TB) string {
	t.Helper()
	return filepath.Join(Folder(t), "s")
}

// The ports of tests lie below those that the system gives to who asks for any.
const firstPort, portCount = 16000, 16000

// Port is a TCP port of 127.0.0.1 on which nobody listens yet. It is this test's until its end, though nobody may listen on it for a
// while: for that the UDP port of the same number is held.
func Port(t testing.TB) int {
	t.Helper()
	for range portCount {
		port := firstPort + rand.IntN(portCount)
		free, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		held, err := holdUDP(port)
		free.Close()
		if err != nil {
			continue
		}
		t.Cleanup(func() { held.Close() })
		return port
	}
	require.FailNow(t, "no port is free")
	return 0
}
