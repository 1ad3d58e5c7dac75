package files

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// A oneShot waits for a descriptor to be readable, and does not wake until the next wait. Go's own poller would wake a thread at each
// event, whether it is read or not.
type oneShot struct {
	of   int
	file *os.File // an epoll descriptor, which itself can be polled
}

func newOneShot(of int) (*oneShot, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	err = unix.SetNonblock(fd, true)
	if err == nil {
		err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, of, &unix.EpollEvent{Fd: int32(of)}) // not armed yet
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &oneShot{of: of, file: os.NewFile(uintptr(fd), "epoll")}, nil
}

// wait ends with an error when the file is closed.
func (o *oneShot) wait() error {
	conn, err := o.file.SyscallConn()
	if err != nil {
		return err
	}
	var armErr error
	err = conn.Control(func(fd uintptr) {
		armErr = unix.EpollCtl(int(fd), unix.EPOLL_CTL_MOD, o.of, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT, Fd: int32(o.of)})
	})
	if err := errors.Join(err, armErr); err != nil {
		return fmt.Errorf("wait for events: %w", err)
	}
	var waitErr error
	err = conn.Read(func(fd uintptr) bool {
		var n int
		n, waitErr = unix.EpollWait(int(fd), make([]unix.EpollEvent, 1), 0)
		return n > 0 || waitErr != nil && !errors.Is(waitErr, unix.EINTR)
	})
	return errors.Join(err, waitErr)
}
