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

// headSize is the length of opcode and length, both little-endian.
const headSize = 8

// errTooBig is returned for a frame of which only the head was read.
var errTooBig = errors.New("the frame is larger than the client takes")

// A head is the beginning of an IPC frame.
type head struct {
	op   opcode
	size uint32 // of the JSON that follows, in bytes
}

func readHead(r io.Reader) (head, error) {
	var b [headSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return head{}, err
	}
	return head{opcode(binary.LittleEndian.Uint32(b[:])), binary.LittleEndian.Uint32(b[4:])}, nil
}

// readBody reads what follows a head. A negative length is one that is too
// large (rule R47).
func readBody(r io.Reader, h head) ([]byte, error) {
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

// frame is head and body in one piece, for one write.
func frame(op opcode, body []byte) []byte {
	b := make([]byte, 0, headSize+len(body))
	b = binary.LittleEndian.AppendUint32(b, uint32(op))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	return append(b, body...)
}
