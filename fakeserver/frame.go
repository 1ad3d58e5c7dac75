package fakeserver

import (
	"encoding/binary"
	"errors"
	"io"
)

// An opcode says what an IPC frame is.
type opcode uint32

const (
	opHandshake opcode = iota
	opFrame
	opClose
	opPing
	opPong
)

// frameHeaderSize is the length of opcode and length, both little-endian.
const frameHeaderSize = 8

// errTooBig is returned for a frame of which only the header was read.
var errTooBig = errors.New("the frame is larger than the client takes")

// A frameHeader is the beginning of an IPC frame.
type frameHeader struct {
	op   opcode
	size uint32 // of the JSON that follows, in bytes
}

func readFrameHeader(r io.Reader) (frameHeader, error) {
	var b [frameHeaderSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return frameHeader{}, err
	}
	return frameHeader{opcode(binary.LittleEndian.Uint32(b[:])), binary.LittleEndian.Uint32(b[4:])}, nil
}

// readBody reads what follows a header. A negative length is one that is too large
// (rule R47).
func readBody(r io.Reader, h frameHeader) ([]byte, error) {
	if h.size > maxMessage {
		return nil, errTooBig
	}
	body := make([]byte, h.size)
	_, err := io.ReadFull(r, body)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// frame is header and body in one piece, for one write.
func frame(op opcode, body []byte) []byte {
	b := make([]byte, 0, frameHeaderSize+len(body))
	b = binary.LittleEndian.AppendUint32(b, uint32(op))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}
