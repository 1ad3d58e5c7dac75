package linux

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ueventKernel is the netlink group of the kernel's own messages; udev uses another.
const ueventKernel = 1

// ueventMax exceeds the kernel's longest message (2 KiB of variables and a header).
const ueventMax = 8 << 10

// subsystemOf returns the subsystem (video4linux, sound, hidraw, ...) in the kernel's message that a device came, went or changed,
// "ACTION@DEVPATH\0KEY=VALUE\0...", and "" for anything else, such as udev's own format.
func subsystemOf(msg []byte) string {
	header, rest, ok := bytes.Cut(msg, []byte{0})
	action, path, at := bytes.Cut(header, []byte("@"))
	if !ok || !at || len(action) == 0 || len(path) == 0 || path[0] != '/' {
		return ""
	}
	for field := range bytes.SplitSeq(rest, []byte{0}) {
		if value, found := bytes.CutPrefix(field, []byte("SUBSYSTEM=")); found {
			return string(value)
		}
	}
	return ""
}

// watchUevents calls notify after each kernel event of a subsystem, when events may have been lost, and when watching has failed. notify
// must not block.
func watchUevents(subsystem string, notify func()) (*Reader, error) {
	file, err := openUevents()
	if err != nil {
		return nil, err
	}
	return StartReader(file, ueventStep(receiver(file), subsystem, notify), notify), nil
}

func openUevents() (*os.File, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket for kernel device events: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: ueventKernel}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("subscribe to kernel device events: %w", err)
	}
	return os.NewFile(uintptr(fd), "kernel device events"), nil
}

// receive waits for one message and returns the netlink port of its sender: 0 is the kernel.
type receive func(buf []byte) (n int, port uint32, err error)

func receiver(file *os.File) receive {
	return func(buf []byte) (n int, port uint32, err error) {
		conn, err := file.SyscallConn()
		if err != nil {
			return 0, 0, err
		}
		var from unix.Sockaddr
		waitErr := conn.Read(func(fd uintptr) bool {
			n, from, err = unix.Recvfrom(int(fd), buf, 0)
			return !errors.Is(err, unix.EAGAIN)
		})
		if err = cmp.Or(waitErr, err); err != nil {
			return 0, 0, err
		}
		sender, ok := from.(*unix.SockaddrNetlink)
		if !ok {
			return 0, 0, fmt.Errorf("a message of the address family %T on a netlink socket", from)
		}
		return n, sender.Pid, nil
	}
}

// ueventStep handles one message. Any process with the right may send to the group, so only messages from the kernel's port count.
func ueventStep(receive receive, subsystem string, notify func()) func() error {
	buf := make([]byte, ueventMax)
	return func() error {
		n, port, err := receive(buf)
		switch {
		case errors.Is(err, unix.ENOBUFS): // the queue was full, and events were lost
			notify()
			return nil
		case errors.Is(err, unix.EINTR):
			return nil
		case err != nil:
			return fmt.Errorf("read kernel device events: %w", err)
		case port != 0:
			return nil
		}
		if subsystemOf(buf[:n]) == subsystem {
			notify()
		}
		return nil
	}
}
