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

// transfer is an asynchronous transfer. Its memory must stay in place until the kernel has finished.
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

// start begins the transfer.
func (t *transfer) start(call func(*windows.Overlapped) error) error {
	err := call(t.over)
	t.pending = err == nil || errors.Is(err, windows.ERROR_IO_PENDING)
	if !t.pending {
		return err
	}
	return nil
}

// finish waits for the end of the transfer, and returns how many bytes were transferred.
func (t *transfer) finish() (n int, err error) {
	var done uint32
	err = windows.GetOverlappedResult(t.file, t.over, &done, true)
	t.pending = false
	return int(done), err
}

// cancel aborts the transfer, and waits until the kernel has released it.
func (t *transfer) cancel() {
	if t.pending {
		_ = windows.CancelIoEx(t.file, t.over) // if it fails, the transfer is over already
		_, _ = t.finish()
	}
}

// release frees a finished transfer.
func (t *transfer) release() {
	_ = windows.CloseHandle(t.over.HEvent)
	t.pinned.Unpin()
}

// perform performs a whole transfer with some buffers, unless it takes too long or stop, if not 0, is set.
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

// openPath opens a node for transfers, beside other programs.
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

// Requests of hidclass.h. The functions of hid.dll that make them cannot be cancelled.
const (
	getCollectionInformation = 11<<16 | 106<<2
	getCollectionDescriptor  = 11<<16 | 100<<2 | 3
	getProductString         = 11<<16 | 111<<2 | 2
	getFeature               = 11<<16 | 100<<2 | 2
	setFeature               = 11<<16 | 100<<2 | 1
	getInputReport           = 11<<16 | 104<<2 | 2
)

// ask has a HID device perform a request, and returns how many bytes were written to out.
func ask(file, stop windows.Handle, limit time.Duration, code uint32, in, out []byte) (int, error) {
	return perform(file, stop, limit, func(o *windows.Overlapped) error {
		return windows.DeviceIoControl(file, code, unsafe.SliceData(in), uint32(len(in)), unsafe.SliceData(out), uint32(len(out)), nil, o)
	}, in, out)
}
