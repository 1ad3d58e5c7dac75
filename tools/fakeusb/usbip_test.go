package fakeusb

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A host is the kernel's end of a connection. It writes and reads bytes at the offsets of the protocol's documentation, not
// with the structs of the code under test.
type host struct {
	t    *testing.T
	conn net.Conn
	done chan error
}

func serve(t *testing.T, device Device) *host {
	t.Helper()
	ours, theirs := net.Pipe()
	h := &host{t: t, conn: ours, done: make(chan error, 1)}
	require.NoError(t, ours.SetDeadline(time.Now().Add(time.Minute)))
	go func() {
		h.done <- Serve(theirs, device)
		theirs.Close()
	}()
	t.Cleanup(func() { ours.Close() })
	return h
}

// unplug closes the connection and returns what Serve said.
func (h *host) unplug() error {
	h.conn.Close()
	return <-h.done
}

type urb struct {
	sequence, endpoint uint32
	in                 bool
	length             int32
	packets            int32
	setup              [8]byte
	data               []byte
}

func (h *host) submit(u urb) {
	h.t.Helper()
	m := make([]byte, 48)
	be := binary.BigEndian
	be.PutUint32(m[0:], 1)
	be.PutUint32(m[4:], u.sequence)
	if u.in {
		be.PutUint32(m[12:], 1)
	}
	be.PutUint32(m[16:], u.endpoint)
	be.PutUint32(m[24:], uint32(u.length))
	be.PutUint32(m[28:], 77) // start frame
	be.PutUint32(m[32:], uint32(u.packets))
	copy(m[40:], u.setup[:])
	m = append(m, u.data...)
	for i := range u.packets {
		room := u.length / u.packets
		for _, field := range []int32{i * room, room, 0, 0} {
			m = be.AppendUint32(m, uint32(field))
		}
	}
	h.send(m)
}

func (h *host) unlink(sequence, target uint32) {
	h.t.Helper()
	m := make([]byte, 48)
	binary.BigEndian.PutUint32(m[0:], 2)
	binary.BigEndian.PutUint32(m[4:], sequence)
	binary.BigEndian.PutUint32(m[20:], target)
	h.send(m)
}

func (h *host) send(m []byte) {
	h.t.Helper()
	_, err := h.conn.Write(m)
	require.NoError(h.t, err)
}

type reply struct {
	command, sequence uint32
	status, length    int32
	startFrame        uint32
	packets           int32
}

func (h *host) header() reply {
	h.t.Helper()
	m := h.read(48)
	be := binary.BigEndian
	return reply{
		command: be.Uint32(m[0:]), sequence: be.Uint32(m[4:]),
		status: int32(be.Uint32(m[20:])), length: int32(be.Uint32(m[24:])),
		startFrame: be.Uint32(m[28:]), packets: int32(be.Uint32(m[32:])),
	}
}

func (h *host) read(n int) []byte {
	h.t.Helper()
	b := make([]byte, n)
	_, err := io.ReadFull(h.conn, b)
	require.NoError(h.t, err)
	return b
}

func TestControlTransfers(t *testing.T) {
	h := serve(t, mustHeadset(t, acme))

	h.submit(urb{sequence: 1, in: true, length: 64, setup: [8]byte{0x80, 6, 0, 1, 0, 0, 64, 0}})
	require.Equal(t, reply{command: 3, sequence: 1, length: 18}, h.header())
	require.Equal(t, []byte{18, 1}, h.read(18)[:2])

	h.submit(urb{sequence: 2, in: true, length: 8, setup: [8]byte{0x80, 6, 0, 1, 0, 0, 8, 0}})
	require.Equal(t, reply{command: 3, sequence: 2, length: 8}, h.header(), "cut to what the host wants")
	h.read(8)

	h.submit(urb{sequence: 3, length: 1, data: []byte{1}, setup: [8]byte{0x21, 1, 0, 1, 0, 5, 1, 0}})
	require.Equal(t, reply{command: 3, sequence: 3, length: 1}, h.header(), "mute")

	h.submit(urb{sequence: 4, in: true, length: 8, setup: [8]byte{0xc0, 1, 0, 0, 0, 0, 8, 0}})
	require.Equal(t, reply{command: 3, sequence: 4, status: -32}, h.header(), "stall")

	require.NoError(t, h.unplug())
}

func TestInterruptTransferWaitsForTheDevice(t *testing.T) {
	headset := mustHeadset(t, acme)
	h := serve(t, headset)
	h.submit(urb{sequence: 1, endpoint: endpointStatus, in: true, length: 2})
	h.submit(urb{sequence: 2, endpoint: endpointStatus, in: true, length: 2})
	require.NoError(t, headset.turn(microphoneMute, true))
	require.Equal(t, reply{command: 3, sequence: 1, length: 2, startFrame: 77}, h.header())
	require.Equal(t, []byte{0x80, 5}, h.read(2))

	require.NoError(t, headset.turn(microphoneMute, false))
	require.Equal(t, uint32(2), h.header().sequence, "in the order they were submitted")
	h.read(2)
	require.NoError(t, h.unplug())
}

func TestUnlink(t *testing.T) {
	headset := mustHeadset(t, acme)
	h := serve(t, headset)
	h.submit(urb{sequence: 1, endpoint: endpointStatus, in: true, length: 2})
	h.unlink(2, 1)
	require.Equal(t, reply{command: 4, sequence: 2, status: -104}, h.header(), "was waiting")

	h.submit(urb{sequence: 3, endpoint: endpointStatus, in: true, length: 2})
	require.NoError(t, headset.turn(microphoneMute, true))
	require.Equal(t, uint32(3), h.header().sequence, "the unlinked transfer is not answered and blocks nobody")
	h.read(2)
	h.unlink(4, 3)
	require.Equal(t, reply{command: 4, sequence: 4, status: 0}, h.header(), "was answered already")
	require.NoError(t, h.unplug())
}

// A press of the mute button must arrive, however the host's unlink and the press meet.
func TestUnlinkLosesNoReport(t *testing.T) {
	headset := mustHeadset(t, acme)
	h := serve(t, headset)
	for sequence := uint32(1); sequence < 600; sequence += 3 {
		h.submit(urb{sequence: sequence, endpoint: endpointTelephony, in: true, length: 2})
		sent := make(chan error, 1)
		report := []byte{byte(sequence), byte(sequence >> 8)}
		go func() { sent <- headset.telephony.reports.push(report) }()
		h.unlink(sequence+1, sequence)

		r := h.header()
		if r.command == 4 {
			require.Equal(t, reply{command: 4, sequence: sequence + 1, status: -104}, r, "dropped in time")
			h.submit(urb{sequence: sequence + 2, endpoint: endpointTelephony, in: true, length: 2})
			require.Equal(t, reply{command: 3, sequence: sequence + 2, length: 2, startFrame: 77}, h.header())
			require.Equal(t, report, h.read(2))
		} else {
			require.Equal(t, reply{command: 3, sequence: sequence, length: 2, startFrame: 77}, r, "carried out before")
			require.Equal(t, report, h.read(2))
			require.Equal(t, reply{command: 4, sequence: sequence + 1, status: 0}, h.header())
		}
		require.NoError(t, <-sent)
	}
	require.NoError(t, h.unplug())
}

func TestUnlinkOfATransferInTheQueue(t *testing.T) {
	headset := mustHeadset(t, acme)
	h := serve(t, headset)
	for sequence := range uint32(3) {
		h.submit(urb{sequence: sequence + 1, endpoint: endpointStatus, in: true, length: 2})
	}
	h.unlink(4, 2)
	require.Equal(t, reply{command: 4, sequence: 4, status: -104}, h.header(), "at once, though the one before it waits")
	for _, sequence := range []uint32{1, 3} {
		require.NoError(t, headset.turn(microphoneMute, true))
		require.Equal(t, sequence, h.header().sequence)
		h.read(2)
	}
	require.NoError(t, h.unplug())
}

func TestIsochronousTransfers(t *testing.T) {
	h := serve(t, mustHeadset(t, acme))
	const packets, size = 4, 96
	h.submit(urb{sequence: 1, endpoint: endpointCapture, in: true, length: packets * size, packets: packets})
	require.Equal(t, reply{command: 3, sequence: 1, length: packets * size, startFrame: 77, packets: packets}, h.header())
	require.NotEqual(t, make([]byte, packets*size), h.read(packets*size))
	for i := range packets {
		require.Equal(t, isoPacket{Offset: uint32(i * size), Length: size, Actual: size}, h.packet())
	}

	const stereo = 192
	h.submit(urb{
		sequence: 2, endpoint: endpointPlayback, length: packets * stereo, packets: packets, data: make([]byte, packets*stereo),
	})
	require.Equal(t, reply{command: 3, sequence: 2, length: packets * stereo, startFrame: 77, packets: packets}, h.header())
	for i := range packets {
		require.Equal(t, isoPacket{Offset: uint32(i * stereo), Length: stereo, Actual: stereo}, h.packet())
	}
	require.NoError(t, h.unplug())
}

func (h *host) packet() isoPacket {
	h.t.Helper()
	b := h.read(16)
	be := binary.BigEndian
	return isoPacket{Offset: be.Uint32(b), Length: be.Uint32(b[4:]), Actual: be.Uint32(b[8:]), Status: be.Uint32(b[12:])}
}

func TestUnplugEndsWaitingTransfers(t *testing.T) {
	h := serve(t, mustHeadset(t, acme))
	for i := range uint32(5) {
		h.submit(urb{sequence: i + 1, endpoint: endpointTelephony, in: true, length: 8})
	}
	require.NoError(t, h.unplug(), "a closed connection is an unplugged cable")
}

func TestBrokenStreams(t *testing.T) {
	unknown := make([]byte, 48)
	unknown[3] = 9
	for name, c := range map[string]struct {
		send func(*host)
		want string
	}{
		"unknown command": {func(h *host) { h.send(unknown) }, "unknown command 9"},
		"huge transfer": {func(h *host) {
			h.submit(urb{sequence: 1, endpoint: 1, in: true, length: maxTransfer + 1})
		}, "beyond the limits"},
		"negative transfer": {func(h *host) {
			h.submit(urb{sequence: 1, endpoint: 1, in: true, length: -1})
		}, "beyond the limits"},
	} {
		t.Run(name, func(t *testing.T) {
			h := serve(t, mustHeadset(t, acme))
			c.send(h)
			require.ErrorContains(t, <-h.done, c.want)
		})
	}

	t.Run("end in a header", func(t *testing.T) {
		h := serve(t, mustHeadset(t, acme))
		h.send(make([]byte, 20))
		require.ErrorIs(t, h.unplug(), io.ErrUnexpectedEOF)
	})
}

// wrongDevice answers what does not fit.
type wrongDevice struct{ Device }

func (wrongDevice) In(context.Context, Transfer) ([][]byte, error) {
	return [][]byte{make([]byte, 100)}, nil
}

func (wrongDevice) Out(context.Context, Transfer, []byte) error { return errors.New("no") }

func TestWrongAnswersOfADeviceStall(t *testing.T) {
	h := serve(t, wrongDevice{})
	h.submit(urb{sequence: 1, endpoint: 1, in: true, length: 10})
	require.Equal(t, reply{command: 3, sequence: 1, status: -32, startFrame: 77}, h.header(), "more than there is room for")
	h.submit(urb{sequence: 2, endpoint: 2, length: 1, data: []byte{1}})
	require.Equal(t, reply{command: 3, sequence: 2, status: -32, startFrame: 77}, h.header())
	require.NoError(t, h.unplug())
}
