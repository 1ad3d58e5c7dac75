package windows

import (
	"errors"
	"fmt"
	"log/slog"
	"unsafe"

	syswindows "golang.org/x/sys/windows"

	"sidetone/internal/health"
	"sidetone/internal/platform/windows/broadcast"
)

var (
	user32                       = syswindows.NewLazySystemDLL("user32.dll")
	registerDeviceNotification   = user32.NewProc("RegisterDeviceNotificationW")
	unregisterDeviceNotification = user32.NewProc("UnregisterDeviceNotification")
)

// Constants of dbt.h.
const (
	deviceArrival       = 0x8000
	deviceRemoved       = 0x8004
	kindDeviceInterface = 5
)

// deviceInterface is DEV_BROADCAST_DEVICEINTERFACE_W up to the name, which is zero-terminated.
type deviceInterface struct {
	size, kind, _ uint32
	class         syswindows.GUID
	name          [2]uint16
}

// path returns the name if the event is about a device interface: any program can send forged events.
func (d *deviceInterface) path() string {
	const header, most = unsafe.Offsetof(d.name), 2 * maxPath
	if uintptr(d.size) < header || d.kind != kindDeviceInterface {
		return ""
	}
	return syswindows.UTF16ToString(unsafe.Slice(&d.name[0], min(uintptr(d.size)-header, most)/2))
}

// A Watch notices devices of one kind that come and go.
type Watch struct {
	kind       string // "camera"
	err        error  // why nothing is watched
	messages   *broadcast.Subscription
	registered uintptr
}

// NewWatch calls told for each interface of a class that arrives or vanishes, one at a time, until Close. told must return at once. That
// nothing can be watched is logged and is in Notes.
//
// CM_Register_Notification would need no window, but Wine lacks it, and this way works on both.
func NewWatch(kind string, class syswindows.GUID, log *slog.Logger, told func(path string, arrived bool)) *Watch {
	w := &Watch{kind: kind}
	if err := w.register(class, told); err != nil {
		w.err = fmt.Errorf("be told of devices: %w", err)
		log.Warn("devices that come and go are not noticed", "kind", kind, "err", w.err)
	}
	return w
}

func (w *Watch) register(class syswindows.GUID, told func(path string, arrived bool)) error {
	messages, err := broadcast.Subscribe(func(m broadcast.Message) (uintptr, bool) {
		if m.Data == 0 || m.Param != deviceArrival && m.Param != deviceRemoved {
			return 0, false
		}
		event := *(**deviceInterface)(unsafe.Pointer(&m.Data))
		if path := event.path(); path != "" && event.class == class {
			told(path, m.Param == deviceArrival)
		}
		return 0, false
	}, broadcast.DeviceChange)
	if err != nil {
		return err
	}
	filter := deviceInterface{kind: kindDeviceInterface, class: class}
	filter.size = uint32(unsafe.Sizeof(filter))
	w.registered, _, err = registerDeviceNotification.Call(uintptr(messages.Window()), uintptr(unsafe.Pointer(&filter)), 0)
	if w.registered == 0 {
		return errors.Join(err, messages.Close())
	}
	w.messages = messages
	return nil
}

// Notes says if nothing is watched.
func (w *Watch) Notes() []health.Condition {
	if w.err == nil {
		return nil
	}
	return []health.Condition{health.Wrap(w.err, health.PlugsUnheard, health.Warning, health.Args{"device": w.kind}).Condition}
}

// Close ends the watching. told is no longer called when it returns.
func (w *Watch) Close() error {
	if w.messages == nil {
		return nil
	}
	_, _, _ = unregisterDeviceNotification.Call(w.registered) // if it fails, the registration ends with the window
	return w.messages.Close()
}
