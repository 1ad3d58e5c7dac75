// Package ipctest gives tests IPC addresses of their own: the paths of Unix sockets, and on Windows the names of pipes.
package ipctest

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// Kept is for goleak: of all pipes of a process one goroutine hears, for as long as the process lives.
var Kept = goleak.IgnoreAnyFunction("github.com/Microsoft/go-winio.ioCompletionProcessor")

// Path is an address on which nobody listens yet, in a Folder of its own.
func Path(t testing.TB) string {
	t.Helper()
	return filepath.Join(Folder(t), "s")
}
