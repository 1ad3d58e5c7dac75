package devices

// OS is a GOOS value.
type OS string

// The supported systems.
const (
	Windows OS = "windows"
	Darwin  OS = "darwin"
	Linux   OS = "linux"
)

// Enum lists the names that a file may use.
func (OS) Enum() []string { return Names([]OS{Windows, Darwin, Linux}) }
