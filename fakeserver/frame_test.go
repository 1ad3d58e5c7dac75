package fakeserver

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrame(t *testing.T) {
	require.Equal(t, "\x01\x00\x00\x00\x02\x00\x00\x00{}", string(frame(opFrame, []byte("{}"))))
	h, err := readFrameHeader(strings.NewReader("\x03\x00\x00\x00\x00\x01\x00\x00"))
	require.NoError(t, err)
	require.Equal(t, frameHeader{opPing, 256}, h)

	_, err = readFrameHeader(strings.NewReader(""))
	require.ErrorIs(t, err, io.EOF)
	_, err = readFrameHeader(strings.NewReader("\x00\x00\x00"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = readBody(strings.NewReader(""), frameHeader{opFrame, 1})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = readBody(strings.NewReader(""), frameHeader{opFrame, maxMessage + 1})
	require.ErrorIs(t, err, errTooBig)
	_, err = readBody(strings.NewReader(""), frameHeader{opFrame, 0xffff_ffff})
	require.ErrorIs(t, err, errTooBig, "a negative length")
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(frame(opHandshake, []byte(`{"v":1}`)))
	f.Add(append(frame(opPing, nil), frame(opFrame, []byte(`{}`))...))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xffx"))
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00x"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		var again []byte
		for {
			h, err := readFrameHeader(r)
			if err != nil {
				break
			}
			body, err := readBody(r, h)
			if err != nil {
				break
			}
			require.Len(t, body, int(h.size))
			again = append(again, frame(h.op, body)...)
		}
		require.True(t, bytes.HasPrefix(stream, again), "whole frames are read as they were written")
	})
}
