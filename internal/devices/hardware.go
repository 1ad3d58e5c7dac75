package devices

// Hardware is a device that is plugged in, whatever endpoints it has at the moment: a sound card without a profile, one whose endpoints a
// session manager makes anew, a HID device. It proves that its unit has not left.
type Hardware struct {
	Source string `json:"source,omitempty"` // name of the source that listed it
	// ID is the OS's own id of it, among those of its source. It is the same for as long as the device surely stays; one that was plugged
	// in anew should have another where the OS can tell, even if nobody looked in between.
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	// The identity, in the form of an Endpoint and equal to that of the device's endpoints.
	Bus       Bus    `json:"bus,omitempty"`
	VID       string `json:"vid,omitempty"`
	PID       string `json:"pid,omitempty"`
	Serial    string `json:"serial,omitempty"`
	Container string `json:"container,omitempty"`
}
