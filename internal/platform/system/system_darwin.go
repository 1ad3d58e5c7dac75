package system

import "golang.org/x/sys/unix"

// Version returns the name and version of the system: "macOS 14.5".
func Version() string {
	version, err := unix.Sysctl("kern.osproductversion")
	if err != nil {
		return "macOS"
	}
	return "macOS " + version
}
