package standin

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

const (
	cameraDriver = "sidetonecamera"
	videoCamera  = "{e5323777-f976-4f5b-9b55-b94699c46e44}" // KSCATEGORY_VIDEO_CAMERA
)

// cameraClass is the device class of cameras.
var cameraClass = windows.GUID{
	Data1: 0xca3e7ab9, Data2: 0xb4c3, Data3: 0x4ae6, Data4: [8]byte{0x82, 0x51, 0x57, 0x9e, 0xf9, 0x33, 0x89, 0xf},
}

var setupDiCreateInterface = setupapi.NewProc("SetupDiCreateDeviceInterfaceW")

// VirtualCamera is a camera that a program provides.
type VirtualCamera struct{ Name string }

// Path is the camera's symbolic link.
func (c VirtualCamera) Path() string { return `\\?\root#sidetonecamera#0000#` + videoCamera }

// Plug plugs the camera in.
func (c VirtualCamera) Plug(t *testing.T) (unplug func()) {
	plugging.Lock()
	defer plugging.Unlock()
	driver(t, cameraDriver)
	const id = `ROOT\SIDETONECAMERA\0000`
	device(t, id, cameraClass, byDriver(t, cameraDriver, cameraClass.String()), has(t, map[property]string{friendly: c.Name}))
	look(t, cameraDriver)
	return func() {
		plugging.Lock()
		defer plugging.Unlock()
		remove(t, id)
		look(t, cameraDriver)
	}
}

// Camera is a USB camera that has been there from the start: nobody is notified of it.
type Camera struct {
	VID, PID  uint16
	Serial    string
	Container string // {...}
	Name      string
}

// Path is the camera's symbolic link.
func (c Camera) Path() string {
	return fmt.Sprintf(`\\?\usb#vid_%04x&pid_%04x&mi_00#6&1a2b3c&0&0000#%s\global`, c.VID, c.PID, videoCamera)
}

// Place puts the camera into the registry, in the form that Windows uses. end removes it.
func (c Camera) Place(t *testing.T) (end func()) {
	folder(t)
	whole := fmt.Sprintf(`USB\VID_%04X&PID_%04X\%s`, c.VID, c.PID, c.Serial)
	device(t, whole, cameraClass)
	id := fmt.Sprintf(`USB\VID_%04X&PID_%04X&MI_00\6&1A2B3C&0&0000`, c.VID, c.PID)
	about := map[property]string{parent: whole, friendly: c.Name, container: c.Container}
	device(t, id, cameraClass, has(t, about), func(list windows.DevInfo, info *windows.DevInfoData) {
		class, err := windows.GUIDFromString(videoCamera)
		require.NoError(t, err)
		reference, err := windows.UTF16PtrFromString("GLOBAL")
		require.NoError(t, err)
		ok, _, err := setupDiCreateInterface.Call(uintptr(list), uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&class)),
			uintptr(unsafe.Pointer(reference)), 0, 0)
		require.NotZero(t, ok, err)
	})
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, fmt.Sprintf(
		`System\CurrentControlSet\Control\DeviceClasses\%s\##?#USB#VID_%04X&PID_%04X&MI_00#6&1A2B3C&0&0000#%s\#GLOBAL\Control`,
		videoCamera, c.VID, c.PID, videoCamera), registry.ALL_ACCESS)
	require.NoError(t, err)
	defer key.Close()
	require.NoError(t, key.SetDWordValue("Linked", 1))
	return func() { remove(t, id) }
}
