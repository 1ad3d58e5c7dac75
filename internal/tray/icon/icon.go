// Package icon holds the tray's icons. They tell by their shape how the agent is, and not only by a colour. All are drawn from
// icon.svg ('make icons').
package icon

import (
	"embed"
	"encoding/binary"
)

// State is what an icon shows.
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

// File is the icon in the format that this system's tray reads.
func File(s State, shade Shade) []byte { return read(files, name(s, shade)) }

func read(files embed.FS, name string) []byte {
	data, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err) // a mistake of the build, which no test survives
	}
	return data
}

// Picture is the one in an ICO file that looks best at that many pixels: the smallest that is no smaller, else the largest.
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
