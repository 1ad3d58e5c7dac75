package ipctest

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/wine"
)

// Stranger is the SID of a fictional user.
const Stranger = "S-1-5-21-0-0-0-1001"

// StrangersToken returns a token of that user. Only Wine lets anybody make one.
func StrangersToken(t *testing.T) windows.Token {
	t.Helper()
	if !wine.Is() {
		t.Skip("Windows makes a token of another user for nobody but itself")
	}
	sid := func(s string) *windows.SID {
		id, err := windows.StringToSid(s)
		require.NoError(t, err)
		return id
	}
	const on = windows.SE_GROUP_MANDATORY | windows.SE_GROUP_ENABLED_BY_DEFAULT | windows.SE_GROUP_ENABLED
	user, users := sid(Stranger), sid("S-1-5-21-0-0-0-513")
	groups := struct {
		count uint32
		list  [4]windows.SIDAndAttributes
	}{4, [4]windows.SIDAndAttributes{
		{Sid: users, Attributes: on},
		{Sid: sid("S-1-1-0"), Attributes: on},
		{Sid: sid("S-1-5-4"), Attributes: on},
		{Sid: sid("S-1-16-8192"), Attributes: windows.SE_GROUP_INTEGRITY | windows.SE_GROUP_INTEGRITY_ENABLED},
	}}
	var (
		token      windows.Token
		quality    = windows.SECURITY_QUALITY_OF_SERVICE{Length: 12, ImpersonationLevel: windows.SecurityImpersonation}
		attributes = windows.OBJECT_ATTRIBUTES{Length: uint32(unsafe.Sizeof(windows.OBJECT_ATTRIBUTES{})), SecurityQoS: &quality}
		system     = windows.LUID{LowPart: 0x3e7}
		never      = int64(1<<63 - 1)
		who        = windows.Tokenuser{User: windows.SIDAndAttributes{Sid: user}}
		privileges windows.Tokenprivileges
		dacl       uintptr
		source     struct {
			name [8]byte
			id   windows.LUID
		}
	)
	status, _, _ := windows.NewLazySystemDLL("ntdll.dll").NewProc("NtCreateToken").Call(
		uintptr(unsafe.Pointer(&token)), windows.TOKEN_ALL_ACCESS, uintptr(unsafe.Pointer(&attributes)), windows.TokenPrimary,
		uintptr(unsafe.Pointer(&system)), uintptr(unsafe.Pointer(&never)), uintptr(unsafe.Pointer(&who)), uintptr(unsafe.Pointer(&groups)),
		uintptr(unsafe.Pointer(&privileges)), uintptr(unsafe.Pointer(&user)), uintptr(unsafe.Pointer(&users)), uintptr(unsafe.Pointer(&dacl)),
		uintptr(unsafe.Pointer(&source)))
	require.Zero(t, status, windows.NTStatus(status))
	t.Cleanup(func() { token.Close() })
	return token
}
