// Package broadcasttest sends messages to the window of package broadcast from another process, as Windows does.
package broadcasttest

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
)

// helperEnv tells the helper process of Send what to send, and to whom.
const helperEnv = "SIDETONE_BROADCASTTEST"

var (
	user32      = windows.NewLazySystemDLL("user32.dll")
	findWindow  = user32.NewProc("FindWindowW")
	sendMessage = user32.NewProc("SendMessageW")
)

func init() {
	if job := os.Getenv(helperEnv); job != "" {
		fmt.Println(send(job))
		os.Exit(0)
	}
}

func send(job string) (answer uintptr, took time.Duration, err error) {
	var process string
	var id, param, data uintptr
	if _, err := fmt.Sscan(job, &process, &id, &param, &data); err != nil {
		return 0, 0, err
	}
	class, err := windows.UTF16PtrFromString(broadcast.Class)
	if err != nil {
		return 0, 0, err
	}
	title, err := windows.UTF16PtrFromString(process)
	if err != nil {
		return 0, 0, err
	}
	window, _, err := findWindow.Call(uintptr(unsafe.Pointer(class)), uintptr(unsafe.Pointer(title)))
	if window == 0 {
		return 0, 0, fmt.Errorf("no window of process %s: %w", process, err)
	}
	began := time.Now()
	answer, _, _ = sendMessage.Call(window, id, param, data)
	return answer, time.Since(began), nil
}

// Send sends a message to the window of the process, and returns the answer and how long it took. It starts the calling program again to
// do that.
func Send(t *testing.T, pid int, id uint32, param, data uintptr) (answer uintptr, took time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %d %d", helperEnv, pid, id, param, data))
	out, err := cmd.Output()
	require.NoError(t, err)
	said := strings.Fields(string(out))
	require.Len(t, said, 3, "%s", out)
	require.Equal(t, "<nil>", said[2], "%s", out)
	number, err := strconv.ParseUint(said[0], 10, 64)
	require.NoError(t, err)
	took, err = time.ParseDuration(said[1])
	require.NoError(t, err)
	return uintptr(number), took
}

// OtherRank is the default rank in the order of shutdown. Higher ranks are told first.
const OtherRank = 0x280

// Rank returns this process's rank.
func Rank(t *testing.T) (rank uint32) {
	t.Helper()
	var flags uint32
	require.NoError(t, windows.GetProcessShutdownParameters(&rank, &flags))
	return rank
}
