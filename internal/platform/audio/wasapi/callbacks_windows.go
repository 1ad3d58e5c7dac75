package wasapi

import (
	"sync"

	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/com"
)

// changes records what Core Audio has reported since it was last taken.
type changes struct {
	changed func()

	mu     sync.Mutex
	any    bool
	reopen map[string]bool // ids of endpoints that have come, gone or changed their state
	over   bool            // the service was restarted, and earlier objects get no callbacks any more
}

// restarted records that the service has stopped or started.
func (n *changes) restarted() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.changed()
}

// hear records a change; id may be "".
func (n *changes) hear(id *uint16) uintptr {
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

// ended reports, once, whether the service has stopped or started.
func (n *changes) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := n.over
	n.over = false
	return over
}

func (n *changes) take() (changed bool, reopen map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	changed, reopen = n.any, n.reopen
	n.any, n.reopen = false, nil
	return changed, reopen
}

func changesOf(i *com.Instance) *changes { return i.Value.(*changes) }

// notificationClass implements IMMNotificationClient.
var notificationClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceNotifications,
		func(i *com.Instance, id *uint16, _ uintptr) uintptr { return changesOf(i).hear(id) }, // OnDeviceStateChanged
		func(i *com.Instance, id *uint16) uintptr { return changesOf(i).hear(id) },            // OnDeviceAdded
		func(i *com.Instance, id *uint16) uintptr { return changesOf(i).hear(id) },            // OnDeviceRemoved
		func(i *com.Instance, _, role uintptr, _ *uint16) uintptr { // OnDefaultDeviceChanged
			if uint32(role) != 0 {
				return uintptr(com.OK)
			}
			return changesOf(i).hear(nil)
		},
		func(i *com.Instance, _ *uint16, key *propertyKey) uintptr { // OnPropertyValueChanged; the key is passed by pointer, as it is large
			if !key.ours() {
				return uintptr(com.OK)
			}
			return changesOf(i).hear(nil)
		},
	)
})

// volumeNotice is the beginning of AUDIO_VOLUME_NOTIFICATION_DATA.
type volumeNotice struct {
	_     com.GUID // of the program that has set it
	muted int32
}

// volumeClass implements IAudioEndpointVolumeCallback.
var volumeClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(ifaceVolumeEvents, func(i *com.Instance, n *volumeNotice) uintptr {
		i.Value.(*muteWatch).hear(devices.Of(n.muted != 0))
		return uintptr(com.OK)
	})
})
