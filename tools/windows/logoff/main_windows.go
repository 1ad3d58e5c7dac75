// Command logoff tells a process that the session ends, as Windows does at log-off, and prints whether it has ended when it has
// answered.
package main

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/broadcast"
)

func main() {
	if err := logOff(os.Args[1]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func logOff(process string) error {
	pid, err := strconv.ParseUint(process, 10, 32)
	if err != nil {
		return err
	}
	handle, err := windows.OpenProcess(windows.SYNCHRONIZE|windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(handle)
	window, err := windowOf(process)
	if err != nil {
		return err
	}
	const ends, logOff = 1, 0x80000000
	fmt.Println("may the session end:", send(window, broadcast.QueryEndSession, 0, logOff))
	send(window, broadcast.EndSession, ends, logOff)
	event, err := windows.WaitForSingleObject(handle, 0)
	if err != nil {
		return err
	}
	if event != windows.WAIT_OBJECT_0 {
		fmt.Println("it goes on")
		return nil
	}
	var code uint32
	err = windows.GetExitCodeProcess(handle, &code)
	fmt.Println("it has ended with", code)
	return err
}

var (
	user32      = windows.NewLazySystemDLL("user32.dll")
	findWindow  = user32.NewProc("FindWindowW")
	sendMessage = user32.NewProc("SendMessageTimeoutW")
)

// windowOf returns the window in which a process receives broadcast messages.
func windowOf(process string) (window uintptr, err error) {
	class, _ := windows.UTF16PtrFromString(broadcast.Class) // a constant without zeros
	title, err := windows.UTF16PtrFromString(process)
	if err != nil {
		return 0, err
	}
	if window, _, err = findWindow.Call(uintptr(unsafe.Pointer(class)), uintptr(unsafe.Pointer(title))); window == 0 {
		return 0, fmt.Errorf("no window of process %s: %w", process, err)
	}
	return window, nil
}

// send waits for the answer as long as Windows does. It returns 0 if there is none.
func send(window uintptr, message uint32, param, data uintptr) (answer uintptr) {
	const normal, patience = 0, 5000
	_, _, _ = sendMessage.Call(window, uintptr(message), param, data, normal, patience, uintptr(unsafe.Pointer(&answer)))
	return answer
}
