// Package host is the machine that fakeserver runs on: what its reports say of it, and files that its users name.
package host

import (
	"os"
	"runtime"
	"strings"
)

// System is the operating system and the architecture, and on Linux the distribution.
func System() string {
	release, _ := os.ReadFile("/etc/os-release") // only there on Linux
	return system(string(release))
}

func system(release string) string {
	text := runtime.GOOS + "/" + runtime.GOARCH
	for line := range strings.Lines(release) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			text += ", " + strings.Trim(name, `"`)
		}
	}
	return text
}
