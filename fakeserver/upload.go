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

// leavingTime is how soon after its request the end of a sender is noticed, although there is a token. It costs time only where
// the sending half of a connection can be closed.
const leavingTime = time.Millisecond

// Why a request ended before its turn.
var (
	errAbandoned = errors.New("the sender of the request went away")
	errDropped   = errors.New("the server closed the connection of the request")
)

// An upload is the body of a request, as far as it was read.
type upload struct {
	conn         *conn
	control      *http.ResponseController
	body         io.Reader
	text         bytes.Buffer
	packetStarts []int // offsets in text of the packets, except the first
	packet       int64 // number of the packet that was read last
	whole        bool  // all of it was read
}

// readBody reads the body of a request and fills in when its last byte came. It
// returns when the request is let through (rules R87, R88); without a turn, it does not wait.
func (s *Server) readBody(w http.ResponseWriter, req *http.Request, t *turn, d *delivery) error {
	c := connOf(req)
	u := &upload{conn: c, control: http.NewResponseController(w), body: http.MaxBytesReader(w, req.Body, s.opts.Profile.limits().maxBody)}
	err := u.read(s.opts.Profile.limits().readAhead)
	d.Time = c.readAt()
	if err == nil && t != nil {
		if u.whole && s.opts.Profile.isDesktop() && isClosed(t.granted) && c.canFinish() {
			c.sleep(time.Now().Add(leavingTime), req.Context().Done())
		}
		err = awaitTurn(c, req, t)
	}
	if err == nil && !u.whole {
		err = u.read(-1)
		d.Time = c.readAt()
	}
	if err == nil {
		d.Raw, d.packetStarts = u.text.Bytes(), u.packetStarts
	}
	return err
}

// awaitTurn waits for the turn of the request, which keeps its place, and costs a token, even if the sender leaves (rule R88).
// To net/http a connection that the server closes looks like one whose peer has left, so that is checked first.
func awaitTurn(c *conn, req *http.Request, t *turn) error {
	gone := req.Context().Done()
	select {
	case <-t.granted:
	case <-c.closed:
	case <-gone:
	}
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

// read reads up to most bytes, or all if most is negative.
func (u *upload) read(most int) error {
	_ = u.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	packet := packets.Get().(*[]byte)
	defer packets.Put(packet)
	for !u.whole && (most < 0 || u.text.Len() < most) {
		room := *packet
		if most >= 0 {
			room = room[:min(len(room), most-u.text.Len())]
		}
		n, err := u.body.Read(room)
		if number := u.conn.packet.Load(); n > 0 {
			if u.packet != number && u.text.Len() > 0 {
				u.packetStarts = append(u.packetStarts, u.text.Len())
			}
			u.packet = number
			u.text.Write((*packet)[:n])
		}
		switch {
		case errors.Is(err, io.EOF):
			u.whole = true
		case err != nil:
			return err // the deadline stays, so that nobody waits for the rest
		}
	}
	_ = u.control.SetReadDeadline(time.Time{}) // a request may wait forever for its turn, or its answer
	return nil
}

// decoded is the text that the client decodes from bytes that came in packets. It
// decodes each by itself, and what is not UTF-8 becomes U+FFFD (rule R86).
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
		if !utf8.FullRune(packet) { // the beginning of a character counts as one character
			b.WriteRune(utf8.RuneError)
			return
		}
		r, size := utf8.DecodeRune(packet)
		b.WriteRune(r)
		packet = packet[size:]
	}
}
