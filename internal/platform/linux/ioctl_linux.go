package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Direction bits of an ioctl number on all Linux ports but mips, ppc and sparc.
const (
	IoctlWrite = 1 << 30
	IoctlRead  = 2 << 30
)

// IoctlNumber builds an ioctl number; size is that of the argument in bytes.
func IoctlNumber(direction uintptr, kind byte, number, size uintptr) uintptr {
	return direction | size<<16 | uintptr(kind)<<8 | number
}

// An Ioctl makes one ioctl; arg points to the argument that the request requires.
type Ioctl func(request uintptr, arg unsafe.Pointer) error

// IoctlOf returns the Ioctl of an open file.
func IoctlOf(fd int) Ioctl {
	return func(request uintptr, arg unsafe.Pointer) error {
		_, err := CallIoctl(fd, request, arg)
		return err
	}
}

// CallIoctl makes one ioctl on an open file, and returns the kernel's result.
func CallIoctl(fd int, request uintptr, arg unsafe.Pointer) (int, error) {
	for {
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
