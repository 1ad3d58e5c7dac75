package ipcframe

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const maxMessage = 3 << 20

func TestFrame(t *testing.T) {
	require.Equal(t, "\x01\x00\x00\x00\x02\x00\x00\x00{}", string(Encode(Frame, []byte("{}"))))
	h, err := ReadHeader(strings.NewReader("\x03\x00\x00\x00\x00\x01\x00\x00"))
	require.NoError(t, err)
	require.Equal(t, Header{Ping, 256}, h)

	_, err = ReadHeader(strings.NewReader(""))
	require.ErrorIs(t, err, io.EOF)
	_, err = ReadHeader(strings.NewReader("\x00\x00\x00"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = ReadBody(strings.NewReader(""), Header{Frame, 1}, maxMessage)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = ReadBody(strings.NewReader(""), Header{Frame, maxMessage + 1}, maxMessage)
	require.ErrorIs(t, err, ErrTooBig)
	_, err = ReadBody(strings.NewReader(""), Header{Frame, 0xffff_ffff}, maxMessage)
	require.ErrorIs(t, err, ErrTooBig, "a negative length")
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte{})
	f.Add(Encode(Handshake, []byte(`{"v":1}`)))
	f.Add(append(Encode(Ping, nil), Encode(Frame, []byte(`{}`))...))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xffx"))
	f.Add([]byte("\x01\x00\x00\x00\x05\x00\x00\x00x"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := bytes.NewReader(stream)
		var again []byte
		for {
			h, err := ReadHeader(r)
			if err != nil {
				break
			}
			body, err := ReadBody(r, h, maxMessage)
			if err != nil {
				break
			}
			require.Len(t, body, int(h.Size))
			again = append(again, Encode(h.Op, body)...)
		}
		require.True(t, bytes.HasPrefix(stream, again), "whole frames are read as they were written")
	})
}
