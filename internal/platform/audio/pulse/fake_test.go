package pulse

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// fake is the server's end of a connection, played by the test.
type fake struct {
	t  *testing.T
	nc net.Conn
}

// next reads one message.
func (f fake) next() (command, tag uint32, args []byte) {
	f.t.Helper()
	h := make([]byte, headerSize)
	_, err := io.ReadFull(f.nc, h)
	require.NoError(f.t, err)
	body := make([]byte, binary.BigEndian.Uint32(h))
	_, err = io.ReadFull(f.nc, body)
	require.NoError(f.t, err)
	d := decoder{b: body}
	command, tag = d.u32(), d.u32()
	require.NoError(f.t, d.err)
	return command, tag, body[d.off:]
}

func (f fake) expect(command uint32) (tag uint32) {
	f.t.Helper()
	got, tag, _ := f.next()
	require.Equal(f.t, command, got)
	return tag
}

func (f fake) write(b []byte) {
	f.t.Helper()
	_, err := f.nc.Write(b)
	require.NoError(f.t, err)
}

func (f fake) reply(tag uint32, args func(*encoder)) { f.write(msg(cmdReply, tag, args)) }

func (f fake) handshake(version uint32) {
	f.t.Helper()
	f.reply(f.expect(cmdAuth), func(e *encoder) { e.u32(version) })
	f.reply(f.expect(cmdSetClientName), func(e *encoder) { e.u32(7) })
}

func msg(command, tag uint32, args func(*encoder)) []byte {
	var e encoder
	e.message(command, tag, args)
	return e.b
}

func event(f Facility, t EventType, index uint32) []byte {
	return msg(cmdEvent, 0xFFFFFFFF, func(e *encoder) {
		e.u32(uint32(f) | uint32(t))
		e.u32(index)
	})
}

// connect returns both ends of a connection that is ready for requests.
func connect(t *testing.T, o Options) (*Conn, fake) {
	t.Helper()
	ours, theirs := net.Pipe()
	f := fake{t, theirs}
	type result struct {
		c   *Conn
		err error
	}
	opened := make(chan result, 1)
	go func() {
		c, err := open(context.Background(), ours, "fake", o, ourVersion)
		opened <- result{c, err}
	}()
	f.handshake(ourVersion)
	r := <-opened
	require.NoError(t, r.err)
	t.Cleanup(func() {
		_ = r.c.Close()
		_ = theirs.Close()
	})
	return r.c, f
}

// The parts of the wire format that only a server writes.

func (e *encoder) u8(v byte) { e.b = append(e.b, tagU8, v) }

func (e *encoder) raw(tag byte, p ...byte) { e.b = append(append(e.b, tag), p...) }

func (e *encoder) sampleSpec() { e.raw(tagSampleSpec, 3, 2, 0, 0, 0xBB, 0x80) }

func (e *encoder) channelMap() { e.raw(tagChannelMap, 2, 1, 2) }

func (e *encoder) cvolume() { e.raw(tagCVolume, 2, 0, 1, 0, 0, 0, 1, 0, 0) }

func (e *encoder) usec() { e.raw(tagUsec, make([]byte, 8)...) }
