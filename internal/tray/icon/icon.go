// Package icon holds the tray's icons, which show the agent's state by their shape and not only by a colour. All are drawn from icon.svg
// ('make icons').
package icon

import "encoding/binary"

// State is the state that an icon shows.
type State string

// The states.
const (
	Reporting State = "reporting" // a headset
	Muted     State = "muted"     // struck through
	NoClient  State = "noclient"  // with an empty circle
	Trouble   State = "trouble"   // with a warning sign
	Down      State = "down"      // its outline, with a cross
)

// Shade is the colour of an icon.
type Shade string

// The shades.
const (
	Light Shade = "light" // for dark panels
	Dark  Shade = "dark"  // for light panels
)

// File returns the icon in the format of this system's tray.
func File(s State, shade Shade) []byte {
	data, err := files.ReadFile("files/" + string(s) + "-" + string(shade) + ending)
	if err != nil {
		panic(err) // the build is broken, which every test shows
	}
	return data
}

// Picture returns the picture in an ICO file that looks best at that many pixels: the smallest that is no smaller, else the largest.
func Picture(file []byte, pixels int) []byte {
	const header, entry = 6, 16
	var best []byte
	var bestSide int
	for i := range int(binary.LittleEndian.Uint16(file[4:])) {
		e := file[header+i*entry:]
		side := int(e[0])
		if side == 0 {
			side = 256
		}
		if better := side >= pixels && (bestSide < pixels || side < bestSide); better || bestSide < pixels && side > bestSide {
			size, offset := binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
			best, bestSide = file[offset:offset+size], side
		}
	}
	return best
}
