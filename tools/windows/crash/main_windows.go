// Command crash ends a process as a fault in foreign code would: silently, with the exit code of an access violation.
package main

import (
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

func main() {
	pid, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		os.Exit(2)
	}
	process, err := windows.OpenProcess(windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil || windows.TerminateProcess(process, uint32(windows.STATUS_ACCESS_VIOLATION)) != nil {
		os.Exit(1)
	}
}
