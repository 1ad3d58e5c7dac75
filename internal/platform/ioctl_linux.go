package platform

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Direction bits of an ioctl number on all Linux ports but mips, ppc and sparc.
const (
	iocWrite = 1 << 30
	iocRead  = 2 << 30
)

// iocNumber builds an ioctl number; size is that of the argument in bytes.
func iocNumber(direction uintptr, kind byte, number, size uintptr) uintptr {
	return direction | size<<16 | uintptr(kind)<<8 | number
}

// An ioctlFunc makes one ioctl; arg points to what the request's number says.
type ioctlFunc func(request uintptr, arg unsafe.Pointer) error

func fdIoctl(fd int) ioctlFunc {
	return func(request uintptr, arg unsafe.Pointer) error {
		for {
			_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
			switch errno {
			case 0:
				return nil
			case unix.EINTR:
			default:
				return errno
			}
		}
	}
}
