package pulse

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Protocol versions: what this package speaks and the oldest server it talks to (PulseAudio
// 6.0 of 2015). Between them only one thing that is read here has changed.
const (
	ourVersion       = 35
	oldestVersion    = 30
	versionPortTypes = 34 // ports carry a group and a type
	versionMask      = 0x0000FFFF
)

const (
	headerSize     = 20
	messagePrefix  = 10 // command and tag
	eventSize      = 10
	controlChannel = 0xFFFFFFFF
	maxFrame       = 16 << 20 // as in the servers themselves
	requestLimit   = 10 * time.Second
)

// The commands used here.
const (
	cmdError         = 0
	cmdReply         = 2
	cmdAuth          = 8
	cmdSetClientName = 9
	cmdServerInfo    = 20
	cmdSinkList      = 22
	cmdSourceInfo    = 23
	cmdSourceList    = 24
	cmdModuleList    = 26
	cmdOutputList    = 32
	cmdSubscribe     = 35
	cmdSetSourceMute = 40
	cmdEvent         = 66
	cmdCardList      = 89
)

// Options of Dial. The zero value is usable.
type Options struct {
	// Name is shown by the server's own tools as the name of this client.
	Name string
	// OnEvent is called for every event after Subscribe, one at a time, from the goroutine
	// that reads the connection: it must hand over and return, never block and never call
	// a method of Conn. An event is a reason to look again, not the truth.
	OnEvent func(f Facility, e EventType, index uint32)
	// Cookie is the authentication cookie (see LoadCookie); nil means none, as zeros say.
	Cookie []byte
}

// Conn is a connection to a sound server. Its methods may be called from any goroutine; it
// runs one goroutine of its own until Done.
//
// Every request ends at its context or after 10 s. Because a server that does not answer in
// time cannot be trusted to answer the next question either, that also ends the connection.
type Conn struct {
	address string
	nc      net.Conn
	onEvent func(Facility, EventType, uint32)
	version uint32          // negotiated; fixed before Dial returns
	ended   context.Context // its cause is why the connection ended
	end     context.CancelCauseFunc
	done    chan struct{} // closed when the reader has ended

	writing sync.Mutex // held while a message goes out

	mu      sync.Mutex
	nextTag uint32
	pending map[uint32]chan reply
}

type reply struct {
	body []byte
	err  error
}

type request struct {
	what    string // for error messages
	command uint32
	args    func(*encoder)
}

// Dial connects to the server's unix socket at address (see Address), authenticates, and agrees on a protocol version. ctx bounds all of
// that, to 10 s at most.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	return dial(ctx, address, o, ourVersion)
}

func dial(ctx context.Context, address string, o Options, version uint32) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	address = strings.TrimPrefix(address, "unix:")
	nc, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		return nil, fmt.Errorf("pulse: connect to %s: %w (is a sound server running for this user?)", address, err)
	}
	return open(ctx, nc, address, o, version)
}

// open makes a Conn of an open socket, which it then owns.
func open(ctx context.Context, nc net.Conn, address string, o Options, version uint32) (*Conn, error) {
	c := &Conn{
		address: address,
		nc:      nc,
		onEvent: o.OnEvent,
		done:    make(chan struct{}),
		pending: make(map[uint32]chan reply),
	}
	c.ended, c.end = context.WithCancelCause(context.Background())
	go c.read()
	if err := c.handshake(ctx, o, version); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) handshake(ctx context.Context, o Options, version uint32) error {
	cookie := o.Cookie
	if cookie == nil {
		cookie = make([]byte, cookieSize)
	}
	bodies, err := c.ask(ctx, request{"authenticate", cmdAuth, func(e *encoder) {
		e.u32(version)
		e.blob(cookie)
	}})
	if err != nil {
		return err
	}
	theirs, err := parse(bodies[0], 0, (*decoder).u32)
	if err != nil {
		return explain("authenticate", c.address, err)
	}
	c.version = min(version, theirs&versionMask)
	if c.version < oldestVersion {
		return explain("authenticate", c.address, fmt.Errorf(
			"the server speaks protocol version %d, at least %d (PulseAudio 6.0) is needed: update the sound server",
			c.version, oldestVersion))
	}
	_, err = c.ask(ctx, request{"set the client name", cmdSetClientName, func(e *encoder) {
		e.props(map[string]string{"application.name": o.Name})
	}})
	return err
}

// Done is closed when the connection has ended, for whatever reason. No event comes after it.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err returns why the connection ended, or nil before Done.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return context.Cause(c.ended)
	default:
		return nil
	}
}

// Close ends the connection and waits for its goroutine. Pending requests return an error. It always returns nil.
func (c *Conn) Close() error {
	c.abort(ErrClosed)
	<-c.done
	return nil
}

// abort ends the connection for the given reason, unless it has one already.
func (c *Conn) abort(err error) {
	c.end(err)
	_ = c.nc.Close() // wakes the reader, which then closes done
}

// ask sends all requests in one write and waits for every answer. It returns the bodies in
// the order of the requests. If any request fails, all do.
func (c *Conn) ask(ctx context.Context, requests ...request) ([][]byte, error) {
	bodies, failed, err := c.exchange(ctx, requests)
	if err != nil {
		return nil, explain(requests[failed].what, c.address, err)
	}
	return bodies, nil
}

func (c *Conn) exchange(ctx context.Context, requests []request) (bodies [][]byte, failed int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err // nothing was sent, the connection stays good
	}
	if d, limited := ctx.Deadline(); !limited || time.Until(d) > requestLimit { // a second one would do nothing but cost time at each mute
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestLimit)
		defer cancel()
	}
	late := func() { c.abort(fmt.Errorf("no answer to the request to %s: %w", requests[0].what, ctx.Err())) }
	// Closing the socket is what wakes a write that a hung server blocks.
	stop := context.AfterFunc(ctx, late)
	defer stop()

	answers, err := c.send(requests)
	if err != nil {
		return nil, 0, err
	}
	for i, answer := range answers {
		r := c.await(ctx, answer)
		if r.err != nil {
			if ctx.Err() != nil {
				late() // stop may be faster than what it stops
			}
			return nil, i, r.err
		}
		bodies = append(bodies, r.body)
	}
	return bodies, 0, nil
}

func (c *Conn) await(ctx context.Context, answer <-chan reply) reply {
	select {
	case r := <-answer:
		return r
	case <-ctx.Done():
		return reply{err: ctx.Err()}
	case <-c.done:
	}
	select {
	case r := <-answer: // came in just before the end
		return r
	default:
		return reply{err: context.Cause(c.ended)}
	}
}

func (c *Conn) send(requests []request) ([]chan reply, error) {
	tags, answers, err := c.expect(len(requests))
	if err != nil {
		return nil, err
	}
	var e encoder
	for i, r := range requests {
		e.message(r.command, tags[i], r.args)
	}
	c.writing.Lock()
	_, err = c.nc.Write(e.b)
	c.writing.Unlock()
	if err != nil {
		c.abort(lost(err))
		return nil, context.Cause(c.ended) // the first one, such as the context that closed the socket
	}
	return answers, nil
}

// expect reserves n tags and the channels on which their answers will come.
func (c *Conn) expect(n int) (tags []uint32, answers []chan reply, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended.Err() != nil {
		return nil, nil, context.Cause(c.ended)
	}
	for range n {
		answer := make(chan reply, 1)
		c.pending[c.nextTag] = answer
		tags, answers = append(tags, c.nextTag), append(answers, answer)
		c.nextTag++
	}
	return tags, answers, nil
}

// take returns the channel that waits for the answer with the given tag, nil if none does.
func (c *Conn) take(tag uint32) chan<- reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.pending[tag]
	delete(c.pending, tag)
	return answer
}

// read is the connection's goroutine.
func (c *Conn) read() {
	defer close(c.done)
	r := bufio.NewReader(c.nc)
	for {
		if err := c.readFrame(r); err != nil {
			c.abort(lost(err))
			return
		}
	}
}

func lost(err error) error {
	if errors.Is(err, errMalformed) {
		return err
	}
	return fmt.Errorf("connection to the sound server lost: %w", err)
}

func (c *Conn) readFrame(r *bufio.Reader) error {
	h, err := r.Peek(headerSize)
	if err != nil {
		return err
	}
	length, channel := binary.BigEndian.Uint32(h), binary.BigEndian.Uint32(h[4:])
	if _, err := r.Discard(headerSize); err != nil {
		return err
	}
	switch {
	case length > maxFrame:
		return fmt.Errorf("%w: frame of %d bytes, at most %d are accepted", errMalformed, length, maxFrame)
	case channel != controlChannel: // sound data, which was never asked for
		return discard(r, length)
	case length < messagePrefix:
		return fmt.Errorf("%w: control message of %d bytes", errMalformed, length)
	}
	return c.readMessage(r, length)
}

// readMessage allocates nothing for an event: a storm of events costs no garbage.
func (c *Conn) readMessage(r *bufio.Reader, length uint32) error {
	start, err := r.Peek(int(min(length, messagePrefix+eventSize)))
	if err != nil {
		return err
	}
	d := decoder{b: start}
	command, tag := d.u32(), d.u32()
	if d.err != nil {
		return d.err
	}
	body := length - messagePrefix
	switch command {
	case cmdEvent:
		if body < eventSize {
			return fmt.Errorf("%w: event of %d bytes", errMalformed, body)
		}
		event, index := d.u32(), d.u32()
		if d.err != nil {
			return d.err
		}
		if c.onEvent != nil {
			c.onEvent(Facility(event&0x0F), EventType(event&0x30), index)
		}
	case cmdReply, cmdError:
		if answer := c.take(tag); answer != nil {
			_, _ = r.Discard(messagePrefix) // was read already
			return readReply(r, body, command == cmdError, answer)
		}
	}
	return discard(r, length)
}

func readReply(r *bufio.Reader, length uint32, refused bool, answer chan<- reply) error {
	body, err := readBody(r, length)
	if err != nil {
		return err
	}
	if !refused {
		answer <- reply{body: body}
		return nil
	}
	d := decoder{b: body}
	code := ServerError(d.u32())
	if d.err != nil {
		return d.err
	}
	answer <- reply{err: code}
	return nil
}

// readBody trusts an announced length only as far as the bytes really come.
func readBody(r *bufio.Reader, length uint32) ([]byte, error) {
	const trusted = 256 << 10
	if length <= trusted {
		body := make([]byte, length)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err == nil && len(body) < int(length) {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}

func discard(r *bufio.Reader, n uint32) error {
	_, err := r.Discard(int(n))
	return err
}
