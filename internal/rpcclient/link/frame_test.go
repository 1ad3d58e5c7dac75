package link

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		"nothing":          {"", ErrLost, "EOF"},
		"half a header":    {"\x01\x00\x00", ErrLost, "EOF"},
		"half a body":      {"\x01\x00\x00\x00\x05\x00\x00\x00{}", ErrLost, "in the middle of a message"},
		"HTTP":             {"HTTP/1.1 400 Bad Request\r\n", ErrNotRPC, "opcode"},
		"unknown opcode":   {"\x05\x00\x00\x00\x00\x00\x00\x00", ErrNotRPC, "opcode 5"},
		"too long":         {"\x01\x00\x00\x00\x01\x00\x30\x00", ErrNotRPC, "3145729 bytes"},
		"negative length":  {"\x01\x00\x00\x00\xff\xff\xff\xff", ErrNotRPC, "bytes, more than"},
		"the longest, cut": {"\x01\x00\x00\x00\x00\x00\x30\x00{", ErrLost, "in the middle"},
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
				require.True(t, errors.Is(err, ErrLost) || errors.Is(err, ErrNotRPC), err)
				return
			}
			again := encodeFrame(op, body)
			require.True(t, bytes.HasPrefix(b, again), "what was read is what stood there")
			b = b[len(again):]
		}
	})
}
