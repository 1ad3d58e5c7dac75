package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/Microsoft/go-winio"

	"sidetone/internal/winpipe"
)

// pipeSecurity lets the owner and the system open the pipe, and nobody else.
const pipeSecurity = "D:P(A;;GA;;;OW)(A;;GA;;;SY)"

// isTaken reports whether a pipe cannot be bound because somebody has it, which is refused as if
// without permission.
func isTaken(err error) bool { return errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrExist) }

// reopenTimeout is how long peers may take to see that their connection has ended.
const reopenTimeout = 2 * time.Second

// ReopenIPC binds a named pipe again. Its name is free when the peers of before have closed their ends, too.
func (thisMachine) ReopenIPC(path string) (net.Listener, error) {
	for end := time.Now().Add(reopenTimeout); ; time.Sleep(10 * time.Millisecond) {
		ln, err := bindIPC(path)
		if err == nil || !isTaken(err) || time.Now().After(end) {
			return ln, err
		}
	}
}

// bindIPC binds one named pipe.
func bindIPC(path string) (net.Listener, error) {
	ln, err := winpipe.Listen(path, winio.PipeConfig{SecurityDescriptor: pipeSecurity})
	if err != nil {
		return nil, fmt.Errorf("cannot open the IPC pipe %s: %w", path, err)
	}
	return ln, nil
}
