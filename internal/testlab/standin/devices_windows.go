// Package standin plugs simulated devices into Wine, by the drivers in tools/windows/standin.
package standin

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unicode/utf16"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/wine"
)

var (
	setupapi                 = windows.NewLazySystemDLL("setupapi.dll")
	setupDiRegisterDevice    = setupapi.NewProc("SetupDiRegisterDeviceInfo")
	setupDiOpenDevice        = setupapi.NewProc("SetupDiOpenDeviceInfoW")
	setupDiRemoveDevice      = setupapi.NewProc("SetupDiRemoveDevice")
	setupDiSetDeviceProperty = setupapi.NewProc("SetupDiSetDevicePropertyW")
)

// folder is where tools/windows/test.sh has built the drivers.
func folder(t *testing.T) string {
	if !wine.Is() {
		t.Skip("Windows loads no driver without a signature")
	}
	dir := os.Getenv("SIDETONE_STANDINS")
	require.NotEmpty(t, dir, "tools/windows/test.sh builds the drivers")
	return dir
}

// reenumerate makes Wine look for new devices of a driver.
const reenumerate = 128

// plugging admits one test at a time: each driver has its parameters in one place.
var plugging sync.Mutex

func driver(t *testing.T, name string) {
	const drivers = `C:\windows\system32\drivers`
	binary, err := os.ReadFile(filepath.Join(folder(t), name+".sys"))
	require.NoError(t, err)
	path := filepath.Join(drivers, name+".sys")
	m, err := mgr.Connect()
	require.NoError(t, err)
	defer m.Disconnect()
	if s, err := m.OpenService(name); err == nil {
		s.Close()
		return
	}
	require.NoError(t, os.MkdirAll(drivers, 0o755))
	require.NoError(t, os.WriteFile(path, binary, 0o644))
	config := mgr.Config{ServiceType: windows.SERVICE_KERNEL_DRIVER, StartType: mgr.StartManual, ErrorControl: mgr.ErrorNormal}
	s, err := m.CreateService(name, path, config)
	require.NoError(t, err)
	s.Close()
}

// parameters opens the registry key in which a driver finds what its devices are.
func parameters(t *testing.T, name string) registry.Key {
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, `System\CurrentControlSet\Services\`+name+`\Parameters`, registry.ALL_ACCESS)
	require.NoError(t, err)
	return key
}

// look starts a driver, or makes it look for its devices.
func look(t *testing.T, name string) {
	m, err := mgr.Connect()
	require.NoError(t, err)
	defer m.Disconnect()
	s, err := m.OpenService(name)
	require.NoError(t, err)
	defer s.Close()
	if s.Start() == nil {
		return
	}
	var status windows.SERVICE_STATUS
	require.NoError(t, windows.ControlService(s.Handle, reenumerate, &status))
}

// device registers a device, and calls set to set its properties.
func device(t *testing.T, id string, class windows.GUID, set ...func(windows.DevInfo, *windows.DevInfoData)) {
	list, err := windows.SetupDiCreateDeviceInfoListEx(&class, 0, "")
	require.NoError(t, err)
	defer list.Close()
	info, err := list.CreateDeviceInfo(id, &class, "", 0, 0)
	if err != nil { // it has been there before
		info = open(t, list, id)
	} else {
		ok, _, err := setupDiRegisterDevice.Call(uintptr(list), uintptr(unsafe.Pointer(info)), 0, 0, 0, 0)
		require.NotZero(t, ok, err)
	}
	for _, f := range set {
		f(list, info)
	}
}

func open(t *testing.T, list windows.DevInfo, id string) *windows.DevInfoData {
	name, err := windows.UTF16PtrFromString(id)
	require.NoError(t, err)
	info := new(windows.DevInfoData)
	*(*uint32)(unsafe.Pointer(info)) = uint32(unsafe.Sizeof(*info))
	ok, _, err := setupDiOpenDevice.Call(uintptr(list), uintptr(unsafe.Pointer(name)), 0, 0, uintptr(unsafe.Pointer(info)))
	require.NotZero(t, ok, "%s: %v", id, err)
	return info
}

func remove(t *testing.T, id string) {
	list, err := windows.SetupDiCreateDeviceInfoListEx(nil, 0, "")
	require.NoError(t, err)
	defer list.Close()
	ok, _, err := setupDiRemoveDevice.Call(uintptr(list), uintptr(unsafe.Pointer(open(t, list, id))))
	require.NotZero(t, ok, "%s: %v", id, err)
}

// byDriver assigns a device below ROOT to a driver of a class.
func byDriver(t *testing.T, name, class string) func(windows.DevInfo, *windows.DevInfoData) {
	return func(list windows.DevInfo, info *windows.DevInfoData) {
		for what, text := range map[windows.SPDRP]string{
			windows.SPDRP_HARDWAREID: `root\` + name + "\x00", windows.SPDRP_SERVICE: name, windows.SPDRP_DRIVER: class + `\0000`,
		} {
			require.NoError(t, list.SetDeviceRegistryProperty(info, what, bytesOf(text)))
		}
	}
}

// bytesOf returns a text as UTF-16 with a final zero.
func bytesOf(text string) []byte {
	units := append(utf16.Encode([]rune(text)), 0)
	return unsafe.Slice((*byte)(unsafe.Pointer(&units[0])), 2*len(units))
}

// A property is a property key of devpkey.h.
type property struct {
	group string
	id    uint32
}

var (
	parent    = property{"{4340a6c5-93fa-4706-972c-7b648008a5a7}", 8}
	friendly  = property{"{a45c254e-df1c-4efd-8020-67d146a850e0}", 14}
	reported  = property{"{540b947e-8b40-45bc-a8a2-6a0b894cbda2}", 4}
	container = property{"{8c7ed206-3f8a-4827-b3ab-ae9e1faefc6c}", 2}
	arrived   = property{"{83da6326-97a6-4088-9453-a1923f573b29}", 102}
)

// has sets properties of a device: texts, the GUID of its container, and how long ago it arrived.
func has(t *testing.T, properties map[property]string) func(windows.DevInfo, *windows.DevInfoData) {
	return func(list windows.DevInfo, info *windows.DevInfoData) {
		for p, value := range properties {
			group, err := windows.GUIDFromString(p.group)
			require.NoError(t, err)
			key := windows.DEVPROPKEY{FmtID: windows.DEVPROPGUID(group), PID: windows.DEVPROPID(p.id)}
			kind, data := windows.DEVPROP_TYPE_STRING, bytesOf(value)
			switch p {
			case arrived:
				ago, err := time.ParseDuration(value)
				require.NoError(t, err)
				at := windows.NsecToFiletime(time.Now().Add(-ago).UnixNano())
				kind, data = windows.DEVPROP_TYPE_FILETIME, (*[8]byte)(unsafe.Pointer(&at))[:]
			case container:
				guid, err := windows.GUIDFromString(value)
				require.NoError(t, err)
				kind, data = windows.DEVPROP_TYPE_GUID, (*[16]byte)(unsafe.Pointer(&guid))[:]
			}
			ok, _, err := setupDiSetDeviceProperty.Call(uintptr(list), uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&key)), uintptr(kind),
				uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), 0)
			require.NotZero(t, ok, err)
		}
	}
}

// Limits for what Wine does in the background.
const (
	deadline = 20 * time.Second
	tick     = 10 * time.Millisecond
)
