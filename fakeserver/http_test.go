package fakeserver

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var notFoundReply = httpReply{404, "application/json", `{"code":0,"message":"Not Found"}`}

func TestHTTPAnswers(t *testing.T) {
	srv := launch(t, Options{ClientIDs: []string{clientID}, Origins: []string{"https://acme.test"}})
	errorReply := func(nonce string, code int, message string) httpReply {
		return httpReply{200, "application/json", fmt.Sprintf(`{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":%d,"message":%q},"evt":"ERROR","nonce":%s}`, code, message, nonce)}
	}
	refused := func(code int, message string) httpReply {
		return httpReply{400, "application/json", fmt.Sprintf(`{"code":%d,"message":%q}`, code, message)}
	}
	for name, tc := range map[string]struct {
		method, path, origin, body string
		want                       httpReply
	}{
		"good":            {"POST", "", "", msg("n-1", mic, speaker), httpReply{200, "application/json", success("n-1")}},
		"empty list":      {"POST", "", "", msg("n-2"), httpReply{200, "application/json", success("n-2")}},
		"unknown command": {"POST", "", "", `{"nonce":"n","cmd":"X","args":{}}`, httpReply{200, "application/json", `{"cmd":"X","data":{"code":4002,"message":"cmd: unknown command \"X\""},"evt":"ERROR","nonce":"n"}`}},
		"nonce missing":   {"POST", "", "", strings.Replace(msg("n"), `"nonce":"n",`, "", 1), errorReply("null", 4000, "nonce: missing")},
		"nonce empty":     {"POST", "", "", msg(""), errorReply(`""`, 4000, "nonce: empty string")},
		"invalid device":  {"POST", "", "", msg("n", `{}`), errorReply(`"n"`, 4000, "devices[0].type: missing; devices[0].id: missing; devices[0].vendor: missing; devices[0].model: missing")},
		"related missing": {"POST", "", "", msg("n", strings.Replace(cameraDev, `,"related":[]`, "", 1)), errorReply(`"n"`, 1000, "Unknown Error")},
		"devices missing": {"POST", "", "", `{"nonce":"n","cmd":"SET_CERTIFIED_DEVICES","args":{}}`, errorReply(`"n"`, 1000, "Unknown Error")},
		"not JSON":        {"POST", "", "", `{`, refused(1003, "message: not JSON: unexpected EOF")},
		"no client id":    {"POST", "/rpc?v=1", "", msg("n"), refused(4000, `request: client_id "" is not a known application`)},
		"unknown client":  {"POST", "/rpc?v=1&client_id=999999999999999999", "", msg("n"), refused(4000, `request: client_id "999999999999999999" is not a known application`)},
		"unknown origin":  {"POST", "", "https://evil.test", msg("n"), refused(4001, `request: Origin "https://evil.test" is not registered`)},
		"known origin":    {"POST", "", "https://acme.test", msg("n"), httpReply{200, "application/json", success("n")}},
		"GET rpc":         {"GET", "", "", "", httpReply{301, "", ""}},
		"GET root":        {"GET", "/", "", "", notFoundReply},
		"GET elsewhere":   {"GET", "/rpc/x?v=1", "", "", notFoundReply},
		"POST elsewhere":  {"POST", "/", "", msg("n"), notFoundReply},
		"PUT rpc":         {"PUT", "", "", msg("n"), notFoundReply},
	} {
		t.Run(name, func(t *testing.T) {
			url := srv.URL() + tc.path
			if tc.path == "" {
				url = rpcURL(srv)
			}
			req := newRequest(t, tc.method, url, tc.body)
			if tc.origin != "" {
				req.Header.Set("Origin", tc.origin)
			}
			got, err := do(t, req)
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestHTTPNeverAnswered(t *testing.T) {
	for name, change := range map[string]func(*http.Request){
		"charset":         func(r *http.Request) { r.Header.Set("Content-Type", "application/json; charset=utf-8") },
		"no content type": func(r *http.Request) { r.Header.Del("Content-Type") },
		"no version":      func(r *http.Request) { r.URL.RawQuery = "client_id=" + clientID },
		"wrong version":   func(r *http.Request) { r.URL.RawQuery = "v=2&client_id=" + clientID },
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{})
			req := newRequest(t, "POST", rpcURL(srv), msg("n", cameraDev))
			change(req)
			silently(t, srv, req, func() {
				p := payload(t, srv, 1)
				require.ErrorContains(t, p.Err, "never answered")
				require.Equal(t, []string{"cam"}, ids(p.Devices))
			})
			require.Empty(t, srv.Devices())
			require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Connections == 0 }), "the connection must not leak")
		})
	}
}

func TestHTTPRecord(t *testing.T) {
	srv := launch(t, Options{})
	before := time.Now()
	mustPost(t, srv, msg("n-1", mic, speaker))
	after := time.Now()
	mustPost(t, srv, msg("n-2"))

	list := srv.Payloads()
	require.Len(t, list, 2)
	p := list[0]
	require.False(t, p.Time.Before(before), "read after it was sent")
	require.False(t, p.Time.After(after), "read before it was answered")
	require.Contains(t, p.Time.String(), "m=+", "has a monotonic reading")
	require.Equal(t, HTTP, p.Transport)
	require.Equal(t, 1, p.Conn)
	require.Equal(t, 2, list[1].Conn)
	require.Equal(t, clientID, p.ClientID)
	require.Equal(t, "n-1", p.Nonce)
	require.Equal(t, msg("n-1", mic, speaker), string(p.Raw))
	require.Equal(t, []string{"mic", "out"}, ids(p.Devices))
	require.NoError(t, p.Err)
	require.Empty(t, p.Warnings)
	require.Empty(t, p.Previous)
	require.Equal(t, p.Devices, list[1].Previous)
}

func TestHTTPWarnings(t *testing.T) {
	srv := launch(t, Options{})
	req := newRequest(t, "POST", rpcURL(srv), msg("n"))
	req.Header.Set("Origin", "https://acme.test")
	req.Body = io.NopCloser(strings.NewReader(msg("n")))
	req.ContentLength = -1
	got, err := do(t, req)
	require.NoError(t, err)
	require.Equal(t, success("n"), got.body)
	require.Equal(t, []string{
		`request: Origin "https://acme.test" sent: a native program has none`,
		"request: no Content-Length",
	}, payload(t, srv, 1).Warnings)
}

func TestHTTPTooLarge(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{})
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	_, err = fmt.Fprintf(c, "POST /rpc?v=1&client_id=%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", clientID, maxMessage+1)
	require.NoError(t, err)
	_, err = io.WriteString(c, strings.Repeat(" ", maxMessage+1))
	require.NoError(t, err)
	require.Equal(t, httpReply{413, "application/json", `{"code":1009,"message":"message: larger than 3145728 bytes"}`}, readResponse(t, c))
	p := payload(t, srv, 1)
	require.Nil(t, p.Raw)
	require.ErrorContains(t, p.Err, "larger than")

	// The largest message that is allowed.
	whole := msg("n") + strings.Repeat(" ", maxMessage-len(msg("n")))
	require.Equal(t, 200, mustPost(t, srv, whole).status)
}

func TestHTTPKeepAlive(t *testing.T) {
	srv := launch(t, Options{})
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	for n := range 3 {
		nonce := fmt.Sprint("n-", n)
		require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg(nonce)).Write(c))
		require.Equal(t, success(nonce), readResponse(t, c).body)
	}
	require.Equal(t, 1, srv.Stats().Accepted)
}

func TestHTTPOfASpecificationServer(t *testing.T) {
	srv := launch(t, Options{NoFingerprint: true})
	for _, path := range []string{"/", "/rpc?v=1"} {
		got, err := do(t, newRequest(t, "GET", srv.URL()+path, ""))
		require.NoError(t, err)
		require.Equal(t, httpReply{404, "text/plain; charset=utf-8", "404 page not found\n"}, got)
	}
	require.Equal(t, success("n"), mustPost(t, srv, msg("n")).body)
	require.Equal(t, 2, srv.Stats().Probes)
}

func TestTransportsOff(t *testing.T) {
	noHTTP := launch(t, Options{NoHTTP: true})
	require.Equal(t, notFoundReply, mustPost(t, noHTTP, msg("n")))
	connect(t, noHTTP)
	require.Zero(t, noHTTP.Stats().Payloads)

	noSocket := launch(t, Options{NoWebSocket: true})
	_, resp, err := dialQuery(t, noSocket, goodQuery, "")
	require.Error(t, err)
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, success("n"), mustPost(t, noSocket, msg("n")).body)
}
