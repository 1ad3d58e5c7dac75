package rpcclient

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// frames is the server's end of a socket.
type frames struct {
	conn net.Conn
	r    *bufio.Reader
}

func newFrames(conn net.Conn) frames { return frames{conn, bufio.NewReader(conn)} }

func (f frames) next(t *testing.T) (op uint32, body string) {
	t.Helper()
	op, b, err := readFrame(f.r)
	require.NoError(t, err)
	return op, string(b)
}

func (f frames) send(t *testing.T, op uint32, body string) {
	t.Helper()
	_, err := f.conn.Write(encodeFrame(op, []byte(body)))
	require.NoError(t, err)
}

func TestFrameLayout(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte("\x01\x00\x00\x00\x02\x00\x00\x00{}"), encodeFrame(opFrame, []byte("{}")))
}

func TestBadFrames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		is   error
		says string
	}{
		"nothing":          {"", errLost, "EOF"},
		"half a header":    {"\x01\x00\x00", errLost, "EOF"},
		"half a body":      {"\x01\x00\x00\x00\x05\x00\x00\x00{}", errLost, "in the middle of a message"},
		"HTTP":             {"HTTP/1.1 400 Bad Request\r\n", errNotRPC, "opcode"},
		"unknown opcode":   {"\x05\x00\x00\x00\x00\x00\x00\x00", errNotRPC, "opcode 5"},
		"too long":         {"\x01\x00\x00\x00\x01\x00\x30\x00", errNotRPC, "3145729 bytes"},
		"negative length":  {"\x01\x00\x00\x00\xff\xff\xff\xff", errNotRPC, "bytes, more than"},
		"the longest, cut": {"\x01\x00\x00\x00\x00\x00\x30\x00{", errLost, "in the middle"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readFrame(bufio.NewReader(strings.NewReader(c.text)))
			require.ErrorIs(t, err, c.is)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x02\x00\x00\x00{}"))
	f.Add([]byte("\x04\x00\x00\x00\x00\x00\x00\x00rest"))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\x2f\x00{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			op, body, err := readFrame(r)
			if err != nil {
				require.True(t, errors.Is(err, errLost) || errors.Is(err, errNotRPC), err)
				return
			}
			again := encodeFrame(op, body)
			require.True(t, bytes.HasPrefix(b, again), "what was read is what stood there")
			b = b[len(again):]
		}
	})
}
