package wasapi

import (
	"cmp"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/devices"
	platform "sidetone/internal/platform/windows"
	"sidetone/internal/platform/windows/com"
)

var clearVariant = windows.NewLazySystemDLL("ole32.dll").NewProc("PropVariantClear")

// An endpoint holds the open objects of an endpoint.
type endpoint struct {
	facts
	device     *com.Object
	identified bool // its hardware is known, which does not change while it is present

	volume   *com.Object // nil: not open
	watch    *muteWatch
	callback *com.Instance // of watch

	processing *processing // nil: not open

	unread struct{ state, properties, mute, effects error } // why the last reading of each failed
}

func (c *Client) newEndpoint(device *com.Object, id string, kind devices.Type) *endpoint {
	return &endpoint{facts: facts{id: id, kind: kind}, device: device, watch: &muteWatch{changed: c.options.Changed}}
}

// replace adopts the newly listed device. If the endpoint may have been away, its objects are reopened: it could have returned without a
// notification.
func (e *endpoint) replace(device *com.Object, reopen bool) {
	e.device.Release()
	e.device = device
	if reopen {
		e.identified = false
		e.closeVolume()
		e.closeProcessing()
	}
}

// read updates the endpoint: everything if afresh, else what it has reported as changed. there is false if it has gone; an error means
// that the audio service has.
func (e *endpoint) read(c *Client, afresh bool) (there bool, err error) {
	if afresh {
		if there, err = e.readState(); !there {
			return false, err
		}
		e.unread.properties = e.readProperties(c)
	}
	if e.watch.take() || afresh {
		e.unread.mute = e.readMute()
	}
	e.unread.effects = e.readEffects(c, afresh)
	problem := errors.Join(e.unread.properties, e.unread.mute, e.unread.effects)
	switch {
	case problem == nil:
		return true, nil
	case isAny(problem, absent):
		return false, problem
	}
	return e.readState()
}

// readState reports whether programs can use the endpoint, or could if something was plugged in.
func (e *endpoint) readState() (bool, error) {
	err := e.device.Call(deviceState, uintptr(unsafe.Pointer(&e.state)))
	e.unread.state = nil
	switch {
	case isAny(err, absent):
		return false, err
	case errors.Is(err, com.DeviceInvalidated):
		return false, nil
	case err != nil:
		e.unread.state = fmt.Errorf("read its state: %w", err)
		return false, nil
	}
	return e.state == active || e.state == unplugged, nil
}

// readProperties reads what rarely changes. What cannot be read becomes unknown.
func (e *endpoint) readProperties(c *Client) error {
	store, err := openStore(e.device)
	if err != nil {
		return fmt.Errorf("open its properties: %w", err)
	}
	defer store.release()
	e.name = property(store, "its name", keyName, (*variant).text)
	e.formFactor = property(store, "its form", keyFormFactor, (*variant).number)
	e.container = property(store, "its container", keyContainer, (*variant).guid)
	if !e.identified {
		id, path := c.adapterOf(e.device, store)
		e.hardware = platform.Identify(instance(id, path, property(store, "its adapter", keyAdapter, (*variant).text)), c.parent)
		e.identified = store.err == nil && e.hardware != platform.Hardware{}
	}
	return store.err
}

// adapterOf returns the instance id of the device behind an endpoint, or the path to it, or "".
func (c *Client) adapterOf(device *com.Object, failures *store) (id, path string) {
	fails := func(err error) bool {
		if isAny(err, absent) {
			failures.fail("its adapter", err)
		}
		return err != nil
	}
	topology, err := device.Object(deviceActivate, uintptr(unsafe.Pointer(&ifaceTopology)), inProcess, 0)
	if fails(err) {
		return "", ""
	}
	defer topology.Release()
	connector, err := topology.Object(topologyConnector, 0)
	if fails(err) {
		return "", ""
	}
	defer connector.Release()
	path, err = connector.Text(connectorConnected)
	if fails(err) {
		return "", ""
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return "", path
	}
	adapter, err := c.enumerator.Object(enumeratorDevice, uintptr(unsafe.Pointer(name)))
	if fails(err) {
		return "", path
	}
	defer adapter.Release()
	properties, err := openStore(adapter)
	if fails(err) {
		return "", path
	}
	defer properties.release()
	id = property(properties, "its adapter", keyInstance, (*variant).text)
	failures.err = errors.Join(failures.err, properties.err)
	return id, path
}

// readMute reads the mute, and registers for changes the first time. If changes cannot be noticed the mute is unknown.
func (e *endpoint) readMute() error {
	e.mute = devices.Unknown
	if e.state != active {
		e.closeVolume()
		return nil
	}
	opened := e.volume == nil
	err := e.openVolume()
	if err == nil {
		e.mute, err = e.watch.read(e.askMute)
	}
	if err != nil {
		e.closeVolume()
	}
	if errors.Is(err, com.DeviceInvalidated) && !opened { // it was away, and the one that is there now may be usable
		return e.readMute()
	}
	if err != nil && !isAny(err, unsupported) {
		return fmt.Errorf("read its mute: %w", err)
	}
	return nil
}

func (e *endpoint) askMute() (devices.Tri, error) {
	var muted int32
	if err := e.volume.Call(volumeMute, uintptr(unsafe.Pointer(&muted))); err != nil {
		return devices.Unknown, err
	}
	return devices.Of(muted != 0), nil
}

func (e *endpoint) openVolume() (err error) {
	if e.volume != nil {
		return nil
	}
	e.volume, err = e.device.Object(deviceActivate, uintptr(unsafe.Pointer(&ifaceVolume)), inProcess, 0)
	if err != nil {
		return err
	}
	callback := volumeClass().New(e.watch)
	if err := e.volume.Call(volumeRegister, callback.Pointer()); err != nil {
		callback.Release()
		return fmt.Errorf("listen to it: %w", err)
	}
	e.callback, e.supports = callback, 0
	var supports uint32
	err = e.volume.Call(volumeSupport, uintptr(unsafe.Pointer(&supports)))
	if err == nil {
		e.supports = supports
	}
	if isAny(err, absent) {
		return err
	}
	return nil
}

func (e *endpoint) closeVolume() {
	if e.callback != nil {
		_ = e.volume.Call(volumeUnregister, e.callback.Pointer())
		e.callback.Release()
		e.callback = nil
	}
	e.volume.Release()
	e.volume = nil
}

func (e *endpoint) close() {
	e.closeProcessing()
	e.closeVolume()
	e.device.Release()
}

// faults returns what could not be read.
func (e *endpoint) faults() (list []Fault) {
	for _, err := range []error{e.unread.state, e.unread.properties, e.unread.mute, e.unread.effects} {
		if err != nil {
			list = append(list, Fault{cmp.Or(e.name, e.id), err})
		}
	}
	return list
}

// A store is a property store, and collects what could not be read of it.
type store struct {
	object *com.Object
	err    error
}

func openStore(device *com.Object) (*store, error) {
	object, err := device.Object(deviceProperties, 0) // to read (STGM_READ)
	return &store{object: object}, err
}

func (s *store) release() { s.object.Release() }

// fail records why a property could not be read. A missing property is no failure.
func (s *store) fail(what string, err error) {
	if err != nil && !isAny(err, unsupported) {
		s.err = errors.Join(s.err, fmt.Errorf("read %s: %w", what, err))
	}
}

// property reads a property with decode. What cannot be read is the zero value.
func property[T any](s *store, what string, key propertyKey, decode func(*variant) (T, error)) (value T) {
	var v variant
	err := s.object.Call(storeValue, uintptr(unsafe.Pointer(&key)), uintptr(unsafe.Pointer(&v)))
	if err == nil {
		value, err = decode(&v)
		_, _, _ = clearVariant.Call(uintptr(unsafe.Pointer(&v)))
	}
	s.fail(what, err)
	return value
}
