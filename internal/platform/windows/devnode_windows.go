package windows

import (
	"unsafe"

	syswindows "golang.org/x/sys/windows"
)

var (
	cfgmgr    = syswindows.NewLazySystemDLL("cfgmgr32.dll")
	locate    = cfgmgr.NewProc("CM_Locate_DevNodeW")
	getParent = cfgmgr.NewProc("CM_Get_Parent")
	getID     = cfgmgr.NewProc("CM_Get_Device_IDW")
)

// maxInstance is how long an instance id may be, in UTF-16 with the zero behind it (MAX_DEVICE_ID_LEN).
const maxInstance = 201

// Parent returns the instance id of the device that one is connected to; "" where Windows does not tell. It asks the Plug and Play
// service, not the device.
func Parent(id string) string {
	name, err := syswindows.UTF16PtrFromString(id)
	if err != nil || locate.Find() != nil || getParent.Find() != nil || getID.Find() != nil {
		return ""
	}
	var node, parent uint32
	if r, _, _ := locate.Call(uintptr(unsafe.Pointer(&node)), uintptr(unsafe.Pointer(name)), 0); r != 0 {
		return ""
	}
	if r, _, _ := getParent.Call(uintptr(unsafe.Pointer(&parent)), uintptr(node), 0); r != 0 {
		return ""
	}
	var text [maxInstance]uint16
	if r, _, _ := getID.Call(uintptr(parent), uintptr(unsafe.Pointer(&text[0])), maxInstance, 0); r != 0 {
		return ""
	}
	return syswindows.UTF16ToString(text[:])
}
