//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"sidetone/fakeserver"
)

// bareID is the application id of the bare path: not the agent's, whose tokens are its own.
const bareID = "210987654321098765"

// wire is a connection to a client over which it has said READY, where it does, and the least
// that can be done with one.
type wire struct {
	net.Conn
	prepare func(payload []byte) []byte // what send takes
	send    func(message []byte) error
}

// wireTo connects to a client. Answers are read away.
func wireTo(ctx context.Context, over fakeserver.Transport, address string) (*wire, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	connect := map[fakeserver.Transport]func(context.Context, string) (*wire, error){
		fakeserver.WebSocket: webSocketTo, fakeserver.IPC: ipcTo, fakeserver.HTTP: httpTo,
	}[over]
	w, err := connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to the client over %s: %w", over, err)
	}
	return w, nil
}

func asIs(payload []byte) []byte { return payload }

// within does what may hang, with a deadline that does not outlive it: its timer would wake
// an idle process.
func within(set func(time.Time) error, what func() error) error {
	_ = set(time.Now().Add(stepLimit))
	err := what()
	_ = set(time.Time{})
	return err
}

func webSocketTo(ctx context.Context, address string) (*wire, error) {
	url := "ws://" + address + "/?v=1&encoding=json&client_id=" + bareID
	c, _, err := websocket.DefaultDialer.DialContext(ctx, url, nil) //nolint:bodyclose // it is not ours to close, says websocket
	if err != nil {
		return nil, err
	}
	err = within(c.SetReadDeadline, func() error {
		_, _, err := c.ReadMessage() // READY
		return err
	})
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("wait for READY: %w", err)
	}
	go func() {
		for {
			if _, _, err := c.NextReader(); err != nil {
				return
			}
		}
	}()
	return &wire{Conn: c.NetConn(), prepare: asIs, send: func(message []byte) error {
		_ = c.SetWriteDeadline(time.Now().Add(stepLimit)) // within its write it sets this one
		return within(c.NetConn().SetWriteDeadline, func() error { return c.WriteMessage(websocket.TextMessage, message) })
	}}, nil
}

// frame is head and body of an IPC message, for one write.
func frame(opcode uint32, body []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, opcode)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), body...)
}

// readFrame reads one IPC message away.
func readFrame(r io.Reader) (opcode uint32, err error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	_, err = io.CopyN(io.Discard, r, int64(binary.LittleEndian.Uint32(head[4:])))
	return binary.LittleEndian.Uint32(head[:]), err
}

func ipcTo(ctx context.Context, path string) (*wire, error) {
	const handshake, message = 0, 1
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(c)
	err = within(c.SetDeadline, func() error {
		if _, err := c.Write(frame(handshake, []byte(`{"v":1,"client_id":"`+bareID+`"}`))); err != nil {
			return err
		}
		opcode, err := readFrame(in)
		if err == nil && opcode != message {
			err = fmt.Errorf("the client sent opcode %d", opcode)
		}
		return err
	})
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("wait for READY: %w", err)
	}
	go func() {
		for {
			if _, err := readFrame(in); err != nil {
				return
			}
		}
	}()
	return &wire{Conn: c, prepare: func(payload []byte) []byte { return frame(message, payload) }, send: func(message []byte) error {
		return within(c.SetWriteDeadline, func() error {
			_, err := c.Write(message)
			return err
		})
	}}, nil
}

// httpTo returns a wire that waits for the answer to each request, which may take as long as
// the client likes: closing the wire ends the wait.
func httpTo(ctx context.Context, address string) (*wire, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(c)
	exchange := func(message []byte) error {
		if _, err := c.Write(message); err != nil {
			return err
		}
		reply, err := http.ReadResponse(in, nil)
		if err != nil {
			return err
		}
		defer reply.Body.Close()
		_, err = io.Copy(io.Discard, reply.Body)
		return err
	}
	// Any path but /rpc is answered by every client, and costs nothing.
	err = within(c.SetDeadline, func() error { return exchange([]byte("GET / HTTP/1.1\r\nHost: " + address + "\r\n\r\n")) })
	if err != nil {
		_ = c.Close()
		return nil, errors.Join(errors.New("no answer to GET /"), err)
	}
	return &wire{Conn: c, send: exchange, prepare: func(payload []byte) []byte {
		var b bytes.Buffer
		fmt.Fprintf(&b, "POST /rpc?v=1&client_id=%s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
			bareID, address, len(payload))
		b.Write(payload)
		return b.Bytes()
	}}, nil
}
