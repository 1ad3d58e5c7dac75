// Package com calls and implements objects of Windows' Component Object Model: GUIDs, results, calls through a table of methods, and
// objects with Go functions as methods.
//
// It is a few hundred lines and needs no library. Of the two that exist, go-ole v1.3.0 is made for automation by names, and go-wca v0.3.0
// lacks what the agent needs most: the topology behind an endpoint, callbacks of volumes, effects, and a check of a property's type
// before its value is used as a pointer.
package com

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
)

// A GUID identifies a class or an interface, as laid out in memory.
type GUID struct {
	Data1 uint32
	Data2 uint16
	Data3 uint16
	Data4 [8]byte
}

// MustGUID parses a GUID such as 4460B3AE-4B44-4527-8676-7548A8ACD260. It is for constants, and panics if the text is invalid.
func MustGUID(text string) (g GUID) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(raw) != 16 {
		panic("com: no GUID: " + text)
	}
	g.Data1, g.Data2, g.Data3 = binary.BigEndian.Uint32(raw), binary.BigEndian.Uint16(raw[4:]), binary.BigEndian.Uint16(raw[6:])
	copy(g.Data4[:], raw[8:])
	return g
}

// String returns the GUID in braces, as Windows writes it.
func (g GUID) String() string {
	return fmt.Sprintf("{%08X-%04X-%04X-%X-%X}", g.Data1, g.Data2, g.Data3, g.Data4[:2], g.Data4[2:])
}

// An HRESULT is the result of a call. A failure is an error.
type HRESULT uint32

// Results that are told apart.
const (
	OK                    HRESULT = 0
	NotImplemented        HRESULT = 0x80004001 // E_NOTIMPL
	NoInterface           HRESULT = 0x80004002 // E_NOINTERFACE
	BadPointer            HRESULT = 0x80004003 // E_POINTER
	Failure               HRESULT = 0x80004005 // E_FAIL
	Disconnected          HRESULT = 0x80010108 // RPC_E_DISCONNECTED
	ServerDied            HRESULT = 0x80010007 // RPC_E_SERVER_DIED
	ServerDiedBeforeCall  HRESULT = 0x80010012 // RPC_E_SERVER_DIED_DNE
	NotConnected          HRESULT = 0x800401FD // CO_E_OBJNOTCONNECTED
	ClassNotRegistered    HRESULT = 0x80040154 // REGDB_E_CLASSNOTREG
	AccessDenied          HRESULT = 0x80070005 // E_ACCESSDENIED
	ServiceDisabled       HRESULT = 0x80070422 // ERROR_SERVICE_DISABLED
	ServiceNotActive      HRESULT = 0x80070426 // ERROR_SERVICE_NOT_ACTIVE
	NotFound              HRESULT = 0x80070490 // ERROR_NOT_FOUND
	ServerUnavailable     HRESULT = 0x800706BA // RPC_S_SERVER_UNAVAILABLE
	CallFailed            HRESULT = 0x800706BE // RPC_S_CALL_FAILED
	CallFailedBeforeStart HRESULT = 0x800706BF // RPC_S_CALL_FAILED_DNE
	DeviceInvalidated     HRESULT = 0x88890004 // AUDCLNT_E_DEVICE_INVALIDATED
	AudioNotRunning       HRESULT = 0x88890010 // AUDCLNT_E_SERVICE_NOT_RUNNING
)

var names = map[HRESULT]string{
	NotImplemented:        "not implemented",
	NoInterface:           "no such interface",
	BadPointer:            "invalid pointer",
	Failure:               "failure",
	Disconnected:          "the object has lost its server",
	ServerDied:            "the server has died",
	ServerDiedBeforeCall:  "the server has died",
	NotConnected:          "the object has lost its server",
	ClassNotRegistered:    "the class is not registered",
	AccessDenied:          "access denied",
	ServiceDisabled:       "the service is disabled",
	ServiceNotActive:      "the service does not run",
	NotFound:              "not found",
	ServerUnavailable:     "the server is not there",
	CallFailed:            "the call has failed",
	CallFailedBeforeStart: "the call has failed",
	DeviceInvalidated:     "the device is gone",
	AudioNotRunning:       "the audio service does not run",
}

// Error returns the meaning of the result, if known, and its number.
func (h HRESULT) Error() string {
	if name, ok := names[h]; ok {
		return fmt.Sprintf("%s (0x%08X)", name, uint32(h))
	}
	return fmt.Sprintf("error 0x%08X", uint32(h))
}

// Err returns h if it is a failure, else nil.
func (h HRESULT) Err() error {
	if int32(h) < 0 {
		return h
	}
	return nil
}
