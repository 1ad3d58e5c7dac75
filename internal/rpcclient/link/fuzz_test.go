package link

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"

	"sidetone/internal/rpcclient/link/linktest"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// bears reports whether nonce is somewhere in a JSON text, read independently of message.
func bears(text []byte, nonce string) bool {
	var any any
	if json.Unmarshal(text, &any) != nil {
		return false
	}
	return holds(any, nonce)
}

func holds(v any, s string) bool {
	switch v := v.(type) {
	case string:
		return v == s
	case []any:
		for _, e := range v {
			if holds(e, s) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if holds(e, s) {
				return true
			}
		}
	}
	return false
}

var answers = []string{
	`{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"THE-NONCE"}`,
	`{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"OTHER"}`,
	`{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"x"},"evt":"ERROR","nonce":"THE-NONCE"}`,
	`{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1}}`,
	`{"nonce":"THE-NONCE","nonce":"OTHER"}`, `{"NONCE":"THE-NONCE"}`, `{"code":4000}`, `null`, `[]`, ``, `{"evt":{}}`,
}

// FuzzReply feeds a connection's bytes to the reader of HTTP replies.
func FuzzReply(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + a))
		f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4a\r\n" + a + "\r\n0\r\n\r\n"))
		f.Add([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n" + a))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nnullHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReader(bytes.NewReader(data))
		for {
			reply, _, err := readReply(r)
			if err != nil {
				return
			}
			require.Error(t, postResult(reply, rand.Text()), "the server cannot know the nonce")
			if postResult(reply, ours) == nil {
				require.True(t, bears(reply.body, ours), "delivered without our nonce: %q", reply.body)
				require.Equal(t, http.StatusOK, reply.status)
			}
		}
	})
}

// FuzzMessage judges one message of a WebSocket.
func FuzzMessage(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil {
			return
		}
		if m.Nonce == ours {
			require.True(t, bears(data, ours))
		}
		if m.Evt == "ERROR" {
			var refusal *Refusal
			require.ErrorAs(t, m.result(), &refusal)
			require.Equal(t, PhaseCommand, refusal.Phase)
			require.NotEmpty(t, refusal.Error())
		}
	})
}

// FuzzFrames lets a server say anything after its handshake, bytes that are no frames too.
func FuzzFrames(f *testing.F) {
	for _, a := range answers {
		f.Add(linktest.WebSocketFrame(websocket.TextMessage, []byte(a)))
		f.Add(append(linktest.WebSocketFrame(websocket.TextMessage, []byte(answers[1])), linktest.WebSocketFrame(websocket.TextMessage, []byte(a))...))
		f.Add(linktest.WebSocketFrame(websocket.BinaryMessage, []byte(a)))
	}
	f.Add(linktest.WebSocketFrame(websocket.CloseMessage, []byte("\x0f\xa1invalid origin")))
	f.Add(append(linktest.WebSocketFrame(websocket.PingMessage, []byte("x")), linktest.WebSocketFrame(websocket.TextMessage, []byte(answers[0]))...))
	f.Add([]byte("\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff{"))
	f.Add([]byte("\x01\x02{}\x80\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, wait := openFuzzed(t, data)
		err := l.Deliver(context.Background(), rand.Text(), []byte("{}"))
		require.Error(t, err, "the server cannot know the nonce")
		l.Close()
		wait()
	})
}

// openFuzzed is a link to a server that answers the handshake as it should, goes on with data
// and closes. wait returns when that server has ended.
func openFuzzed(t *testing.T, data []byte) (l Link, wait func()) {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer theirs.Close()
		req, err := http.ReadRequest(bufio.NewReader(theirs))
		if err != nil {
			return
		}
		_, _ = io.WriteString(theirs, linktest.Switching(req, ""))
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		_, _ = theirs.Write(data)
		theirs.Close()
		<-read
	}()
	dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return ours, nil }}
	conn, resp, err := dialer.Dial("ws://127.0.0.1/", nil)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	l = newWebSocketLink(conn)
	return l, func() { <-done }
}
