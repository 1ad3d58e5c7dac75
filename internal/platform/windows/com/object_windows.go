package com

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	ole32          = windows.NewLazySystemDLL("ole32.dll")
	createInstance = ole32.NewProc("CoCreateInstance")
)

// everywhere is CLSCTX_ALL: the class may be in this process or another.
const everywhere = 23

// slotRelease is the place of Release among the methods that every object begins with.
const slotRelease = 2

// Unknown is IUnknown, the interface that every object has.
var Unknown = MustGUID("00000000-0000-0000-C000-000000000046")

// An Object is a pointer to an interface of a foreign object.
type Object struct{ methods *[1 << 8]uintptr }

// Enter locks the goroutine to its thread and puts that into the multithreaded apartment, whose threads call objects directly and are
// called by them at any time. leave undoes both.
func Enter() (leave func(), err error) {
	runtime.LockOSThread()
	var result syscall.Errno // also holds results that are no failures
	if errors.As(windows.CoInitializeEx(0, windows.COINIT_MULTITHREADED), &result) {
		if err := HRESULT(result).Err(); err != nil {
			runtime.UnlockOSThread()
			return nil, err
		}
	}
	return func() {
		windows.CoUninitialize()
		runtime.UnlockOSThread()
	}, nil
}

// Create makes an object of a class.
func Create(class, iface GUID) (*Object, error) {
	var o *Object
	r, _, _ := createInstance.Call(
		uintptr(unsafe.Pointer(&class)), 0, everywhere, uintptr(unsafe.Pointer(&iface)), uintptr(unsafe.Pointer(&o)))
	return o.orError(HRESULT(r).Err())
}

// orError returns o, or an error if there is none. A method may return none without an error.
func (o *Object) orError(err error) (*Object, error) {
	switch {
	case err != nil:
		return nil, err
	case o == nil:
		return nil, BadPointer
	}
	return o, nil
}

// Call calls the method in a slot of the table. Pointers must be converted in the call itself: uintptr(unsafe.Pointer(&x)).
//
//go:uintptrescapes
func (o *Object) Call(slot int, args ...uintptr) error {
	r, _, _ := syscall.SyscallN(o.methods[slot], append([]uintptr{uintptr(unsafe.Pointer(o))}, args...)...)
	return HRESULT(r).Err()
}

// Object calls a method whose last argument receives an object.
//
//go:uintptrescapes
func (o *Object) Object(slot int, args ...uintptr) (*Object, error) {
	made := onHeap[*Object]()
	err := o.Call(slot, append(args, uintptr(unsafe.Pointer(made)))...)
	return (*made).orError(err)
}

// Text calls a method whose last argument receives a text, and frees that.
//
//go:uintptrescapes
func (o *Object) Text(slot int, args ...uintptr) (string, error) {
	text := onHeap[*uint16]()
	err := o.Call(slot, append(args, uintptr(unsafe.Pointer(text)))...)
	if *text == nil {
		return "", err
	}
	defer windows.CoTaskMemFree(unsafe.Pointer(*text))
	return windows.UTF16PtrToString(*text), err
}

// onHeap returns memory that does not move while a method calls back into Go, as the stack may.
//
//go:noinline
func onHeap[T any]() *T { return new(T) }

// Release releases the object. It is a no-op for nil.
func (o *Object) Release() {
	if o != nil {
		_ = o.Call(slotRelease)
	}
}
