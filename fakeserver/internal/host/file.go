package host

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// ReadFile reads a regular file of at most so many bytes. A pipe, a device or a
// folder is refused: one might never end, another might never begin.
func ReadFile(path string, most int64) ([]byte, error) {
	// Without O_NONBLOCK, to open a pipe is to wait for its other end.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is %s, not a regular file", path, kind(info.Mode()))
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, nil
}

func kind(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeNamedPipe != 0:
		return "a pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
