package windows

import (
	"errors"
	"unsafe"

	syswindows "golang.org/x/sys/windows"
)

var (
	setupDiEnumDeviceInterfaces     = setupapi.NewProc("SetupDiEnumDeviceInterfaces")
	setupDiGetDeviceInterfaceDetail = setupapi.NewProc("SetupDiGetDeviceInterfaceDetailW")
)

// Interface is a device interface, by which programs open a device.
type Interface struct {
	Path     string // to open it; case-insensitive
	Instance string // id of the device
}

// Interfaces returns the interfaces of a class of all present devices.
func Interfaces(class syswindows.GUID) ([]Interface, error) {
	set, err := syswindows.SetupDiGetClassDevsEx(&class, "", 0, syswindows.DIGCF_PRESENT|syswindows.DIGCF_DEVICEINTERFACE, 0, "")
	if err != nil {
		return nil, err
	}
	defer set.Close()
	var list []Interface
	for i := 0; ; i++ {
		found := interfaceData{class: class}
		found.size = uint32(unsafe.Sizeof(found))
		ok, _, err := setupDiEnumDeviceInterfaces.Call(uintptr(set), 0, uintptr(unsafe.Pointer(&class)), uintptr(i),
			uintptr(unsafe.Pointer(&found)))
		switch {
		case ok == 0 && errors.Is(err, syswindows.ERROR_NO_MORE_ITEMS):
			return list, nil
		case ok == 0:
			return nil, err
		}
		if one, ok := interfaceOf(set, &found); ok { // otherwise it is just going
			list = append(list, one)
		}
	}
}

// interfaceData is SP_DEVICE_INTERFACE_DATA.
type interfaceData struct {
	size  uint32
	class syswindows.GUID
	flags uint32
	_     uintptr
}

// maxPath exceeds the length of an interface's path, whose parts have at most 200 characters.
const maxPath = 1 << 10

// interfaceOf returns the path and device of an interface.
func interfaceOf(set syswindows.DevInfo, found *interfaceData) (Interface, bool) {
	info := newDevInfo()
	// SP_DEVICE_INTERFACE_DETAIL_DATA_W: its size without the path, and the path
	var detail struct {
		size uint32
		path [maxPath]uint16
	}
	detail.size = 4 + 2
	if unsafe.Sizeof(uintptr(0)) == 8 {
		detail.size = 8
	}
	ok, _, _ := setupDiGetDeviceInterfaceDetail.Call(uintptr(set), uintptr(unsafe.Pointer(found)), uintptr(unsafe.Pointer(&detail)),
		unsafe.Sizeof(detail), 0, uintptr(unsafe.Pointer(&info)))
	if ok == 0 {
		return Interface{}, false
	}
	id, err := set.DeviceInstanceID(&info)
	return Interface{Path: syswindows.UTF16ToString(detail.path[:]), Instance: id}, err == nil
}
