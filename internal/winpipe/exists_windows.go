package winpipe

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/windows"
)

var waitNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("WaitNamedPipeW")

// Exists reports whether somebody listens on a pipe. It asks for one that is free within a millisecond: any question for the pipe's
// attributes would be a connection to it.
func Exists(path string) bool {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return false
	}
	free, _, err := waitNamedPipe.Call(uintptr(unsafe.Pointer(name)), 1)
	return free != 0 || errors.Is(err, windows.ERROR_SEM_TIMEOUT)
}
