package wasapi

import (
	"fmt"
	"unicode/utf16"
	"unsafe"

	"sidetone/internal/platform/windows/com"
)

// Types of values that are read (VARTYPE).
const (
	typeEmpty  = 0
	typeNumber = 19 // VT_UI4
	typeText   = 31 // VT_LPWSTR
	typeGUID   = 72 // VT_CLSID
)

// variant is a property's value in the 64-bit layout of PROPVARIANT. Windows owns what it points to.
type variant struct {
	Type  uint16
	_     [3]uint16
	Value uintptr // a pointer or a number, which as a pointer would be invalid for the garbage collector
	_     uintptr
}

// pointer returns the value as a pointer.
func (v *variant) pointer() unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&v.Value)) }

// want reports whether there is a value, and returns an error if it has another type: drivers and installers write what they like.
func (v *variant) want(kind uint16) (bool, error) {
	switch {
	case v.Type == typeEmpty:
		return false, nil
	case v.Type != kind:
		return false, fmt.Errorf("its type is %d, not %d", v.Type, kind)
	case kind != typeNumber && v.Value == 0:
		return false, fmt.Errorf("nothing is where its type, %d, points to", kind)
	}
	return true, nil
}

// text returns a text, or "". Unpaired surrogates become U+FFFD.
func (v *variant) text() (string, error) {
	if ok, err := v.want(typeText); !ok {
		return "", err
	}
	var units []uint16
	for p := (*uint16)(v.pointer()); *p != 0; p = (*uint16)(unsafe.Add(unsafe.Pointer(p), 2)) {
		units = append(units, *p)
	}
	return string(utf16.Decode(units)), nil
}

// number returns a number, or nil.
func (v *variant) number() (*uint32, error) {
	if ok, err := v.want(typeNumber); !ok {
		return nil, err
	}
	n := uint32(v.Value)
	return &n, nil
}

// guid returns a GUID in braces, or "".
func (v *variant) guid() (string, error) {
	if ok, err := v.want(typeGUID); !ok {
		return "", err
	}
	return (*com.GUID)(v.pointer()).String(), nil
}
