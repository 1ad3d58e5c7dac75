package broadcast

import "golang.org/x/sys/windows"

var shutdownOrder = windows.NewLazySystemDLL("kernel32.dll").NewProc("SetProcessShutdownParameters")

// The ranks in which programs are told of the end of the session, the highest first. Others have 0x280. Each that agrees is ended before
// the next rank is asked, and the user may call the end off at any.
const (
	endFirst = 0x3ff
	endLast  = 0x100
)

// EndFirst has Windows tell this process of the end of the session before others.
func EndFirst() { setOrder(endFirst) }

// EndLast has Windows tell this process of it after others: it is still there where one of those has the user call it off.
func EndLast() { setOrder(endLast) }

func setOrder(rank uintptr) { _, _, _ = shutdownOrder.Call(rank, 0) }
