package page

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/fakeserver"
	"sidetone/internal/testlab/browser"
	"sidetone/internal/testlab/ipctest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browser.Close()
	if err := goleak.Find(ipctest.Kept); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	patience = 60 * time.Second
	app      = "123456789012345678"

	speaker = `{"type":"audiooutput","id":"Acme Headset 700 Stereo","vendor":{"name":"Acme Audio","url":"https://acme.example"},` +
		`"model":{"name":"Acme Headset 700","url":"https://acme.example/headset-700"},"related":["Acme Headset 700 Mono"]}`
	webcam = `{"type":"videoinput","id":"usb-0000:00:14.0-4","vendor":{"name":"Acme Vision","url":"https://vision.acme.example"},` +
		`"model":{"name":"Acme Webcam 4K","url":"https://vision.acme.example/webcam-4k"},"related":["gone"]}`
	noVendor = `{"type":"audioinput","id":"x","model":{"name":"Broken"},"related":[]}`
)

func headset(muted bool) string {
	return fmt.Sprintf(`{"type":"audioinput","id":"Acme Headset 700 Mono","vendor":{"name":"Acme Audio","url":"https://acme.example"},`+
		`"model":{"name":"Acme Headset 700","url":"https://acme.example/headset-700"},"related":["Acme Headset 700 Stereo"],`+
		`"echo_cancellation":true,"noise_suppression":false,"hardware_mute":%t}`, muted)
}

func list(nonce string, devices ...string) string {
	return fmt.Sprintf(`{"nonce":%q,"cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[%s]}}`, nonce, strings.Join(devices, ","))
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func client(t *testing.T, opts fakeserver.Options) *fakeserver.Server {
	t.Helper()
	opts.Ports = []int{0}
	srv, err := fakeserver.Start(opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

func show(t *testing.T, clients ...*fakeserver.Server) *Page {
	t.Helper()
	p, err := Start("127.0.0.1:0", clients...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

// do sends a request on a connection of its own.
func do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req.WithContext(deadline(t)))
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp, string(body)
}

func request(t *testing.T, method, url, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	require.NoError(t, err)
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// report is what a reporter does: it sends a payload over HTTP.
func report(t *testing.T, srv *fakeserver.Server, body string) {
	t.Helper()
	reportAs(t, srv, app, body)
}

func reportAs(t *testing.T, srv *fakeserver.Server, app, body string) {
	t.Helper()
	do(t, request(t, http.MethodPost, srv.URL()+"/rpc?v=1&client_id="+app, body))
}

// dial opens a WebSocket and reads READY.
func dial(t *testing.T, srv *fakeserver.Server) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.DefaultDialer.DialContext(deadline(t), fmt.Sprintf("ws://127.0.0.1:%d/?v=1&encoding=json&client_id=%s", srv.Port(), app), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	_, ready, err := conn.ReadMessage()
	require.NoError(t, err)
	require.Contains(t, string(ready), "READY")
	return conn
}

func setFault(t *testing.T, srv *fakeserver.Server, text string) {
	t.Helper()
	f, err := fakeserver.ParseFault(text)
	require.NoError(t, err)
	require.NoError(t, srv.SetFault(f))
}
