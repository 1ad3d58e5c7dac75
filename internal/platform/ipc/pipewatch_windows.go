package ipc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/paths"
)

// watchProof is how long to wait for the event of a test pipe.
const watchProof = 2 * time.Second

// Watch calls notify once it watches, and then whenever a client's pipe has appeared or vanished, until ctx ends; then it returns nil.
// notify must not block. An error means that it cannot watch, or no longer can; errors.ErrUnsupported means that this system, such as
// Wine, does not report new pipes.
func (m Machine) Watch(ctx context.Context, notify func()) error {
	names := make(map[string]bool)
	for _, folder := range m.list() {
		for i := range ipcNumbers {
			name := strings.TrimPrefix(folder, strings.TrimSuffix(paths.Pipes, `\`))
			names[strings.ToLower(strings.Trim(name+`\`+socketName(i), `\`))] = true
		}
	}
	w, err := openFolder(paths.Pipes)
	if err != nil {
		return fmt.Errorf("watch for clients' pipes: %w: %w", errors.ErrUnsupported, err)
	}
	defer w.close()
	proof := "sidetone-watch-" + rand.Text()
	err = w.prove(ctx, proof, func() error { return makePipe(paths.Pipes + proof) })
	if err == nil {
		notify() // a pipe may have appeared meanwhile
		err = w.follow(ctx, func(name string) bool { return names[strings.ToLower(name)] }, notify)
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch for clients' pipes: %w", err)
}

// makePipe makes a pipe that vanishes at once.
func makePipe(path string) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	pipe, err := windows.CreateNamedPipe(name, windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_FIRST_PIPE_INSTANCE, 0, 1, 0, 0, 0, nil)
	if err != nil {
		return err
	}
	return windows.CloseHandle(pipe)
}

// folderWatch reports names that appear in a folder or vanish.
type folderWatch struct {
	folder  windows.Handle
	pending windows.Overlapped // during a request this and names belong to the system
	names   [4096]uint64       // as FILE_NOTIFY_INFORMATION is aligned
	asked   bool               // a request is under way
}

// openFolder begins to watch a folder.
func openFolder(path string) (w *folderWatch, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	w = new(folderWatch)
	if w.pending.HEvent, err = windows.CreateEvent(nil, 1, 0, nil); err != nil {
		return nil, err
	}
	w.folder, err = windows.CreateFile(name, windows.FILE_LIST_DIRECTORY,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OVERLAPPED, 0)
	if err == nil {
		err = w.ask()
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *folderWatch) close() {
	if w.asked {
		_ = windows.CancelIoEx(w.folder, &w.pending)
		var n uint32
		_ = windows.GetOverlappedResult(w.folder, &w.pending, &n, true) // until it returns, the system may write
	}
	_ = windows.CloseHandle(w.folder)
	_ = windows.CloseHandle(w.pending.HEvent)
}

// ask requests the next names. The system buffers what happens in between.
func (w *folderWatch) ask() error {
	err := windows.ReadDirectoryChanges(w.folder, (*byte)(unsafe.Pointer(&w.names[0])), uint32(unsafe.Sizeof(w.names)), false,
		windows.FILE_NOTIFY_CHANGE_FILE_NAME, nil, &w.pending, 0)
	w.asked = err == nil || errors.Is(err, windows.ERROR_IO_PENDING)
	if w.asked {
		return nil
	}
	return err
}

// next waits for names that have appeared or vanished. No names means that there were too many to report.
func (w *folderWatch) next(stop windows.Handle) ([]string, error) {
	event, err := windows.WaitForMultipleObjects([]windows.Handle{w.pending.HEvent, stop}, false, windows.INFINITE)
	if err != nil {
		return nil, err
	}
	if event != windows.WAIT_OBJECT_0 {
		return nil, context.Canceled
	}
	var n uint32
	w.asked = false
	if err := windows.GetOverlappedResult(w.folder, &w.pending, &n, false); err != nil && !errors.Is(err, windows.ERROR_NOTIFY_ENUM_DIR) {
		return nil, err
	}
	var names []string
	for at := uint32(0); at < n; {
		info := (*windows.FileNotifyInformation)(unsafe.Add(unsafe.Pointer(&w.names[0]), at))
		names = append(names, windows.UTF16ToString(unsafe.Slice(&info.FileName, info.FileNameLength/2)))
		if info.NextEntryOffset == 0 {
			break
		}
		at += info.NextEntryOffset
	}
	return names, w.ask()
}

// follow calls notify whenever a wanted name may have appeared or vanished, until ctx ends.
func (w *folderWatch) follow(ctx context.Context, wanted func(name string) bool, notify func()) error {
	stop, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(stop)
	told := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(told)
		_ = windows.SetEvent(stop)
	})
	defer func() {
		if !unhook() {
			<-told
		}
	}()
	for {
		names, err := w.next(stop)
		if err != nil {
			return err
		}
		if len(names) == 0 || slices.ContainsFunc(names, wanted) {
			notify()
		}
	}
}

// prove checks that the system reports a new name: it may be silent without an error.
func (w *folderWatch) prove(ctx context.Context, name string, makeIt func() error) error {
	if err := makeIt(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, watchProof)
	defer cancel()
	told := false
	err := w.follow(ctx, func(n string) bool { told = told || strings.EqualFold(n, name); return told }, func() {
		if told {
			cancel()
		}
	})
	if told {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: it does not tell of a new one", errors.ErrUnsupported)
	}
	return err
}
