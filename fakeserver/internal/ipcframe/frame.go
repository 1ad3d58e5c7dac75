// Package ipcframe reads and writes the frames of the client's IPC protocol.
package ipcframe

import (
	"encoding/binary"
	"errors"
	"io"
)

// The opcodes.
const (
	Handshake uint32 = iota
	Frame            // a message
	Close
	Ping
	Pong
)

// HeaderSize is the length of opcode and size, both little-endian.
const HeaderSize = 8

// ErrTooBig is returned for a frame of which only the header was read.
var ErrTooBig = errors.New("the frame is too large")

// A Header is the beginning of a frame.
type Header struct {
	Op   uint32
	Size uint32 // of the JSON that follows, in bytes
}

// ReadHeader reads a header; the error is io.EOF if nothing comes.
func ReadHeader(r io.Reader) (Header, error) {
	var b [HeaderSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Header{}, err
	}
	return Header{binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:])}, nil
}

// ReadBody reads what follows a header. Size is unsigned, so a negative one is too
// large (rule R47).
func ReadBody(r io.Reader, h Header, limit uint32) ([]byte, error) {
	if h.Size > limit {
		return nil, ErrTooBig
	}
	body := make([]byte, h.Size)
	_, err := io.ReadFull(r, body)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

// Encode returns header and body in one piece, for one write.
func Encode(op uint32, body []byte) []byte {
	b := make([]byte, 0, HeaderSize+len(body))
	b = binary.LittleEndian.AppendUint32(b, op)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}
