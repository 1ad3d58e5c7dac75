package system

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Version is the name and version of the system and its kernel: "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64".
func Version() string {
	var parts []string
	text, _ := os.ReadFile("/etc/os-release") // without it the kernel says what there is to say
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
