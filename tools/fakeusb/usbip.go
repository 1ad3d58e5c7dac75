package fakeusb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The USB/IP protocol as vhci_hcd speaks it once a device is attached: the host submits transfers (URBs) and may unlink
// them again; each is answered once, in any order. See Documentation/usb/usbip_protocol.rst of the kernel.
const (
	commandSubmit = 1
	commandUnlink = 2
	replySubmit   = 3
	replyUnlink   = 4
)

const directionIn = 1 // device to host

// Statuses are Linux error numbers, whatever system this is built on.
const (
	statusOK       = 0
	statusStalled  = -32  // EPIPE
	statusUnlinked = -104 // ECONNRESET: the transfer was still waiting
)

// maxTransfer and maxPackets bound what one header may ask for, so that a broken stream cannot take all memory.
const (
	maxTransfer = 1 << 20
	maxPackets  = 1024
)

// All messages begin with a header of one size. All numbers in it are big endian.
type messageHeader struct {
	Command   uint32
	Sequence  uint32 // identifies the transfer in replies and unlinks
	DeviceID  uint32
	Direction uint32
	Endpoint  uint32
}

type request struct {
	messageHeader
	Target     uint32 // of an unlink: sequence number of the transfer to drop; of a submit: flags
	Length     int32
	StartFrame uint32
	Packets    int32 // -1 or 0 for transfers that are not isochronous
	Interval   uint32
	Setup      [8]byte
}

type response struct {
	messageHeader
	Status     int32 // of an unlink the only field
	Length     int32
	StartFrame uint32
	Packets    int32
	Errors     int32
	_          [8]byte
}

func replyTo(command, sequence uint32) response {
	return response{messageHeader: messageHeader{Command: command, Sequence: sequence}}
}

// isoPacket describes one packet of an isochronous transfer. An array of them follows the data.
type isoPacket struct {
	Offset uint32
	Length uint32 // room, or bytes sent by the host
	Actual uint32
	Status uint32
}

type session struct {
	conn   io.ReadWriter
	device Device
	ctx    context.Context // ends with the session

	// mu makes "no longer pending" and "answered" one step: a transfer that is answered after the answer to its unlink
	// would make the kernel drop the whole device.
	mu      sync.Mutex
	pending map[uint32]*pendingTransfer

	last    map[endpoint]<-chan struct{}
	working sync.WaitGroup
}

type endpoint struct {
	number    uint32
	direction uint32
}

// A pendingTransfer is one that the device works on.
type pendingTransfer struct {
	cancel   context.CancelFunc
	unlinked bool
	unlink   uint32 // sequence number of the unlink, if unlinked
}

// Serve answers the host's requests on conn for device until conn ends. It returns nil when the host closed the connection,
// which is how a detached port looks. It does not close conn.
func Serve(conn io.ReadWriter, device Device) error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &session{
		conn:    conn,
		device:  device,
		ctx:     ctx,
		pending: map[uint32]*pendingTransfer{},
		last:    map[endpoint]<-chan struct{}{},
	}
	defer s.working.Wait()
	defer cancel()
	for {
		err := s.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// receive handles one message. It returns io.EOF at the end of the stream.
func (s *session) receive() error {
	var m request
	if err := binary.Read(s.conn, binary.BigEndian, &m); err != nil {
		return err
	}
	switch m.Command {
	case commandSubmit:
		return s.submit(m)
	case commandUnlink:
		return s.unlink(m)
	}
	return fmt.Errorf("usb/ip message with unknown command %d", m.Command)
}

func (s *session) submit(m request) error {
	m.Packets = max(m.Packets, 0)
	if m.Length < 0 || m.Length > maxTransfer || m.Packets > maxPackets {
		return fmt.Errorf("usb/ip transfer of %d bytes in %d packets is beyond the limits", m.Length, m.Packets)
	}
	var data []byte
	if m.Direction != directionIn {
		data = make([]byte, m.Length)
		if _, err := io.ReadFull(s.conn, data); err != nil {
			return err
		}
	}
	packets := make([]isoPacket, m.Packets)
	if err := binary.Read(s.conn, binary.BigEndian, packets); err != nil {
		return err
	}
	if m.Endpoint == 0 {
		return s.control(m, data)
	}
	s.start(m, data, packets)
	return nil
}

// control answers at once: no control request of the devices waits for anything.
func (s *session) control(m request, data []byte) error {
	answer, err := s.device.Control(parseSetup(m.Setup), data)
	r := replyTo(replySubmit, m.Sequence)
	switch {
	case err != nil:
		r.Status, answer = statusStalled, nil
	case m.Direction == directionIn:
		answer = answer[:min(len(answer), int(m.Length))]
		r.Length = int32(len(answer))
	default:
		r.Length, answer = int32(len(data)), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(r, answer, nil)
}

// start has the device work on a transfer. Transfers of one endpoint are served in the order in which they came: each waits for
// the one before it.
func (s *session) start(m request, data []byte, packets []isoPacket) {
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	s.pending[m.Sequence] = &pendingTransfer{cancel: cancel}
	s.mu.Unlock()

	key := endpoint{m.Endpoint, m.Direction}
	before, done := s.last[key], make(chan struct{})
	s.last[key] = done
	s.working.Go(func() {
		defer close(done)
		defer cancel()
		if before != nil {
			select {
			case <-before:
			case <-ctx.Done():
				s.drop(m.Sequence)
				<-before // the next transfer has to wait for it all the same
				return
			}
		}
		s.transfer(ctx, m, data, packets)
	})
}

func (s *session) transfer(ctx context.Context, m request, data []byte, packets []isoPacket) {
	t := Transfer{Endpoint: uint8(m.Endpoint), Length: int(m.Length), Packets: len(packets)}
	r := replyTo(replySubmit, m.Sequence)
	r.StartFrame, r.Packets = m.StartFrame, m.Packets
	var answer []byte
	var err error
	if m.Direction == directionIn {
		var parts [][]byte
		if parts, err = s.device.In(ctx, t); err == nil {
			answer, err = join(parts, packets, int(m.Length))
		}
		r.Length = int32(len(answer))
	} else {
		err = s.device.Out(ctx, t, data)
		r.Length = m.Length
		for i := range packets {
			packets[i].Actual = packets[i].Length
		}
	}
	if err != nil && ctx.Err() != nil {
		s.drop(m.Sequence)
		return
	}
	if err != nil {
		r.Status, r.Length, answer = statusStalled, 0, nil
	}
	s.answer(r, answer, packets)
}

// join arranges a device's packets as USB/IP wants them: the data without gaps, the sizes in the packet descriptors.
func join(parts [][]byte, packets []isoPacket, room int) ([]byte, error) {
	var data []byte
	for i, part := range parts {
		if i < len(packets) {
			packets[i].Actual = uint32(len(part))
		}
		data = append(data, part...)
	}
	if len(data) > room || (len(packets) > 0 && len(parts) != len(packets)) {
		return nil, fmt.Errorf("device sent %d bytes in %d packets for a transfer of %d bytes in %d packets",
			len(data), len(parts), room, len(packets))
	}
	return data, nil
}

// answer sends the reply to a transfer that the device has carried out. It is sent even if the host has asked to drop the
// transfer meanwhile: the device has given the data away, and would otherwise have lost it.
func (s *session) answer(r response, data []byte, packets []isoPacket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A failed write means that the connection is gone; the reading side finds that out and ends the session.
	_ = s.write(r, data, packets)
	s.finish(r.Sequence, statusOK)
}

// drop ends a transfer that the device has not carried out, because it was unlinked or the session has ended.
func (s *session) drop(sequence uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(sequence, statusUnlinked)
}

// finish ends a pending transfer and answers its unlink, if there was one. The caller holds mu.
func (s *session) finish(sequence uint32, status int32) {
	p := s.pending[sequence]
	delete(s.pending, sequence)
	if p != nil && p.unlinked {
		r := replyTo(replyUnlink, p.unlink)
		r.Status = status
		_ = s.write(r, nil, nil)
	}
}

// unlink only asks the device to stop: whether it still can decides the answer, which therefore comes from finish.
func (s *session) unlink(m request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, pending := s.pending[m.Target]; pending {
		p.unlinked, p.unlink = true, m.Sequence
		p.cancel()
		return nil
	}
	return s.write(replyTo(replyUnlink, m.Sequence), nil, nil) // answered already
}

// write sends one message in one piece. The caller holds mu.
func (s *session) write(r response, data []byte, packets []isoPacket) error {
	message, err := binary.Append(nil, binary.BigEndian, r)
	if err != nil {
		return fmt.Errorf("encode usb/ip reply: %w", err)
	}
	if message, err = binary.Append(append(message, data...), binary.BigEndian, packets); err != nil {
		return fmt.Errorf("encode usb/ip packet descriptors: %w", err)
	}
	_, err = s.conn.Write(message)
	return err
}
