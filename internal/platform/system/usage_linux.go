package system

import (
	"fmt"
	"os"
)

// ResidentMemory is how much of this process is in memory, in bytes.
func ResidentMemory() (bytes uint64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, resident uint64
	if _, err = fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0, fmt.Errorf("read /proc/self/statm: %w", err)
	}
	return resident * uint64(os.Getpagesize()), nil
}

// OpenFiles is how many file descriptors this process has open.
func OpenFiles() (int, error) {
	list, err := os.ReadDir("/proc/self/fd")
	return max(0, len(list)-1), err // without the one that reads the list
}
