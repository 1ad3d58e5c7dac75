package acl

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// LogonOf is the number of a token's log-on, which is never used again before the machine is restarted.
func LogonOf(token windows.Token) (uint64, error) {
	var statistics struct{ TokenID, AuthenticationID windows.LUID } // TOKEN_STATISTICS begins so
	var all [64]byte
	var n uint32
	if err := windows.GetTokenInformation(token, windows.TokenStatistics, &all[0], uint32(len(all)), &n); err != nil {
		return 0, fmt.Errorf("the log-on of a session: %w", err)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&statistics)), unsafe.Sizeof(statistics)), all[:])
	id := statistics.AuthenticationID
	return uint64(id.HighPart)<<32 | uint64(id.LowPart), nil
}
