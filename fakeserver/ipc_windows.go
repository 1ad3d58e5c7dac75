package fakeserver

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/Microsoft/go-winio"
)

// pipeSecurity lets the owner and the system open the pipe, and nobody else.
const pipeSecurity = "D:P(A;;GA;;;OW)(A;;GA;;;SY)"

// listenIPC binds the first free named pipe. Pipes have no folder.
func listenIPC(string) (net.Listener, string, error) {
	var first error
	for slot := range ipcSlots {
		path := fmt.Sprintf(`\\.\pipe\discord-ipc-%d`, slot)
		ln, err := reopenIPC(path)
		if err == nil {
			return ln, path, nil
		}
		if !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrExist) {
			return nil, "", err
		}
		if first == nil {
			first = err
		}
	}
	return nil, "", fmt.Errorf("none of the pipes discord-ipc-0 to -9 is free, other clients may hold them: %w", first)
}

// reopenIPC binds one named pipe. A pipe that is taken is refused as one
// without permission.
func reopenIPC(path string) (net.Listener, error) {
	ln, err := winio.ListenPipe(path, &winio.PipeConfig{SecurityDescriptor: pipeSecurity})
	if err != nil {
		return nil, fmt.Errorf("cannot open the IPC pipe %s: %w", path, err)
	}
	return ln, nil
}
