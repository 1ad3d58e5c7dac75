package wasapi

import (
	"sync"

	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/com"
)

// news is what Core Audio has said of endpoints since it was taken last.
type news struct {
	changed func()

	mu     sync.Mutex
	any    bool
	reopen map[string]bool // the ids of those that have come, gone or changed their state
	over   bool            // the service is another: nothing of before hears any more
}

// restarted notes that the service has stopped or started.
func (n *news) restarted() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.changed()
}

// hear notes that something has changed; id may be "".
func (n *news) hear(id *uint16) uintptr {
	n.mu.Lock()
	n.any = true
	if id != nil {
		if n.reopen == nil {
			n.reopen = make(map[string]bool)
		}
		n.reopen[windows.UTF16PtrToString(id)] = true
	}
	n.mu.Unlock()
	n.changed()
	return uintptr(com.OK)
}

// ended tells, once, whether the service has stopped or started.
func (n *news) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := n.over
	n.over = false
	return over
}

func (n *news) take() (changed bool, reopen map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed, reopen = n.any, n.reopen
	n.any, n.reopen = false, nil
	return changed, reopen
}

func newsOf(i *com.Instance) *news { return i.Value.(*news) }

// notificationClass is that of what is told of endpoints (IMMNotificationClient).
var notificationClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceNotifications,
		func(i *com.Instance, id *uint16, _ uintptr) uintptr { return newsOf(i).hear(id) }, // OnDeviceStateChanged
		func(i *com.Instance, id *uint16) uintptr { return newsOf(i).hear(id) },            // OnDeviceAdded
		func(i *com.Instance, id *uint16) uintptr { return newsOf(i).hear(id) },            // OnDeviceRemoved
		func(i *com.Instance, _, role uintptr, _ *uint16) uintptr { // OnDefaultDeviceChanged
			if uint32(role) != 0 {
				return uintptr(com.OK)
			}
			return newsOf(i).hear(nil)
		},
		func(i *com.Instance, _ *uint16, key *propertyKey) uintptr { // OnPropertyValueChanged; what is as large as a key comes as a pointer
			if !key.ours() {
				return uintptr(com.OK)
			}
			return newsOf(i).hear(nil)
		},
	)
})

// volumeNotice is the beginning of what is told of a volume (AUDIO_VOLUME_NOTIFICATION_DATA).
type volumeNotice struct {
	_     com.GUID // of whoever has set it
	muted int32
}

// volumeClass is that of what is told of an endpoint's volume and mute (IAudioEndpointVolumeCallback).
var volumeClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceVolumeEvents, func(i *com.Instance, n *volumeNotice) uintptr {
		i.Value.(*muteWatch).hear(devices.Of(n.muted != 0))
		return uintptr(com.OK)
	})
})
