//go:build linux || windows

package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/ipctest"
)

// bare is a connection to a client, and the two messages for it.
type bare struct {
	*wire
	messages map[bool][]byte // by mute
	sent     bool            // the mute that was sent last
}

// bareArgument as its first argument makes this program a bare path instead of the bench: the least that could do the agent's job,
// and the baseline of most figures.
const bareArgument = "bare-path"

// runBare follows the lab's headset until ctx ends. args are what to follow, the transport, the client's address and the folder of
// the payloads.
func runBare(ctx context.Context, args []string) error {
	n := len(args) - 3
	if n < 1 {
		return errors.New("a bare path needs what to follow, a transport, an address and a folder")
	}
	w, err := wireTo(ctx, fakeserver.Transport(args[n]), args[n+1])
	if err != nil {
		return err
	}
	defer w.Close()
	defer context.AfterFunc(ctx, func() { _ = w.Close() })()
	b := &bare{wire: w, messages: make(map[bool][]byte)}
	for _, mute := range []bool{false, true} {
		payload, err := os.ReadFile(payloadFile(args[n+2], mute))
		if err != nil {
			return err
		}
		b.messages[mute] = w.frame(payload)
	}
	if err := follow(ctx, b, args[:n]); ctx.Err() == nil {
		return err
	}
	return nil
}

func (b *bare) report(mute bool) error {
	b.sent = mute
	return b.send(b.messages[mute])
}

// bareID is the application id of the bare path. It is not the agent's, which has tokens of its own.
const bareID = "210987654321098765"

// wire is a connection on which a client has said READY, and to which prepared messages are
// written: the least that one can do.
type wire struct {
	net.Conn
	over fakeserver.Transport
	in   *bufio.Reader
}

// wireTo connects to a client. Answers are read and dropped.
func wireTo(ctx context.Context, over fakeserver.Transport, address string) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if over == fakeserver.IPC {
		dial = ipctest.Dial
	}
	c, err := dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to the client over %s: %w", over, err)
	}
	w := &wire{c, over, bufio.NewReader(c)}
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if err := w.greet(); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("greet the client over %s: %w", over, err)
	}
	go func() { _, _ = io.Copy(io.Discard, w.in) }()
	return w, nil
}

// greet returns when the client has said READY.
func (w *wire) greet() error {
	if w.over == fakeserver.IPC {
		const handshake, message = 0, 1
		if err := w.send(ipcFrame(handshake, []byte(`{"v":1,"client_id":"`+bareID+`"}`))); err != nil {
			return err
		}
		return w.expect(message)
	}
	err := w.send([]byte("GET /?v=1&encoding=json&client_id=" + bareID + " HTTP/1.1\r\nHost: " + w.RemoteAddr().String() + "\r\n" +
		"Connection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: c2lkZXRvbmUncyBiZW5jaA==\r\n\r\n"))
	if err != nil {
		return err
	}
	reply, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return err
	}
	_ = reply.Body.Close() // there is none
	const wholeText = 0x81
	return w.expect(wholeText)
}

// expect reads the first byte of a message, which tells its kind.
func (w *wire) expect(kind byte) error {
	got, err := w.in.ReadByte()
	if err == nil && got != kind {
		err = fmt.Errorf("the client began a message with %#x instead of %#x", got, kind)
	}
	return err
}

// frame returns the message for a payload, which send takes.
func (w *wire) frame(payload []byte) []byte {
	if w.over == fakeserver.IPC {
		return ipcFrame(1, payload)
	}
	return webSocketFrame(payload)
}

// send writes with a deadline that does not outlive it: its timer would wake an idle process.
func (w *wire) send(message []byte) error {
	_ = w.SetWriteDeadline(time.Now().Add(stepLimit))
	_, err := w.Write(message)
	_ = w.SetWriteDeadline(time.Time{})
	return err
}

// ipcFrame returns header and body of an IPC message, for one write.
func ipcFrame(opcode uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, opcode)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), body...)
}

// webSocketFrame returns the frame of a text of at most 64 KiB. A mask of zeroes leaves the text as it is.
func webSocketFrame(text []byte) []byte {
	const wholeText, masked, longLength = 0x81, 0x80, 126
	b := []byte{wholeText, masked | byte(len(text))}
	if len(text) >= longLength {
		b = binary.BigEndian.AppendUint16([]byte{wholeText, masked | longLength}, uint16(len(text)))
	}
	return append(append(b, 0, 0, 0, 0), text...)
}
