package screen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
)

// Fields of the header of an X window dump, each a big-endian uint32, as XWDFile.h of X11 numbers them.
const (
	xwdHeaderSize   = 0
	xwdWidth        = 4
	xwdHeight       = 5
	xwdBitsPerPixel = 11
	xwdBytesPerLine = 12
	xwdColors       = 19
	xwdFields       = 25

	xwdColorSize = 12 // in bytes, of an entry of the colour table, which follows the header
)

// decodeXWD returns the picture in an X window dump (XWD, the format of Xvfb -fbdir) with 32 bits for each pixel: blue, green, red and a
// byte without a meaning. It looks at each pixel, for which the race detector is too slow.
//
//go:norace
func decodeXWD(dump []byte) (*image.RGBA, error) {
	if len(dump) < xwdFields*4 {
		return nil, errors.New("the picture of the screen is cut off")
	}
	field := func(i int) int { return int(binary.BigEndian.Uint32(dump[i*4:])) }
	start := field(xwdHeaderSize) + field(xwdColors)*xwdColorSize
	width, height, bits, stride := field(xwdWidth), field(xwdHeight), field(xwdBitsPerPixel), field(xwdBytesPerLine)
	if bits != 32 || stride < width*4 || len(dump) < start+height*stride {
		return nil, fmt.Errorf("the picture of the screen has %d bits for a pixel, %d×%d pixels and %d bytes", bits, width, height, len(dump))
	}
	p := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		row := dump[start+y*stride:]
		for x, to := 0, p.Pix[y*p.Stride:]; x < width*4; x += 4 {
			to[x], to[x+1], to[x+2], to[x+3] = row[x+2], row[x+1], row[x], 0xff
		}
	}
	return p, nil
}
