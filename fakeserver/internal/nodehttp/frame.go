package nodehttp

import (
	"encoding/binary"
	"math"
)

// The states after an upgrade pass frames of a WebSocket on.

const (
	opClose    = 0x8
	maskedSize = 0x80 // the size of a frame that is masked and empty
	maskSize   = 4    // bytes
)

func beginFrame(p *Parser, b byte) state {
	p.frame = append(p.frame[:0], b)
	return frameSize
}

// frameSize reads the first byte of the size.
func frameSize(p *Parser, b byte) state {
	p.frame = append(p.frame, b)
	switch b & 0x7f {
	case 126:
		return frameHead(len(p.frame) + 2)
	case 127:
		return frameHead(len(p.frame) + 8)
	}
	if p.frame[0]&0xf == opClose && b == maskedSize+1 {
		return closeOfOneByte
	}
	return p.passFrame(uint64(b & 0x7f))
}

// frameHead reads the head of a frame with a long size, which has so many bytes.
func frameHead(size int) state {
	return func(p *Parser, b byte) state {
		p.frame = append(p.frame, b)
		switch {
		case len(p.frame) < size:
			return frameHead(size)
		case size == 4:
			return p.passFrame(uint64(binary.BigEndian.Uint16(p.frame[2:])))
		}
		return p.passFrame(binary.BigEndian.Uint64(p.frame[2:]))
	}
}

func (p *Parser) passFrame(size uint64) state {
	p.out = append(p.out, p.frame...)
	if p.frame[1]&maskedSize != 0 {
		size = min(size, math.MaxUint64-maskSize) + maskSize
	}
	p.left = size
	return beginFrame
}

// closeOfOneByte reads the mask and the content of a close that has half a code, which is an error of the protocol. It is passed on
// with a code that everybody takes for one.
func closeOfOneByte(p *Parser, b byte) state {
	p.frame = append(p.frame, b)
	if len(p.frame) < 2+maskSize+1 {
		return closeOfOneByte
	}
	mask := p.frame[2 : 2+maskSize]
	p.out = append(p.out, p.frame[0], maskedSize+2)
	p.out = append(append(p.out, mask...), mask[:2]...) // unmasked: code 0
	return beginFrame
}
