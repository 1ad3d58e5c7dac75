package system

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// Version is the name and version of the system: "Windows 10.0.19045".
func Version() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
