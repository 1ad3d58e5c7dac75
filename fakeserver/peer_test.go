package fakeserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
	"sidetone/internal/testlab/ipctest"
)

// launchIPC starts a server that has IPC too.
func launchIPC(t *testing.T, opts Options) *Server {
	t.Helper()
	opts.IPCDir = ipctest.Folder(t)
	return launch(t, opts)
}

// A peer is the other end of an IPC connection.
type peer struct {
	t *testing.T
	net.Conn
}

func dialIPC(t *testing.T, srv *Server) *peer {
	t.Helper()
	c, err := ipctest.Dial(deadline(t), srv.IPCPath())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return &peer{t, c}
}

// refused requires that nobody takes a connection. A pipe of which an end is still open is busy for ever.
func refused(t *testing.T, srv *Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := ipctest.Dial(ctx, srv.IPCPath())
	require.Error(t, err)
}

// leave ends the connection and waits until the server has seen that: the name of a pipe is free when no end of it is open.
func (p *peer) leave(srv *Server) {
	p.t.Helper()
	before := srv.Stats().Connections
	require.NoError(p.t, p.Close())
	stats(p.t, srv, func(s Stats) bool { return s.Connections < before })
}

func (p *peer) send(op uint32, text string) {
	p.t.Helper()
	_, err := p.Write(ipcframe.Encode(op, []byte(text)))
	require.NoError(p.t, err)
}

func (p *peer) read() (uint32, string) {
	p.t.Helper()
	h, err := ipcframe.ReadHeader(p)
	require.NoError(p.t, err)
	body := make([]byte, h.Size)
	_, err = io.ReadFull(p, body)
	require.NoError(p.t, err)
	return h.Op, string(body)
}

func (p *peer) answer() string {
	p.t.Helper()
	op, text := p.read()
	require.Equal(p.t, ipcframe.Frame, op, text)
	return text
}

// closed reads the CLOSE frame, after which nothing comes.
func (p *peer) closed() errorData {
	p.t.Helper()
	op, text := p.read()
	require.Equal(p.t, ipcframe.Close, op, text)
	var said errorData
	require.NoError(p.t, json.Unmarshal([]byte(text), &said))
	require.NotEmpty(p.t, said.Message)
	p.ended()
	return said
}

// ended requires that the server closes without another word.
func (p *peer) ended() {
	p.t.Helper()
	rest, err := io.ReadAll(p)
	var broken *net.OpError
	if err != nil {
		require.ErrorAs(p.t, err, &broken)
		require.False(p.t, broken.Timeout(), "still open")
	}
	require.Empty(p.t, string(rest))
}

func handshake(v any, id string) string {
	text, _ := json.Marshal(map[string]any{"v": v, "client_id": id})
	return string(text)
}

// shake connects and shakes hands, without waiting for READY.
func shake(t *testing.T, srv *Server) *peer {
	t.Helper()
	p := dialIPC(t, srv)
	p.send(ipcframe.Handshake, handshake(1, clientID))
	return p
}

// greet connects, shakes hands and reads READY.
func greet(t *testing.T, srv *Server) *peer {
	t.Helper()
	p := shake(t, srv)
	require.Equal(t, readyUserMessage, p.answer())
	return p
}

func stats(t *testing.T, srv *Server, wanted func(Stats) bool) {
	t.Helper()
	require.NoError(t, srv.WaitStats(deadline(t), wanted))
}

func unknownClient() string { return fmt.Sprint("9", clientID) }
