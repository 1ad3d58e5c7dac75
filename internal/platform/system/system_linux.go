package system

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Version returns the name and version of the system and its kernel: "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64".
func Version() string {
	var parts []string
	text, _ := os.ReadFile("/etc/os-release") // without it, the kernel's version must do
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			parts = append(parts, strings.Trim(strings.TrimSpace(name), `"'`))
		}
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		parts = append(parts, unix.ByteSliceToString(u.Sysname[:])+" "+unix.ByteSliceToString(u.Release[:]))
	}
	return strings.Join(parts, ", ")
}

// ResidentMemory returns how much of this process is in memory, in bytes.
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

// OpenFiles returns how many file descriptors this process has open.
func OpenFiles() (int, error) {
	list, err := os.ReadDir("/proc/self/fd")
	return max(0, len(list)-1), err // without the one that reads the list
}
