package com

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A Class is a table of methods in Go, for objects that are handed to Windows. There is one for each interface that a program
// implements: the system's entries into Go that it is made of are never freed, and there are 2,000 of them.
type Class struct {
	iface   GUID
	methods []uintptr
}

// An Instance is an object of a Class, to which its methods get the pointer. It stays where it is, and is kept, until whoever
// it was handed to has released it, at any time and on any thread.
type Instance struct {
	methods *uintptr // what Windows knows of it
	class   *Class
	refs    atomic.Int32
	Value   any // what it is for
}

// instances keeps what Windows alone may still refer to. The garbage collector does not move what it keeps.
var instances sync.Map

// NewClass makes a class of an interface. Each method is a func of *Instance and further arguments of the size of a pointer, with
// a uintptr as its result; the table begins with those of IUnknown, which need not be given.
func NewClass(iface GUID, methods ...any) *Class {
	c := &Class{iface: iface, methods: []uintptr{queryInterface(), addRef(), release()}}
	for _, m := range methods {
		c.methods = append(c.methods, syscall.NewCallback(m))
	}
	return c
}

// New makes an object, with one reference, that of the caller.
func (c *Class) New(value any) *Instance {
	i := &Instance{methods: &c.methods[0], class: c, Value: value}
	i.refs.Store(1)
	instances.Store(i, struct{}{})
	return i
}

// Pointer is the object as an argument.
func (i *Instance) Pointer() uintptr { return uintptr(unsafe.Pointer(i)) }

// Release takes back the caller's reference.
func (i *Instance) Release() uintptr {
	left := i.refs.Add(-1)
	if left == 0 {
		instances.Delete(i)
	}
	return uintptr(left)
}

var (
	addRef = sync.OnceValue(func() uintptr {
		return syscall.NewCallback(func(i *Instance) uintptr { return uintptr(i.refs.Add(1)) })
	})
	release = sync.OnceValue(func() uintptr { return syscall.NewCallback((*Instance).Release) })
	// out is no pointer to a pointer: Go's garbage collector would look at what was there before, which may be anything.
	queryInterface = sync.OnceValue(func() uintptr {
		return syscall.NewCallback(func(i *Instance, iface *GUID, out *uintptr) uintptr {
			if *iface != Unknown && *iface != i.class.iface {
				*out = 0
				return uintptr(NoInterface)
			}
			i.refs.Add(1)
			*out = i.Pointer()
			return uintptr(OK)
		})
	})
)

// Held is how many instances there are that somebody has a reference to.
func Held() (n int) {
	instances.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
