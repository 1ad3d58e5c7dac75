package icon

import "encoding/binary"

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
