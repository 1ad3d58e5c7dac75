package standin

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	platformwindows "sidetone/internal/platform/windows"
)

const hidDriver = "sidetonehid"

// hidClass is the device class of HID devices. The path of each ends in hidPath.
var hidClass = windows.GUID{Data1: 0x745a17a0, Data2: 0x74d3, Data3: 0x11d0, Data4: [8]byte{0xb6, 0xfe, 0, 0xa0, 0xc9, 0xf, 0x57, 0xda}}

const hidPath = `#{4d1e55b2-f16f-11cf-88cb-001111000030}`

// HID is a HID interface of a USB device.
type HID struct {
	VID, PID   uint16
	Interface  int
	Serial     string
	Container  string // {...}
	Name       string // reported by its bus; may be empty
	Product    string // answered by the device itself
	Descriptor []byte
	// Collections is the number of top-level collections in the descriptor, if more than one. Control is in the last.
	Collections int
	Place       int // tells several devices apart, which have one collection each
	// HubAge is for how long the hub that it is plugged into has been there; empty: 1h.
	HubAge string
}

// hub is the id of the hub that all devices are plugged into.
const hub = `USB\ROOT_HUB30\SIDETONE`

// Instance is the id of the interface.
func (h HID) Instance() string {
	return fmt.Sprintf(`USB\VID_%04X&PID_%04X&MI_%02X\7&%d&0&0000`, h.VID, h.PID, h.Interface, h.Place)
}

// nodes are the ids of its collections.
func (h HID) nodes() (ids []string) {
	if h.Collections < 2 {
		return []string{fmt.Sprintf(`HID\SIDETONEHID\%04d`, h.Place)}
	}
	for i := range h.Collections { // as Wine names them
		ids = append(ids, fmt.Sprintf(`HID\SIDETONEHID&COL%02d\0&ACME&0&0&%04d`, i+1, i))
	}
	return ids
}

// Path is the path of the device's last collection.
func (h HID) Path() string {
	nodes := h.nodes()
	return `\\?\` + strings.ReplaceAll(nodes[len(nodes)-1], `\`, "#") + hidPath
}

func (h HID) root() string { return fmt.Sprintf(`ROOT\SIDETONEHID\%04d`, h.Place) }

// A Plugged is a plugged-in HID device.
type Plugged struct {
	HID
	t    *testing.T
	file windows.Handle // for Control
	out  bool
}

// Plug plugs the device in, and unplugs it when the test ends.
func (h HID) Plug(t *testing.T) *Plugged {
	plugging.Lock()
	defer plugging.Unlock()
	holdDevices(t)
	driver(t, hidDriver)
	key := parameters(t, hidDriver)
	defer key.Close()
	require.NoError(t, key.SetBinaryValue("Descriptor", h.Descriptor))
	require.NoError(t, key.SetDWordValue("VID", uint32(h.VID)))
	require.NoError(t, key.SetDWordValue("PID", uint32(h.PID)))
	require.NoError(t, key.SetStringValue("Product", h.Product))
	whole := fmt.Sprintf(`USB\VID_%04X&PID_%04X\%s`, h.VID, h.PID, h.Serial)
	device(t, hub, hidClass, has(t, map[property]string{arrived: cmp.Or(h.HubAge, "1h")}))
	device(t, whole, hidClass, has(t, map[property]string{parent: hub, arrived: "0s"}))
	about := map[property]string{parent: whole, reported: h.Name}
	if h.Container != "" {
		about[container] = h.Container
	}
	device(t, h.Instance(), hidClass, has(t, about))
	for _, node := range h.nodes() {
		device(t, node, hidClass, has(t, map[property]string{parent: h.Instance()}))
	}
	device(t, h.root(), hidClass, byDriver(t, hidDriver, hidClass.String()))
	look(t, hidDriver)
	p := &Plugged{HID: h, t: t}
	require.Eventually(t, func() bool { return p.open() == nil }, deadline, tick, "%s does not come", h.Path())
	require.Eventually(t, h.listed, deadline, tick, "%s is not listed", h.Path()) // a moment after it can be opened
	t.Cleanup(p.Unplug)
	return p
}

func (h HID) listed() bool {
	class, err := windows.GUIDFromString(hidPath[1:])
	if err != nil {
		return false
	}
	list, err := platformwindows.Interfaces(class)
	return err == nil && slices.ContainsFunc(list, func(i platformwindows.Interface) bool { return strings.EqualFold(i.Path, h.Path()) })
}

func (p *Plugged) open() error {
	name, err := windows.UTF16PtrFromString(p.Path())
	if err != nil {
		return err
	}
	p.file, err = windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, nil, windows.OPEN_EXISTING, 0, 0)
	return err
}

// users counts the devices that tests of this process have plugged in. Tests of other processes wait until these have ended: they would
// see the same devices.
var (
	users int
	alone *flock.Flock
)

func holdDevices(t *testing.T) {
	if users == 0 {
		alone = flock.New(filepath.Join(folder(t), "hid.lock"))
		require.NoError(t, alone.Lock())
	}
	users++
	t.Cleanup(func() {
		plugging.Lock()
		defer plugging.Unlock()
		users--
		if users == 0 {
			require.NoError(t, alone.Unlock())
		}
	})
}

// Unplug unplugs the device.
func (p *Plugged) Unplug() {
	if p.out {
		return
	}
	p.out = true
	windows.CloseHandle(p.file)
	plugging.Lock()
	defer plugging.Unlock()
	remove(p.t, p.root())
	look(p.t, hidDriver)
}

// Control is the part of a report descriptor by which tests control a device. The descriptor has to contain it.
const Control = "\x06\x00\xff\x85\x70\x09\x70\x15\x00\x26\xff\x00\x75\x08\x95\x3f\xb1\x02" + // feature report 0x70 of 63 bytes
	"\x85\x05\x09\x05\x95\x01\xb1\x02" + "\x85\x06\x09\x06\xb1\x02" + "\x85\x07\x09\x07\xb1\x02"

// setFeature is IOCTL_HID_SET_FEATURE.
const setFeature = 11<<16 | 100<<2 | 1

func (p *Plugged) tell(report ...byte) {
	report = append(report, make([]byte, 64-len(report))...)
	var n uint32
	require.NoError(p.t, windows.DeviceIoControl(p.file, setFeature, &report[0], uint32(len(report)), nil, 0, &n, nil))
}

// Send makes the device send an input report.
func (p *Plugged) Send(report string) {
	p.tell(append([]byte{0x70, byte(len(report))}, report...)...)
}

// State sets the byte with which the device answers requests for feature report 5 and for input reports. It does not answer feature
// report 6, and answers 7 with the first byte of the last output report.
func (p *Plugged) State(state byte) { p.tell(5, state) }
