package windows

import (
	"errors"
	"fmt"
	"unsafe"

	syswindows "golang.org/x/sys/windows"

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

// A Watch notices devices that come and go.
type Watch struct {
	messages   *broadcast.Subscription
	registered uintptr
}

// NewWatch calls told for each interface of a class that arrives or vanishes, one at a time, until Close. told must return at once.
//
// CM_Register_Notification would need no window, but Wine lacks it, and this way works on both.
func NewWatch(class syswindows.GUID, told func(path string, arrived bool)) (*Watch, error) {
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
		return nil, fmt.Errorf("be told of devices: %w", err)
	}
	filter := deviceInterface{kind: kindDeviceInterface, class: class}
	filter.size = uint32(unsafe.Sizeof(filter))
	registered, _, err := registerDeviceNotification.Call(uintptr(messages.Window()), uintptr(unsafe.Pointer(&filter)), 0)
	if registered == 0 {
		return nil, errors.Join(fmt.Errorf("be told of devices: %w", err), messages.Close())
	}
	return &Watch{messages, registered}, nil
}

// Close ends the watching. told is no longer called when it returns.
func (w *Watch) Close() error {
	_, _, _ = unregisterDeviceNotification.Call(w.registered) // if it fails, the registration ends with the window
	return w.messages.Close()
}
