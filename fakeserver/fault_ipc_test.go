package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
)

// ipcFaultTests show the faults that meet IPC from the other side of it.
var ipcFaultTests = map[FaultKind]func(*testing.T, *Server){
	FaultRefuse: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "ipc/refuse")
		refused(t, srv)
		p.send(ipcframe.Frame, msg("n"))
		require.Equal(t, success("n"), p.answer(), "an existing connection goes on")
		connect(t, srv)
		path := srv.IPCPath()
		setFault(t, srv, "refuse")
		_, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
		require.Error(t, err)
		p.leave(srv)
		setFault(t, srv, "none")
		require.Equal(t, path, srv.IPCPath())
		p = greet(t, srv)
		connect(t, srv)
		p.leave(srv)
		setFault(t, srv, "ipc/refuse")
		require.NoError(t, srv.Restart(), "a fault outlives a restart")
		refused(t, srv)
	},
	FaultHang: func(t *testing.T, srv *Server) {
		p, late := greet(t, srv), dialIPC(t, srv)
		stats(t, srv, func(s Stats) bool { return s.Accepted == 2 })
		setFault(t, srv, "ipc/hang")
		c := shake(t, srv)
		late.send(ipcframe.Handshake, handshake(1, clientID))
		stats(t, srv, func(s Stats) bool { return s.Faults == 2 })
		p.send(ipcframe.Frame, msg("n", cameraDev))
		require.EqualError(t, payload(t, srv, 1).Err, "fault hang: not taken")
		connect(t, srv)
		srv.DropConnections()
		for _, silent := range []*peer{p, late, c} {
			silent.ended()
		}
	},
	FaultCloseAfter: func(t *testing.T, srv *Server) {
		setFault(t, srv, "ipc/close-after=2")
		p := greet(t, srv)
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Equal(t, success("1"), p.answer())
		p.send(ipcframe.Frame, msg("2"))
		p.ended()
		require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	},
	FaultDie: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "1*die")
		whole := ipcframe.Encode(ipcframe.Frame, []byte(msg("n", cameraDev)))
		_, err := p.Write(whole[:len(whole)/2])
		require.NoError(t, err)
		p.ended()
		require.Empty(t, srv.Payloads())
		greet(t, srv)
	},
	FaultReadyLate: func(t *testing.T, srv *Server) {
		setFault(t, srv, "1*ready-late=1h")
		p := shake(t, srv)
		p.send(ipcframe.Frame, msg("n", cameraDev))
		require.EqualError(t, payload(t, srv, 1).Err, "message: sent before READY, lost")
		srv.DropConnections()
		p.ended()
		setFault(t, srv, "1*ready-late=1ms")
		greet(t, srv)
	},
	FaultReadyNever: func(t *testing.T, srv *Server) {
		setFault(t, srv, "ready-never")
		p := shake(t, srv)
		stats(t, srv, func(s Stats) bool { return s.Faults == 1 })
		p.send(ipcframe.Ping, "")
		op, _ := p.read()
		require.Equal(t, ipcframe.Pong, op, "alive, but not ready")
	},
	FaultCloseCode: func(t *testing.T, srv *Server) {
		setFault(t, srv, "1*ipc/close-code=4002")
		require.Equal(t, errorData{4002, "fault close-code"}, shake(t, srv).closed())
		greet(t, srv)
	},
	FaultLogin: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "login")
		require.Equal(t, 1000, shake(t, srv).closed().Code)
		connect(t, srv)
		require.Equal(t, 200, mustPost(t, srv, msg("1")).status)
		p.send(ipcframe.Frame, msg("2"))
		require.Equal(t, success("2"), p.answer())
	},
	FaultOffline: func(t *testing.T, srv *Server) {
		p, ws := greet(t, srv), connect(t, srv)
		setFault(t, srv, "offline")
		require.Equal(t, errorData{4000, "Invalid Client ID"}, shake(t, srv).closed())
		require.Equal(t, 4000, closeCode(t, dial(t, srv)))
		require.Equal(t, httpReply{400, "application/json", `{"code":4000,"message":"Invalid Client ID"}`}, mustPost(t, srv, msg("1", cameraDev)))
		got := payload(t, srv, 1)
		require.Equal(t, FaultOffline, got.Fault)
		require.EqualError(t, got.Err, "fault offline: not taken")
		p.send(ipcframe.Frame, msg("2"))
		require.Equal(t, success("2"), p.answer(), "whom it knows already it serves")
		send(t, ws, msg("3"))
		require.Equal(t, success("3"), receive(t, ws))
	},
	FaultNoAnswer: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "1*no-answer")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		p.send(ipcframe.Frame, msg("2"))
		require.Equal(t, success("2"), p.answer(), "1 stays unanswered")
		require.EqualError(t, payload(t, srv, 1).Err, "fault no-answer: not taken")
	},
	FaultAnswerLate: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "1*answer-late=1ms")
		p.send(ipcframe.Frame, msg("1"))
		require.Equal(t, success("1"), p.answer())
		setFault(t, srv, "1*answer-late=1h")
		p.send(ipcframe.Frame, msg("2", cameraDev))
		require.NoError(t, payload(t, srv, 2).Err)
		p.send(ipcframe.Ping, "")
		op, _ := p.read()
		require.Equal(t, ipcframe.Pong, op, "a late answer holds up no ping")
		srv.DropConnections()
		p.ended()
	},
	FaultWrongNonce: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "wrong-nonce")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Equal(t, success("another nonce"), p.answer())
		require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	},
	FaultBadJSON: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "bad-json")
		p.send(ipcframe.Frame, msg("1"))
		require.Equal(t, cutOffAnswer, p.answer())
	},
	FaultError: func(t *testing.T, srv *Server) {
		p := greet(t, srv)
		setFault(t, srv, "ipc/error=4006:Not authenticated")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Contains(t, p.answer(), `{"code":4006,"message":"Not authenticated"},"evt":"ERROR","nonce":"1"`)
		require.Empty(t, srv.Devices())
	},
	FaultHuge: func(t *testing.T, srv *Server) {
		p, ws := greet(t, srv), connect(t, srv)
		setFault(t, srv, "huge")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		answer := p.answer()
		require.Len(t, answer, 10<<20)
		require.True(t, json.Valid([]byte(answer)))
		require.Contains(t, answer[:100], `"evt":null,"nonce":"1"`)
		send(t, ws, msg("1"))
		require.Len(t, receive(t, ws), 10<<20)
		require.Len(t, mustPost(t, srv, msg("1", cameraDev)).body, 10<<20)
		require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	},
	FaultHalf: testHalf,
	FaultDeep: func(t *testing.T, srv *Server) {
		p, ws := greet(t, srv), connect(t, srv)
		setFault(t, srv, "deep")
		deep := strings.Replace(success("1"), "null", strings.Repeat("[", 1e5)+strings.Repeat("]", 1e5), 1)
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Equal(t, deep, p.answer())
		send(t, ws, msg("1", cameraDev))
		require.Equal(t, deep, receive(t, ws))
		require.Equal(t, deep, mustPost(t, srv, msg("1", cameraDev)).body)
		require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	},
	FaultExtraAnswer: func(t *testing.T, srv *Server) {
		p, ws := greet(t, srv), connect(t, srv)
		setFault(t, srv, "extra-answer")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Equal(t, success("a nonce that was never sent"), p.answer())
		require.Equal(t, success("1"), p.answer())
		send(t, ws, msg("2", `{}`))
		require.Equal(t, success("a nonce that was never sent"), receive(t, ws))
		require.Contains(t, receive(t, ws), `"evt":"ERROR","nonce":"2"`, "the real answer stays what it is")
		require.Equal(t, success("3"), mustPost(t, srv, msg("3")).body)
	},
	FaultTwice: func(t *testing.T, srv *Server) {
		p, ws := greet(t, srv), connect(t, srv)
		setFault(t, srv, "twice")
		p.send(ipcframe.Frame, msg("1", cameraDev))
		require.Equal(t, success("1"), p.answer())
		require.Equal(t, success("1"), p.answer())
		send(t, ws, msg("2"))
		require.Equal(t, success("2"), receive(t, ws))
		require.Equal(t, success("2"), receive(t, ws))
		require.Equal(t, success("3"), mustPost(t, srv, msg("3")).body)
	},
}

func TestIPCFaults(t *testing.T) {
	t.Parallel()
	for _, s := range faultSpecs {
		if !s.appliesTo(IPC) {
			continue
		}
		t.Run(string(s.kind), func(t *testing.T) {
			require.Contains(t, ipcFaultTests, s.kind, "every fault has a test")
			ipcFaultTests[s.kind](t, launchIPC(t, Options{}))
		})
	}
}

func testHalf(t *testing.T, srv *Server) {
	want := success("1")
	p, ws := greet(t, srv), connect(t, srv)
	setFault(t, srv, "3*half")
	p.send(ipcframe.Frame, msg("1", cameraDev))
	h, err := ipcframe.ReadHeader(p)
	require.NoError(t, err)
	require.Equal(t, ipcframe.Header{Op: ipcframe.Frame, Size: uint32(len(want))}, h)
	got := make([]byte, len(want)/2)
	_, err = io.ReadFull(p, got)
	require.NoError(t, err)
	require.Equal(t, want[:len(want)/2], string(got))
	require.Equal(t, []string{"cam"}, ids(srv.Devices()), "taken")

	send(t, ws, msg("1"))
	_, r, err := ws.NextReader()
	require.NoError(t, err)
	got = make([]byte, len(want)/2)
	_, err = io.ReadFull(r, got)
	require.NoError(t, err)
	require.Equal(t, want[:len(want)/2], string(got))

	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg("1")).Write(c))
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	var text strings.Builder
	for !strings.HasSuffix(text.String(), want[:len(want)/2]) {
		buffer := make([]byte, 100)
		n, err := c.Read(buffer)
		require.NoError(t, err)
		text.Write(buffer[:n])
	}
	require.Contains(t, text.String(), fmt.Sprintf("Content-Length: %d\r\n", len(want)))

	// Not a word more, whatever is asked, until the connections end.
	p.send(ipcframe.Ping, "")
	p.send(ipcframe.Frame, msg("2"))
	send(t, ws, msg("2"))
	payload(t, srv, 4)
	payload(t, srv, 5)
	srv.DropConnections()
	p.ended()
	rest, err := io.ReadAll(r)
	require.Error(t, err, "the frame breaks off")
	require.Empty(t, string(rest))
	rest, _ = io.ReadAll(c)
	require.Empty(t, string(rest))
}
