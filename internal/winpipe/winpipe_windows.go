// Package winpipe listens on named pipes of Windows.
package winpipe

import (
	"errors"
	"net"
	"sync"
	"unsafe"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"

	"sidetone/internal/wine"
)

// Listen is winio.ListenPipe for Windows and Wine. go-winio first makes an instance of the pipe that only reserves its name. Windows
// connects no client to it, but Wine does, and that client would wait for ever; so on Wine this function is that client.
func Listen(path string, config winio.PipeConfig) (net.Listener, error) {
	l, err := winio.ListenPipe(path, &config)
	if err != nil || !wine.Is() {
		return l, err
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	end, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if errors.Is(err, windows.ERROR_PIPE_BUSY) {
		return l, nil // another client was faster
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{l, sync.OnceValue(func() error { return windows.CloseHandle(end) })}, nil
}

type listener struct {
	net.Listener
	closeEnd func() error
}

// Close also closes the reserved instance.
func (l *listener) Close() error { return errors.Join(l.Listener.Close(), l.closeEnd()) }

var waitNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitNamedPipeW")

// Exists reports whether somebody listens on a pipe. It waits up to a millisecond for a free instance: any query of the pipe's attributes
// would be a connection.
func Exists(path string) bool {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false
	}
	free, _, err := waitNamedPipe.Call(uintptr(unsafe.Pointer(name)), 1)
	return free != 0 || errors.Is(err, windows.ERROR_SEM_TIMEOUT)
}
