package broadcasttest

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// OtherRank is in which rank programs are told of the end of the session that say nothing of it. Higher ones are told before.
const OtherRank = 0x280

// Rank is that of this process.
func Rank(t *testing.T) (rank uint32) {
	t.Helper()
	var flags uint32
	ok, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessShutdownParameters").Call(
		uintptr(unsafe.Pointer(&rank)), uintptr(unsafe.Pointer(&flags)))
	require.NotZero(t, ok, "%v", err)
	return rank
}
