package fakeserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// readAhead is how much of a body the client reads while the request waits in
// line, in bytes. Of a longer one it notices no more that the sender went away.
const readAhead = 60 << 10

// What ends a request before its turn: its sender goes away, or the server closes the connection.
var (
	errAbandoned = errors.New("the sender of the request went away")
	errDropped   = errors.New("the server closed the connection of the request")
)

// An upload is the body of a request on its way in.
type upload struct {
	req          *http.Request
	deadline     *http.ResponseController
	body         io.Reader
	turn         *turn // nil: it need not wait
	text         bytes.Buffer
	packetStarts []int // where in text a packet begins, but for the first
	packet       int64
	whole        bool
}

func (s *Server) upload(w http.ResponseWriter, req *http.Request, t *turn) *upload {
	return &upload{
		req: req, deadline: http.NewResponseController(w), turn: t,
		body: http.MaxBytesReader(w, req.Body, s.opts.Profile.limits().maxBody),
	}
}

// readAll fills in what the body says and when its last byte came, as soon as
// the request is let through (rules R87, R88).
func (u *upload) readAll(d *delivery) error {
	c := connOf(u.req)
	err := u.read(readAhead)
	d.Time = c.readAt()
	if err == nil && u.turn != nil {
		err = u.wait(c)
	}
	if err == nil && !u.whole {
		err = u.read(-1)
		d.Time = c.readAt()
	}
	if err != nil {
		return err
	}
	d.Raw, d.packetStarts = u.text.Bytes(), u.packetStarts
	_ = u.deadline.SetReadDeadline(time.Time{}) // an unanswered request may wait for ever
	return nil
}

// wait returns when the turn of the request has come. Who goes away keeps the place. A connection
// that the server closes looks to net/http like one whose peer has left, so that is asked first.
func (u *upload) wait(c *conn) error {
	_ = u.deadline.SetReadDeadline(time.Time{})
	gone := u.req.Context().Done()
	u.turn.waitInPlace(c.closed, gone)
	switch {
	case isClosed(c.closed):
		return errDropped
	case isClosed(gone): // or at the moment of its turn
		return errAbandoned
	default:
		return nil
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// read reads up to a number of bytes, or all if that is negative.
func (u *upload) read(most int) error {
	_ = u.deadline.SetReadDeadline(time.Now().Add(bodyTimeout))
	packet := packets.Get().(*[]byte)
	defer packets.Put(packet)
	for most < 0 || u.text.Len() < most {
		n, err := u.body.Read(*packet)
		if n > 0 {
			u.add((*packet)[:n], connOf(u.req).packet.Load())
		}
		switch {
		case errors.Is(err, io.EOF):
			u.whole = true
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

func (u *upload) add(piece []byte, packet int64) {
	if u.packet != packet && u.text.Len() > 0 {
		u.packetStarts = append(u.packetStarts, u.text.Len())
	}
	u.packet = packet
	u.text.Write(piece)
}

// decoded is the text that the client makes of bytes which came in packets: it
// decodes each for itself, and what is not UTF-8 in it becomes U+FFFD (rule R86).
func decoded(raw []byte, packetStarts []int) []byte {
	if whole(raw, packetStarts) {
		return raw
	}
	var b strings.Builder
	start := 0
	for _, cut := range append(packetStarts[:len(packetStarts):len(packetStarts)], len(raw)) {
		decodePacket(&b, raw[start:cut])
		start = cut
	}
	return []byte(b.String())
}

// whole reports whether decoding in packets changes nothing.
func whole(raw []byte, packetStarts []int) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for _, cut := range packetStarts {
		if cut < len(raw) && !utf8.RuneStart(raw[cut]) {
			return false
		}
	}
	return true
}

func decodePacket(b *strings.Builder, packet []byte) {
	for len(packet) > 0 {
		if !utf8.FullRune(packet) { // the beginning of a character, which counts as one
			b.WriteRune(utf8.RuneError)
			return
		}
		r, size := utf8.DecodeRune(packet)
		b.WriteRune(r)
		packet = packet[size:]
	}
}
