package fakeserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	goflag "flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidetone/internal/testlab/ipctest"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goflag.Parse()
	_ = goflag.Set("test.parallel", "8") // tests wait for tokens, and for ports that somebody else has
	goleak.VerifyTestMain(m, ipctest.Kept)
}

const (
	clientID  = "123456789012345678"
	patience  = 30 * time.Second
	mic       = `{"type":"audioinput","id":"mic","vendor":{"name":"Acme","url":"https://acme.test"},"model":{"name":"Headset 700","url":"https://acme.test/700"},"related":["out"],"hardware_mute":true}`
	speaker   = `{"type":"audiooutput","id":"out","vendor":{"name":"Acme"},"model":{"name":"Headset 700"},"related":["mic"]}`
	cameraDev = `{"type":"videoinput","id":"cam","vendor":{},"model":{},"related":[]}`
)

// msg is a command message with the given devices.
func msg(nonce string, devices ...string) string {
	return fmt.Sprintf(`{"nonce":%q,"cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[%s]}}`, nonce, strings.Join(devices, ","))
}

func success(nonce string) string {
	return fmt.Sprintf(`{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":%q}`, nonce)
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// launch starts a server on any free port.
func launch(t *testing.T, opts Options) *Server {
	t.Helper()
	opts.Ports = []int{0}
	srv, err := Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

type httpReply struct {
	status int
	kind   string
	body   string
}

// do sends one request on a connection of its own.
func do(t *testing.T, req *http.Request) (httpReply, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req.WithContext(deadline(t)))
	if err != nil {
		return httpReply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return httpReply{resp.StatusCode, resp.Header.Get("Content-Type"), string(body)}, err
}

func newRequest(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func rpcURL(srv *Server) string { return srv.URL() + "/rpc?v=1&client_id=" + clientID }

func post(t *testing.T, srv *Server, body string) (httpReply, error) {
	t.Helper()
	return do(t, newRequest(t, http.MethodPost, rpcURL(srv), body))
}

func mustPost(t *testing.T, srv *Server, body string) httpReply {
	t.Helper()
	r, err := post(t, srv, body)
	require.NoError(t, err)
	return r
}

// silently sends a request on a raw connection, waits for what until tells
// the server has done with it, and requires that not a byte was answered.
func silently(t *testing.T, srv *Server, req *http.Request, until func()) {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, req.Write(c))
	until()
	unanswered(t, c)
}

// unanswered ends the sending half; the server then closes a connection it
// has not answered.
func unanswered(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.(*net.TCPConn).CloseWrite())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Empty(t, string(got))
}

// readResponse reads one HTTP answer from a raw connection.
func readResponse(t *testing.T, c net.Conn) httpReply {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return httpReply{resp.StatusCode, resp.Header.Get("Content-Type"), string(body)}
}

const goodQuery = "v=1&encoding=json&client_id=" + clientID

func dialQuery(t *testing.T, srv *Server, query, origin string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	url := fmt.Sprintf("ws://127.0.0.1:%d/?%s", srv.Port(), query)
	ws, resp, err := websocket.DefaultDialer.DialContext(deadline(t), url, header)
	if err == nil {
		t.Cleanup(func() { _ = ws.Close() })
		require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	}
	return ws, resp, err
}

// dial opens a WebSocket without waiting for READY.
func dial(t *testing.T, srv *Server) *websocket.Conn {
	t.Helper()
	ws, _, err := dialQuery(t, srv, goodQuery, "")
	require.NoError(t, err)
	return ws
}

// connect opens a WebSocket and reads READY.
func connect(t *testing.T, srv *Server) *websocket.Conn {
	t.Helper()
	ws := dial(t, srv)
	require.JSONEq(t, readyMessage, receive(t, ws))
	return ws
}

func send(t *testing.T, ws *websocket.Conn, text string) {
	t.Helper()
	require.NoError(t, ws.WriteMessage(websocket.TextMessage, []byte(text)))
}

func receive(t *testing.T, ws *websocket.Conn) string {
	t.Helper()
	kind, data, err := ws.ReadMessage()
	require.NoError(t, err)
	require.Equal(t, websocket.TextMessage, kind)
	return string(data)
}

func closeCode(t *testing.T, ws *websocket.Conn) int {
	t.Helper()
	_, _, err := ws.ReadMessage()
	var closed *websocket.CloseError
	require.ErrorAs(t, err, &closed)
	return closed.Code
}

func payload(t *testing.T, srv *Server, seq int) Payload {
	t.Helper()
	p, err := srv.WaitPayload(deadline(t), seq-1)
	require.NoError(t, err)
	require.Equal(t, seq, p.Seq)
	return p
}

func setFault(t *testing.T, srv *Server, text string) {
	t.Helper()
	f, err := ParseFault(text)
	require.NoError(t, err)
	require.NoError(t, srv.SetFault(f))
}

func ids(list []Device) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, d.ID)
	}
	return out
}

func compact(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, data))
	return b.String()
}

// dialPath opens a WebSocket at a path with its query.
func dialPath(t *testing.T, srv *Server, path, origin string) *websocket.Conn {
	t.Helper()
	header := http.Header{}
	if origin != "" {
		header.Set("Origin", origin)
	}
	ws, _, err := websocket.DefaultDialer.DialContext(deadline(t), fmt.Sprintf("ws://127.0.0.1:%d%s", srv.Port(), path), header)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ws.Close() })
	require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
	return ws
}

func jsonOf(text string, v any) error { return json.Unmarshal([]byte(text), v) }
