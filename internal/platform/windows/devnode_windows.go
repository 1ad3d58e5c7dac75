package windows

import (
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
