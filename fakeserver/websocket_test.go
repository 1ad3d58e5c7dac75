package fakeserver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

func TestWebSocketReady(t *testing.T) {
	srv := launch(t, Options{})
	ws := dial(t, srv)
	require.Equal(t, `{"cmd":"DISPATCH","evt":"READY","nonce":null,"data":{"v":1,"config":`+
		`{"cdn_host":"cdn.discordapp.com","api_endpoint":"//discord.com/api","environment":"production"}}}`, receive(t, ws))
	require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Ready == 1 && s.Connections == 1 }))
	require.NoError(t, ws.Close())
	require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Ready == 0 && s.Connections == 0 }))
}

func TestWebSocketRefused(t *testing.T) {
	acme := []string{"https://acme.test"}
	for name, tc := range map[string]struct {
		query, origin string
		origins       []string
		code          int
	}{
		"no version":      {"encoding=json&client_id=" + clientID, "", nil, 4004},
		"wrong version":   {"v=2&encoding=json&client_id=" + clientID, "", nil, 4004},
		"no encoding":     {"v=1&client_id=" + clientID, "", nil, 4005},
		"wrong encoding":  {"v=1&encoding=etf&client_id=" + clientID, "", nil, 4005},
		"no client id":    {"v=1&encoding=json", "", nil, 4000},
		"wrong client id": {"v=1&encoding=json&client_id=12", "", nil, 4000},
		"no origin":       {goodQuery, "", acme, 4001},
		"wrong origin":    {goodQuery, "https://evil.test", acme, 4001},
		"origins empty":   {goodQuery, "https://acme.test", []string{}, 4001},
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{Origins: tc.origins})
			ws, _, err := dialQuery(t, srv, tc.query, tc.origin)
			require.NoError(t, err)
			send(t, ws, msg("n"))
			require.Equal(t, tc.code, closeCode(t, ws))
			require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Connections == 0 }))
			require.Empty(t, srv.Payloads(), "what was sent to a socket that is closed counts for nothing")
		})
	}
}

func TestWebSocketOriginAccepted(t *testing.T) {
	for _, origins := range [][]string{nil, {"https://acme.test"}} {
		srv := launch(t, Options{Origins: origins})
		ws, _, err := dialQuery(t, srv, goodQuery, "https://acme.test")
		require.NoError(t, err)
		require.Equal(t, readyMessage, receive(t, ws))
	}
}

func TestWebSocketAnswers(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	for name, tc := range map[string]struct{ body, want string }{
		"good":            {msg("n-1", mic, speaker), success("n-1")},
		"unknown command": {`{"nonce":"n","cmd":"X"}`, `{"cmd":"X","data":{"code":4002,"message":"cmd: unknown command \"X\""},"evt":"ERROR","nonce":"n"}`},
		"no nonce":        {`{"cmd":"SET_CERTIFIED_DEVICES"}`, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"nonce: missing"},"evt":"ERROR","nonce":null}`},
		"invalid device":  {msg("n", "null"), `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"devices[0]: null, not an object"},"evt":"ERROR","nonce":"n"}`},
		"devices missing": {`{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{}}`, `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":1000,"message":"Unknown Error"},"evt":"ERROR","nonce":"n"}`},
	} {
		t.Run(name, func(t *testing.T) {
			send(t, ws, tc.body)
			require.Equal(t, tc.want, receive(t, ws))
		})
	}
	require.Equal(t, []string{"mic", "out"}, ids(srv.Devices()), "what was rejected changes nothing")
	require.Equal(t, Stats{Connections: 1, Ready: 1, Accepted: 1, Payloads: 5, Rejected: 4}, srv.Stats())
}

func TestWebSocketOrderOfAnswers(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	const count = 100
	for n := range count {
		send(t, ws, msg(fmt.Sprint(n)))
	}
	for n := range count {
		require.Equal(t, success(fmt.Sprint(n)), receive(t, ws))
	}
	for n, p := range srv.Payloads() {
		require.Equal(t, fmt.Sprint(n), p.Nonce)
		require.Equal(t, WebSocket, p.Transport)
		require.Equal(t, 1, p.Conn)
	}
}

func TestWebSocketBadFrames(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind int
		data string
		code int
	}{
		"binary":    {websocket.BinaryMessage, msg("n"), 1003},
		"not JSON":  {websocket.TextMessage, "hello", 1003},
		"not UTF-8": {websocket.TextMessage, "\"\xff\"", 1003},
		"too large": {websocket.TextMessage, strings.Repeat(" ", maxMessage+1), 1009},
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{})
			ws := connect(t, srv)
			require.NoError(t, ws.WriteMessage(tc.kind, []byte(tc.data)))
			require.Equal(t, tc.code, closeCode(t, ws))
			require.Error(t, payload(t, srv, 1).Err)
			require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Connections == 0 }))
		})
	}
}

func TestWebSocketElsewhere(t *testing.T) {
	srv := launch(t, Options{})
	_, resp, err := websocket.DefaultDialer.DialContext(deadline(t), fmt.Sprintf("ws://127.0.0.1:%d/rpc?%s", srv.Port(), goodQuery), nil)
	require.Error(t, err)
	require.Equal(t, 404, resp.StatusCode)

	ws, _, err := websocket.DefaultDialer.DialContext(deadline(t), fmt.Sprintf("ws://127.0.0.1:%d?%s", srv.Port(), goodQuery), nil)
	require.NoError(t, err, "an address without a path")
	defer ws.Close()
	require.Equal(t, readyMessage, receive(t, ws))
}

func TestWebSocketHandshakeFails(t *testing.T) {
	srv := launch(t, Options{})
	req := newRequest(t, "GET", srv.URL()+"/?"+goodQuery, "")
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "websocket")
	got, err := do(t, req)
	require.NoError(t, err)
	require.Equal(t, 400, got.status)
}
