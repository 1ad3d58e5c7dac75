package hidio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"sidetone/internal/hid"
	"sidetone/internal/platform/linux"
)

// maxIoctlSize is the largest size that an ioctl number can express on every port of Linux.
const maxIoctlSize = 1<<13 - 1

// node is the connection to an open device.
type node struct {
	whole
	file *os.File
	raw  syscall.RawConn
	send sender
}

// openNode opens a node for reading, beside other readers.
func openNode(path string) (*os.File, error) {
	fd, err := openRetry(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func newNode(file *os.File, send sender) (*node, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return &node{file: file, raw: raw, send: send}, nil
}

func (n *node) channels() []channel { return []channel{n} }

func (n *node) read(report []byte, until time.Time, empty func(time.Time)) (size int, err error) {
	_ = n.file.SetReadDeadline(until) // a file that knows none is waited for
	waitErr := n.raw.Read(func(fd uintptr) bool {
		for {
			looked := time.Now()
			size, err = unix.Read(int(fd), report)
			switch {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN):
				empty(looked)
				return false
			default:
				return true
			}
		}
	})
	switch {
	case waitErr != nil:
		return 0, waitErr
	case err != nil:
		return 0, err
	case size == 0: // no report is empty
		return 0, io.ErrUnexpectedEOF
	}
	return size, nil
}

func (n *node) interrupt() { _ = n.file.SetReadDeadline(time.Now()) }

// request performs a request. The file is not closed before that has returned.
func (n *node) request(r hid.Request) (report []byte, err error) {
	if gone := n.raw.Control(func(fd uintptr) { report, err = n.send(int(fd), n.file.Name(), r) }); gone != nil {
		return nil, fmt.Errorf("send to %s: %w", n.file.Name(), gone)
	}
	return report, err
}

func (n *node) close() error { return n.file.Close() }

func openRetry(path string, flags int) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0)
		switch {
		case err == nil:
			return fd, nil
		case !errors.Is(err, unix.EINTR):
			return -1, &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// A sender performs a request with the device at path, which fd keeps open, and returns the report, if one is to be read. It may hang.
type sender func(fd int, path string, r hid.Request) ([]byte, error)

// sendRequest performs a request. It opens the node for writing only for that long. While fd is open the kernel gives the node's number
// to no other device.
func sendRequest(fd int, path string, r hid.Request) ([]byte, error) {
	if len(r.Output) > 0 {
		if err := writeOutput(path, r.Output); err != nil {
			return nil, err
		}
	}
	switch {
	case len(r.Feature) > 0:
		return setFeature(fd, path, r.Feature, r.Length)
	case len(r.Input) > 0:
		return readReport(fd, path, getInput, r.Input[0], r.Length)
	case len(r.LastOutput) > 0:
		return readReport(fd, path, getOutput, r.LastOutput[0], r.Length)
	}
	return nil, nil
}

func writeOutput(path string, report []byte) error {
	fd, err := openRetry(path, unix.O_WRONLY)
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("no permission to write %s: this device's rule needs a udev rule that lets this user write", path)
	} else if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Write(fd, report)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("write the output report %#02x to %s: %w", report[0], path, err)
		case n < len(report):
			return fmt.Errorf("write the output report %#02x to %s: it took %d of %d bytes", report[0], path, n, len(report))
		}
		return nil
	}
}

// setFeature sets a feature report that consists of more than its number, and reads it unless length is 0.
func setFeature(fd int, path string, feature []byte, length int) ([]byte, error) {
	if len(feature) > maxIoctlSize {
		return nil, fmt.Errorf("a feature report has 1 to %d bytes: asked to set %d", maxIoctlSize, len(feature))
	}
	if len(feature) > 1 {
		if _, err := reportIoctl(fd, ioctlSetFeature, bytes.Clone(feature)); err != nil {
			return nil, fmt.Errorf("set the feature report %#02x of %s: %w", feature[0], path, err)
		}
		if length == 0 {
			return feature, nil
		}
	}
	return readReport(fd, path, getFeature, feature[0], length)
}

// readReport asks the device for a report.
func readReport(fd int, path string, read readIoctl, number byte, length int) ([]byte, error) {
	if length < 1 || length > maxIoctlSize {
		return nil, fmt.Errorf("a report has 1 to %d bytes: asked to read %d", maxIoctlSize, length)
	}
	report := make([]byte, length)
	report[0] = number
	n, err := reportIoctl(fd, read.ioctl, report)
	switch {
	case errors.Is(err, unix.ENOTTY) && read != getFeature:
		return nil, fmt.Errorf("read the %s report %#02x of %s: Linux can do this from version 5.11 on: %w", read.name, number, path, err)
	case err != nil:
		return nil, fmt.Errorf("read the %s report %#02x of %s: %w", read.name, number, path, err)
	}
	return report[:min(n, length)], nil
}

// ioctlSetFeature is the number of HIDIOCSFEATURE.
const ioctlSetFeature = 6

// readIoctl is an ioctl that asks the device for a report. It both reads and writes its argument.
type readIoctl struct {
	ioctl uintptr
	name  string // kind of the report
}

var (
	getFeature = readIoctl{0x07, "feature"} // HIDIOCGFEATURE
	getInput   = readIoctl{0x0a, "input"}   // HIDIOCGINPUT
	getOutput  = readIoctl{0x0c, "output"}  // HIDIOCGOUTPUT
)

// reportIoctl makes an ioctl on a report and returns the length from the kernel. Both direction bits together are the same on every port
// of Linux.
func reportIoctl(fd int, number uintptr, report []byte) (int, error) {
	request := linux.IoctlNumber(linux.IoctlRead|linux.IoctlWrite, 'H', number, uintptr(len(report)))
	return linux.CallIoctl(fd, request, unsafe.Pointer(unsafe.SliceData(report)))
}
