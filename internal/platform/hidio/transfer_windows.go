package hidio

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform"
)

// infinite is a wait without an end.
const infinite = windows.INFINITE

// transfer is one that the kernel does while this process goes on. What it is given must stay where it is until it is over.
type transfer struct {
	file    windows.Handle
	over    *windows.Overlapped
	pending bool
	pinned  runtime.Pinner
}

func newTransfer(file windows.Handle) (*transfer, error) {
	event, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, err
	}
	t := &transfer{file: file, over: &windows.Overlapped{HEvent: event}}
	t.pinned.Pin(t.over)
	return t, nil
}

// start begins it.
func (t *transfer) start(call func(*windows.Overlapped) error) error {
	err := call(t.over)
	t.pending = err == nil || errors.Is(err, windows.ERROR_IO_PENDING)
	if !t.pending {
		return err
	}
	return nil
}

// finish waits until it is over, and returns how many bytes it has brought.
func (t *transfer) finish() (n int, err error) {
	var done uint32
	err = windows.GetOverlappedResult(t.file, t.over, &done, true)
	t.pending = false
	return int(done), err
}

// cancel breaks it off, and waits until the kernel has let go of it.
func (t *transfer) cancel() {
	if t.pending {
		_ = windows.CancelIoEx(t.file, t.over) // else it is over already
		_, _ = t.finish()
	}
}

// release is for one that is over.
func (t *transfer) release() {
	_ = windows.CloseHandle(t.over.HEvent)
	t.pinned.Unpin()
}

// perform does a whole transfer with some buffers, unless it takes too long or stop, if not 0, is set.
func perform(file, stop windows.Handle, limit time.Duration, call func(*windows.Overlapped) error, buffers ...[]byte) (n int, err error) {
	t, err := newTransfer(file)
	if err != nil {
		return 0, err
	}
	defer t.release()
	for _, b := range buffers {
		if len(b) > 0 {
			t.pinned.Pin(unsafe.SliceData(b))
		}
	}
	if err := t.start(call); err != nil {
		return 0, err
	}
	events := []windows.Handle{t.over.HEvent}
	if stop != 0 {
		events = append(events, stop)
	}
	switch which, err := windows.WaitForMultipleObjects(events, false, uint32(limit.Milliseconds())); {
	case which == windows.WAIT_OBJECT_0:
		return t.finish()
	case which == uint32(windows.WAIT_TIMEOUT):
		t.cancel()
		return 0, platform.ErrNoAnswer
	default:
		t.cancel()
		return 0, cmp.Or(err, os.ErrClosed)
	}
}

// openPath opens a node beside whoever else has it open, for transfers.
func openPath(path string, access uint32) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	const shared = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE
	file, err := windows.CreateFile(name, access, shared, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_OVERLAPPED, 0)
	if err != nil {
		return 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return file, nil
}

// The requests of hidclass.h, which hid.dll makes of its functions; those cannot be broken off.
const (
	getCollectionInformation = 11<<16 | 106<<2
	getCollectionDescriptor  = 11<<16 | 100<<2 | 3
	getProductString         = 11<<16 | 111<<2 | 2
	getFeature               = 11<<16 | 100<<2 | 2
	setFeature               = 11<<16 | 100<<2 | 1
	getInputReport           = 11<<16 | 104<<2 | 2
)

// ask has a HID device do a request, and returns how much it has put into out.
func ask(file, stop windows.Handle, limit time.Duration, code uint32, in, out []byte) (int, error) {
	return perform(file, stop, limit, func(o *windows.Overlapped) error {
		return windows.DeviceIoControl(file, code, unsafe.SliceData(in), uint32(len(in)), unsafe.SliceData(out), uint32(len(out)), nil, o)
	}, in, out)
}
