package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"sidetone/internal/winpipe"
)

// pipeSecurity lets the owner and the system open the pipe, and nobody else.
const pipeSecurity = "D:P(A;;GA;;;OW)(A;;GA;;;SY)"

// isTaken reports whether a pipe or a port cannot be bound because somebody has it. For a pipe,
// Windows says that permission is denied.
func isTaken(err error) bool {
	return errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrExist) ||
		errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAEACCES)
}

// ReopenIPC binds a named pipe again. Its name is free once the earlier peers have closed their ends, too.
func (thisMachine) ReopenIPC(path string) (net.Listener, error) {
	return listenAgain(func() (net.Listener, error) { return bindIPC(path) }, isTaken)
}

// bindIPC binds one named pipe.
func bindIPC(path string) (net.Listener, error) {
	ln, err := winpipe.Listen(path, winio.PipeConfig{SecurityDescriptor: pipeSecurity})
	if err != nil {
		return nil, fmt.Errorf("cannot open the IPC pipe %s: %w", path, err)
	}
	return ln, nil
}
