package link

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The opcodes of the IPC transport (rule R73).
const (
	opHandshake = iota
	opFrame
	opClose
	opPing
	opPong
)

// maxFrame is the longest message of the IPC transport, in bytes (rule R47).
const maxFrame = 3 << 20

const frameHeader = 8 // bytes: opcode and length, each a little-endian int32

// encodeFrame returns header and body in one piece: they must leave in one write (rule R73).
func encodeFrame(op uint32, body []byte) []byte {
	b := make([]byte, frameHeader, frameHeader+len(body))
	binary.LittleEndian.PutUint32(b, op)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(body)))
	return append(b, body...)
}

// readFrame reads one frame. Memory grows with what arrives, not with what the header claims.
func readFrame(r *bufio.Reader) (op uint32, body []byte, err error) {
	var header [frameHeader]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrLost, err)
	}
	op, size := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
	if op > opPong {
		return 0, nil, fmt.Errorf("%w: opcode %d", ErrNotRPC, op)
	}
	if size > maxFrame {
		return 0, nil, fmt.Errorf("%w: a message of %d bytes, more than %d", ErrNotRPC, size, maxFrame)
	}
	body, err = io.ReadAll(io.LimitReader(r, int64(size)))
	if err == nil && len(body) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%w in the middle of a message: %w", ErrLost, err)
	}
	return op, body, nil
}
