package com

import (
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// A Class is a table of methods in Go, for objects that are handed to Windows. There is one for each interface that a program implements:
// callbacks are never freed, and a process may have 2,000 of them.
type Class struct {
	iface   GUID
	methods []uintptr
}

// An Instance is an object of a Class; the methods get a pointer to it. It stays in place and alive until its receiver has released it,
// at any time and on any thread.
type Instance struct {
	methods *uintptr // the table of methods, all that Windows uses
	class   *Class
	refs    atomic.Int32
	Value   any // for the methods
}

// instances keeps objects alive that only Windows may still refer to. The garbage collector does not move them.
var instances sync.Map

// NewClass makes a class of an interface. Each method is a func of *Instance and further pointer-sized arguments that returns a uintptr;
// the methods of IUnknown are added.
func NewClass(iface GUID, methods ...any) *Class {
	c := &Class{iface: iface, methods: []uintptr{queryInterface(), addRef(), release()}}
	for _, m := range methods {
		c.methods = append(c.methods, syscall.NewCallback(m))
	}
	return c
}

// New makes an object. The caller has its only reference.
func (c *Class) New(value any) *Instance {
	i := &Instance{methods: &c.methods[0], class: c, Value: value}
	i.refs.Store(1)
	instances.Store(i, struct{}{})
	return i
}

// Pointer returns the object as an argument.
func (i *Instance) Pointer() uintptr { return uintptr(unsafe.Pointer(i)) }

// Release gives up the caller's reference.
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
	// out is not a **Instance: the garbage collector would inspect the old value, which may be anything.
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

// Held returns how many instances have references.
func Held() (n int) {
	instances.Range(func(any, any) bool {
		n++
		return true
	})
	return n
}
