package wasapitest

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/com"
)

var taskMemory = ole32.NewProc("CoTaskMemAlloc")

// allocate returns memory that the receiver frees.
func allocate(size int) unsafe.Pointer {
	r, _, _ := taskMemory.Call(uintptr(max(size, 1)))
	return *(*unsafe.Pointer)(unsafe.Pointer(&r))
}

func allocateText(text string) *uint16 {
	units, _ := windows.UTF16FromString(text)
	to := (*uint16)(allocate(2 * len(units)))
	copy(unsafe.Slice(to, len(units)), units)
	return to
}

// variant is a PROPVARIANT.
type variant struct {
	kind          uint16
	_             [3]uint16
	value, value2 uintptr
}

// set stores a value with its type. One of another type leaves the variant empty.
func (v *variant) set(value any) uintptr {
	switch value := value.(type) {
	case string:
		v.kind, v.value = 31, uintptr(unsafe.Pointer(allocateText(value)))
	case uint32:
		v.kind, v.value = 19, uintptr(value)
	case com.GUID:
		to := (*com.GUID)(allocate(16))
		*to = value
		v.kind, v.value = 72, uintptr(unsafe.Pointer(to))
	case []byte:
		to := allocate(len(value))
		copy(unsafe.Slice((*byte)(to), len(value)), value)
		v.kind, v.value, v.value2 = 65, uintptr(len(value)), uintptr(to)
	}
	return 0
}
