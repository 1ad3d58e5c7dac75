package windows

import (
	"errors"
	"time"
	"unsafe"

	syswindows "golang.org/x/sys/windows"
)

var (
	setupapi                 = syswindows.NewLazySystemDLL("setupapi.dll")
	setupDiOpenDeviceInfo    = setupapi.NewProc("SetupDiOpenDeviceInfoW")
	setupDiGetDeviceProperty = setupapi.NewProc("SetupDiGetDevicePropertyW")
)

// Properties are what the Plug and Play service stores about a device. The device itself is not asked. Unknown values are zero.
type Properties struct {
	Parent    string    // instance id of the parent device
	Container string    // as Container returns it
	Name      string    // for people, from its driver
	Reported  string    // its own name, as its bus has read it
	Arrived   time.Time // when it was connected
}

// DEVPKEY_Device_Parent and so on (devpkey.h).
var (
	keyParent    = propertyKey("{4340a6c5-93fa-4706-972c-7b648008a5a7}", 8)
	keyContainer = propertyKey("{8c7ed206-3f8a-4827-b3ab-ae9e1faefc6c}", 2)
	keyName      = propertyKey("{a45c254e-df1c-4efd-8020-67d146a850e0}", 14)
	keyReported  = propertyKey("{540b947e-8b40-45bc-a8a2-6a0b894cbda2}", 4)
	keyArrived   = propertyKey("{83da6326-97a6-4088-9453-a1923f573b29}", 102)
)

func propertyKey(group string, id uint32) syswindows.DEVPROPKEY {
	guid, err := syswindows.GUIDFromString(group)
	if err != nil {
		panic(err)
	}
	return syswindows.DEVPROPKEY{FmtID: syswindows.DEVPROPGUID(guid), PID: syswindows.DEVPROPID(id)}
}

// PropertiesOf returns the properties of the device with an instance id.
func PropertiesOf(id string) Properties {
	name, err := syswindows.UTF16PtrFromString(id)
	if err != nil {
		return Properties{}
	}
	set, err := syswindows.SetupDiCreateDeviceInfoListEx(nil, 0, "")
	if err != nil {
		return Properties{}
	}
	defer set.Close()
	info := newDevInfo()
	if ok, _, _ := setupDiOpenDeviceInfo.Call(uintptr(set), uintptr(unsafe.Pointer(name)), 0, 0, uintptr(unsafe.Pointer(&info))); ok == 0 {
		return Properties{}
	}
	p := Properties{
		Parent:   text(property(set, &info, keyParent, syswindows.DEVPROP_TYPE_STRING)),
		Name:     text(property(set, &info, keyName, syswindows.DEVPROP_TYPE_STRING)),
		Reported: text(property(set, &info, keyReported, syswindows.DEVPROP_TYPE_STRING)),
	}
	if b := property(set, &info, keyContainer, syswindows.DEVPROP_TYPE_GUID); len(b) == int(unsafe.Sizeof(syswindows.GUID{})) {
		p.Container = Container((*syswindows.GUID)(unsafe.Pointer(&b[0])).String())
	}
	if b := property(set, &info, keyArrived, syswindows.DEVPROP_TYPE_FILETIME); len(b) == int(unsafe.Sizeof(syswindows.Filetime{})) {
		p.Arrived = time.Unix(0, (*syswindows.Filetime)(unsafe.Pointer(&b[0])).Nanoseconds())
	}
	return p
}

// Parent returns the instance id of a device's parent, or "".
func Parent(id string) string { return PropertiesOf(id).Parent }

func newDevInfo() syswindows.DevInfoData {
	var info syswindows.DevInfoData
	*(*uint32)(unsafe.Pointer(&info)) = uint32(unsafe.Sizeof(info))
	return info
}

// maxProperty exceeds the size of any of the properties in bytes: names come from devices.
const maxProperty = 8 << 10

// property returns a property, or nil if the device has none of that type.
func property(set syswindows.DevInfo, info *syswindows.DevInfoData, key syswindows.DEVPROPKEY, want syswindows.DEVPROPTYPE) []byte {
	var kind syswindows.DEVPROPTYPE
	var size uint32
	b := make([]byte, maxProperty)
	ok, _, _ := setupDiGetDeviceProperty.Call(uintptr(set), uintptr(unsafe.Pointer(info)), uintptr(unsafe.Pointer(&key)),
		uintptr(unsafe.Pointer(&kind)), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&size)), 0)
	if ok == 0 || kind != want || int(size) > len(b) {
		return nil
	}
	return b[:size]
}

// text decodes UTF-16 up to a zero or the end.
func text(b []byte) string {
	if len(b) < 2 {
		return ""
	}
	return syswindows.UTF16ToString(unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/2))
}

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
