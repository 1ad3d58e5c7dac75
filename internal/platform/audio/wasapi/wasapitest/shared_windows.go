package wasapitest

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/windows/com"
)

const installed = `C:\windows\system32\sidetoneaudio.dll`

// Shared is the stand-in whose endpoints all programs of a Windows share: the DLL built from tools/windows/standin/audio.c.
type Shared struct{ change, serve *windows.Proc }

// record is an endpoint as the DLL has it.
type record struct {
	state, plugged, form, support, mute, chosen, effects uint32

	container com.GUID
	effect    [4]Effect
	id        [64]uint16
	name      [320]uint16
	adapter   [64]uint16
}

// Install makes all programs that start from now on find the stand-in where they look for Core Audio. Use it in a Windows that is deleted
// afterwards.
func Install(dll string) error {
	binary, err := os.ReadFile(dll)
	if err != nil {
		return err
	}
	if err := os.WriteFile(installed, binary, 0o644); err != nil {
		return err
	}
	path := `Software\Classes\CLSID\` + classEnumerator.String() + `\InprocServer32`
	class, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS)
	if err != nil {
		return fmt.Errorf("register the stand-in for Core Audio: %w", err)
	}
	defer class.Close()
	return class.SetStringValue("", installed)
}

// Open opens the installed stand-in.
func Open() (s Shared, err error) {
	dll, err := windows.LoadDLL(installed)
	if err != nil {
		return s, err
	}
	if s.change, err = dll.FindProc("Change"); err != nil {
		return s, err
	}
	s.serve, err = dll.FindProc("Serve")
	return s, err
}

// Put adds an endpoint, or replaces it. chosen: it is the default.
func (s Shared) Put(e Endpoint, chosen bool) error { return s.put(e, e.state(), chosen) }

// Unplug removes an endpoint.
func (s Shared) Unplug(e Endpoint) error { return s.put(e, 0, false) }

func (s Shared) put(e Endpoint, state uint32, chosen bool) error {
	r := record{state: state, support: e.Support, mute: flag(e.Mute), chosen: flag(chosen)}
	r.form, _ = e.Form.(uint32)
	r.container, _ = e.Container.(com.GUID)
	r.effects = uint32(copy(r.effect[:], e.Effects))
	for _, t := range []struct {
		text any
		to   []uint16
	}{{e.ID, r.id[:]}, {e.Name, r.name[:]}, {e.Adapter, r.adapter[:]}} {
		text, _ := t.text.(string)
		units, err := windows.UTF16FromString(text)
		if err != nil || len(units) > len(t.to) {
			return fmt.Errorf("%q does not fit into an endpoint", text)
		}
		copy(t.to, units)
	}
	if ok, _, _ := s.change.Call(uintptr(unsafe.Pointer(&r))); ok == 0 {
		return fmt.Errorf("there is no room for %s", e.ID)
	}
	return nil
}

// Fail makes all calls of all programs return a result; com.OK ends that.
func (s Shared) Fail(result com.HRESULT) { _, _, _ = s.serve.Call(uintptr(result), 0) }

// Restart replaces the service by a new one, without notifying anybody.
func (s Shared) Restart() { _, _, _ = s.serve.Call(0, 1) }

// A Volume is an endpoint's volume control, as a program opens it.
type Volume struct{ object *com.Object }

// OpenVolume opens an endpoint's volume control, on a thread that has entered COM.
func OpenVolume(id string) (v Volume, err error) {
	enumerator, err := com.Create(classEnumerator, ifaceEnumerator)
	if err != nil {
		return v, err
	}
	defer enumerator.Release()
	name, err := windows.UTF16PtrFromString(id)
	if err != nil {
		return v, err
	}
	device, err := enumerator.Object(5, uintptr(unsafe.Pointer(name))) // GetDevice
	if err != nil {
		return v, err
	}
	defer device.Release()
	v.object, err = device.Object(3, uintptr(unsafe.Pointer(&ifaceVolume)), 23, 0) // Activate
	return v, err
}

// SetMute sets the mute.
func (v Volume) SetMute(mute bool) error { return v.object.Call(14, uintptr(flag(mute)), 0) }

// Mute returns the mute.
func (v Volume) Mute() (bool, error) {
	var on int32
	err := v.object.Call(15, uintptr(unsafe.Pointer(&on)))
	return on != 0, err
}

var listenerClass = sync.OnceValue(func() *com.Class {
	return com.NewClass(com.MustGUID("657804FA-D6AD-4496-8A60-352752AF4F89"), func(i *com.Instance, n *volumeNotice) uintptr {
		i.Value.(func(bool))(n.muted != 0)
		return 0
	})
})

// Listen calls told with each mute that is set, until the process ends.
func (v Volume) Listen(told func(mute bool)) error {
	return v.object.Call(3, listenerClass().New(told).Pointer())
}

func flag(on bool) uint32 {
	if on {
		return 1
	}
	return 0
}
