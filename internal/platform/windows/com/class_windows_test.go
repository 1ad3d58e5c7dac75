package com

import (
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// Where a caller wants an object there may be anything before, as on a stack, even what looks like memory of Go's.
func TestWhatWasThereBeforeAnObjectMeansNothing(t *testing.T) {
	place, err := windows.LocalAlloc(0, 8)
	require.NoError(t, err)
	defer windows.LocalFree(windows.Handle(place))
	out := *(**uintptr)(unsafe.Pointer(&place))
	stale := unallocated()
	object := NewClass(Unknown).New(nil)
	defer object.Release()
	ended := make(chan struct{})
	var collecting sync.WaitGroup
	collecting.Go(func() {
		defer close(ended)
		for range 50 {
			runtime.GC()
		}
	})
	other := MustGUID("11223344-5566-7788-99AA-BBCCDDEEFF00")
	for {
		*out = stale
		r, _, _ := syscall.SyscallN(queryInterface(), object.Pointer(), uintptr(unsafe.Pointer(&Unknown)), place)
		require.Zero(t, r)
		require.Equal(t, object.Pointer(), *out)
		require.EqualValues(t, 1, object.Release(), "it was counted")
		*out = stale
		r, _, _ = syscall.SyscallN(queryInterface(), object.Pointer(), uintptr(unsafe.Pointer(&other)), place)
		require.Equal(t, NoInterface, HRESULT(r))
		require.Zero(t, *out)
		select {
		case <-ended:
			collecting.Wait()
			return
		default:
		}
	}
}

// unallocated is the address of memory that Go had, and has given back.
func unallocated() uintptr {
	b := make([]byte, 8<<20)
	address := uintptr(unsafe.Pointer(&b[0]))
	runtime.KeepAlive(b)
	debug.FreeOSMemory()
	return address + 4<<20
}
