package fakeserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
	"sidetone/fakeserver/internal/nodehttp"
)

// A rawConn is the client's side of an HTTP connection, byte for byte.
type rawConn struct {
	t *testing.T
	net.Conn
	r *bufio.Reader
}

func dialTCP(t *testing.T, srv *Server) *rawConn {
	t.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
	return &rawConn{t, c, bufio.NewReader(c)}
}

func (c *rawConn) write(text string) {
	c.t.Helper()
	_, err := io.WriteString(c, text)
	require.NoError(c.t, err)
}

func (c *rawConn) answer() httpReply {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, nil)
	require.NoError(c.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(c.t, err)
	return httpReply{resp.StatusCode, resp.Header.Get("Content-Type"), string(body)}
}

// rest is all that still comes until the server closes.
func (c *rawConn) rest() string {
	c.t.Helper()
	text, err := io.ReadAll(c.r)
	require.NoError(c.t, err)
	return string(text)
}

// postHead is the head of a POST.
func postHead(query, contentType string, size int) string {
	return fmt.Sprintf("POST /rpc?%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", query, contentType, size)
}

// wholePost is a good POST.
func wholePost(body string) string {
	return postHead("v=1&client_id="+clientID, jsonType, len(body)) + body
}

func TestRealHTTPHangs(t *testing.T) {
	query := func(v string) string { return v + "client_id=" + clientID }
	for name, tc := range map[string]struct {
		query, kind, body string
		hangs             bool
		tokens            int
	}{
		"good":            {query("v=1&"), jsonType, msg("n"), false, 1},
		"text/json":       {query("v=1&"), "text/json", msg("n"), false, 1},
		"json/x":          {query("v=1&"), jsonType + "/x", msg("n"), false, 1},
		"x/y/json":        {query("v=1&"), "x/y/json", msg("n"), true, 0},
		"second query":    {query("v=1&") + "?v=2", jsonType, msg("n"), false, 1},
		"semicolon":       {query("v=1;"), jsonType, msg("n"), false, 0},
		"bad escape":      {query("x=%zz&v=1&"), jsonType, msg("n"), false, 1},
		"charset":         {query("v=1&"), jsonType + "; charset=utf-8", msg("n"), true, 0},
		"text/plain":      {query("v=1&"), "text/plain", msg("n"), true, 0},
		"no type":         {query("v=1&"), "", msg("n"), true, 0},
		"upper case":      {query("v=1&"), "application/JSON", msg("n"), true, 0},
		"no v":            {query(""), jsonType, msg("n"), true, 0},
		"empty v":         {query("v=&"), jsonType, msg("n"), true, 0},
		"v=0":             {query("v=0&"), jsonType, msg("n"), true, 0},
		"v=2":             {query("v=2&"), jsonType, msg("n"), true, 0},
		"v=0.5":           {query("v=0.5&"), jsonType, msg("n"), true, 0},
		"v=abc":           {query("v=abc&"), jsonType, msg("n"), false, 1},
		"v=1.0":           {query("v=1.0&"), jsonType, msg("n"), false, 1},
		"null":            {query("v=1&"), jsonType, " null\n", true, 1},
		"bad JSON":        {query("v=1&"), jsonType, "{", false, 1},
		"a number":        {query("v=1&"), jsonType, "5", false, 1},
		"no such command": {query("v=1&"), jsonType, `{"cmd":"X","nonce":"1"}`, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{Profile: Desktop})
			c := dialTCP(t, srv)
			c.write(postHead(tc.query, tc.kind, len(tc.body)) + tc.body)
			if !tc.hangs {
				require.NotZero(t, c.answer().status)
			} else {
				require.ErrorContains(t, payload(t, srv, 1).Err, "never answered")
				c.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
				require.Equal(t, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", c.rest())
			}
			require.Equal(t, tc.tokens, srv.Stats().Spent)
			require.NoError(t, c.Close())
			stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
		})
	}
}

func TestRealGetOfTheCommandPath(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	c := dialTCP(t, srv)
	c.write("GET /rpc?v=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, 301, c.answer().status)
	for n, query := range []string{"", "?v=1&payload=null", "?v=1&payload=%20null", "?v=1&payload=%zz", "?v=1&payload=%ff"} {
		c := dialTCP(t, srv)
		c.write("GET /rpc" + query + " HTTP/1.1\r\nHost: x\r\n\r\n")
		stats(t, srv, func(s Stats) bool { return s.Probes == n+2 })
		require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
		require.Empty(t, c.rest(), query)
	}
	c.write("GET /rpc?v=1&payload=%7B%7D HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Equal(t, 301, c.answer().status)
	require.Zero(t, srv.Stats().Spent)
}

// Only the plain path is that of the command.
func TestRealCommandPath(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	for _, path := range []string{"/%72pc", "http://127.0.0.1/rpc", "/rpc/", "//rpc", "/RPC"} {
		c := dialTCP(t, srv)
		c.write(strings.Replace(wholePost(msg("n", mic)), "/rpc", path, 1))
		require.Equal(t, httpReply{404, jsonType, notFoundBody}, c.answer(), path)
	}
	require.Empty(t, srv.Payloads())
}

// A semicolon does not separate, so there is no client id.
func TestRealQuery(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	got, err := do(t, newRequest(t, "POST", srv.URL()+"/rpc?v=1;client_id="+clientID, msg("n")))
	require.NoError(t, err)
	require.Equal(t, 400, got.status)
	require.Contains(t, got.body, `"code":4000`)
	got, err = do(t, newRequest(t, "POST", rpcURL(srv)+"?client_id=1", msg("n")))
	require.NoError(t, err)
	require.Equal(t, success("n"), got.body)
}

// A request to speak another protocol is refused, whatever it asks for: some HTTP clients send one by themselves.
func TestRealUpgrade(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	key := "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
	for name, head := range map[string]string{
		"h2c":            "POST /rpc?v=1&client_id=" + clientID + " HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
		"GET":            "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: foo\r\n",
		"no key":         "GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
		"another method": "POST / HTTP/1.1\r\n" + key + "Sec-WebSocket-Version: 13\r\n",
		"version 7":      "GET / HTTP/1.1\r\n" + key + "Sec-WebSocket-Version: 7\r\n",
	} {
		body := msg("n", mic)
		c := dialTCP(t, srv)
		c.write(head + fmt.Sprintf("Host: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		require.Equal(t, upgradeRefusal, c.rest(), name)
	}
	require.Empty(t, srv.Devices())
	require.Zero(t, srv.Stats().Spent)
	c := dialTCP(t, srv)
	c.write("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n")
	require.Equal(t, 404, c.answer().status, "not asked for in Connection")
	c = dialTCP(t, srv)
	c.write("GET /?" + goodQuery + " HTTP/1.1\r\nHost: x\r\n" + key + "Sec-WebSocket-Version: 8\r\n\r\n")
	resp, err := http.ReadResponse(c.r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode, "an older version of the protocol")
}

func TestRealLongHead(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	for size, status := range map[int]int{15 << 10: 404, 17 << 10: 431} {
		for _, head := range []string{"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", size), "GET /" + strings.Repeat("x", size) + " HTTP/1.1\r\nHost: x"} {
			c := dialTCP(t, srv)
			c.write(head + "\r\n\r\n")
			require.Equal(t, status, c.answer().status, "%d %.10s", size, head)
		}
	}
}

// What is no good request to the client's runtime is refused without a reason, as soon as that is certain. It takes some that net/http
// does not.
func TestRealRequestsOfTheRuntime(t *testing.T) {
	const post, size = "POST /rpc?v=1&client_id=" + clientID, "Content-Type: application/json\r\nContent-Length: 100\r\n"
	body := msg("n", mic)
	body = fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	for name, text := range map[string]string{
		"bare line feeds":     "GET / HTTP/1.1\nHost: x\n\n",
		"a folded field":      post + " HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n" + body,
		"length and chunks":   post + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + body,
		"two lengths":         post + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n" + body,
		"HTTP/1.2":            post + " HTTP/1.2\r\nHost: x\r\n" + body,
		"an unknown method":   "FETCH / HTTP/1.1\r\nHost: x\r\n\r\n",
		"a lower-case method": "get",
		"TLS":                 "\x16\x03\x01",
		"a bad field":         "GET / HTTP/1.1\r\nHost: x\r\nX y",
		"a blank in the path": "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
		"a long body":         strings.Replace(post+" HTTP/1.1\r\nHost: x\r\n"+body, "Content-Length: ", "Content-Length: 1\r\nX: ", 1),
		"after the last":      "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET",
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{Profile: Desktop})
			c := dialTCP(t, srv)
			c.write(text)
			require.Equal(t, nodehttp.BadRequest, c.rest())
			require.Empty(t, srv.Devices())
			require.Zero(t, srv.Stats().Spent)
		})
	}
	for name, text := range map[string]string{
		"two hosts":          post + " HTTP/1.1\r\nHost: x\r\nHost: y\r\n" + body,
		"line feeds first":   "\r\n\n" + post + " HTTP/1.1\r\nHost: x\r\n" + body,
		"HTTP/2.0":           post + " HTTP/2.0\r\nHost: x\r\n" + body,
		"HTTP/1.0, no host":  post + " HTTP/1.0\r\n" + body,
		"blanks":             strings.Replace(post, " ", "  ", 1) + "   HTTP/1.1\r\nHost: x\r\n" + body,
		"an odd host":        post + " HTTP/1.1\r\nHost: a b<>\r\n" + body,
		"Trailer":            post + " HTTP/1.1\r\nHost: x\r\nTrailer: Content-Length\r\n" + body,
		"extension of chunk": post + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + fmt.Sprintf("%x;a=\"b\"\r\n%s\r\n0\r\n\r\n", len(msg("n", mic)), msg("n", mic)),
	} {
		t.Run(name, func(t *testing.T) {
			srv := launch(t, Options{Profile: Desktop})
			c := dialTCP(t, srv)
			c.write(text)
			require.Equal(t, success("n"), c.answer().body)
			require.Equal(t, []string{"mic"}, ids(srv.Devices()))
		})
	}
	srv := launch(t, Options{Profile: Desktop})
	for path, status := range map[string]int{"*": 404, "/%zz": 404, "ftp://a/rpc": 404} {
		c := dialTCP(t, srv)
		c.write("OPTIONS " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
		require.Equal(t, status, c.answer().status, path)
	}
	c := dialTCP(t, srv)
	c.write(post + " HTTP/1.1\r\n" + size + "\r\n")
	require.Equal(t, 400, c.answer().status, "no host")
	require.EqualError(t, payload(t, srv, 1).Err, "request: no Host: refused")
	c = dialTCP(t, srv)
	c.write("CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Empty(t, c.rest())
}

// A lab sees why a command was refused, although its sender does not.
func TestRealRefusedCommandIsRecorded(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	c := dialTCP(t, srv)
	c.write(strings.Replace(wholePost(msg("n")), "\r\n", "\n", 2))
	require.Equal(t, nodehttp.BadRequest, c.rest())
	require.EqualError(t, payload(t, srv, 1).Err, "request: a line that ends in a bare line feed: refused")
}

// The client's own pages need no application, but an authorization.
func TestRealOwnPages(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	for origin, code := range map[string]string{
		"https://discord.com": `"code":4006`, "https://ptb.discord.com": `"code":4006`,
		"http://discord.com": `"code":4000`, "https://discord.com.evil.test": `"code":4000`, "https://evildiscord.com": `"code":4000`,
	} {
		req := newRequest(t, "POST", srv.URL()+"/rpc?v=1", msg("n", mic))
		req.Header.Set("Origin", origin)
		got, err := do(t, req)
		require.NoError(t, err)
		require.Contains(t, got.body, code, origin)
	}
	ws := dialPath(t, srv, "/?v=1", "https://canary.discord.com")
	require.Equal(t, readyMessage, receive(t, ws))
	send(t, ws, msg("n", mic))
	require.Contains(t, receive(t, ws), `"code":4006`)
	require.Empty(t, srv.Devices())
}

// Also with a token, a sender that has closed its half gets no answer, and its list is not stored.
func TestRealHalfCloseWithAToken(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: 1, Refill: time.Hour})
	c := dialTCP(t, srv)
	srv.Freeze()
	c.write(wholePost(msg("n", mic)))
	require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
	srv.Thaw()
	require.Empty(t, c.rest())
	require.ErrorContains(t, payload(t, srv, 1).Err, "abandoned")
	require.Empty(t, srv.Devices())
	require.Equal(t, 1, srv.Stats().Spent)
}

// The client's library for WebSockets has rules of its own.
func TestRealWebSocketFrames(t *testing.T) {
	const acme = "https://acme.test"
	srv := launch(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{acme}})
	ws := dialPath(t, srv, "/?"+goodQuery, acme)
	require.Equal(t, readyMessage, receive(t, ws))
	send(t, ws, "\"\xff\"")
	require.Equal(t, 1007, closeCode(t, ws))

	c := dialTCP(t, srv)
	frame := "\x81\x82\x00\x00\x00\x00{}"
	c.write("GET /?" + goodQuery + " HTTP/1.1\r\nHost: x\r\nOrigin: " + acme + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n" + frame)
	resp, err := http.ReadResponse(c.r, nil)
	require.NoError(t, err)
	require.Equal(t, 101, resp.StatusCode)
	got := make([]byte, 4+len(readyMessage))
	_, err = io.ReadFull(c.r, got)
	require.NoError(t, err)
	require.Equal(t, readyMessage, string(got[4:]), "what came with the request is lost")
	require.Len(t, srv.Payloads(), 1)

	for text, want := range map[string]string{ // frames that are masked with 0, and the content of the close
		"\x88\x81\x00\x00\x00\x00a":                                "\x03\xea", // 1002
		"\x88\x85\x00\x00\x00\x00\x03\xe8bye":                      "\x03\xe8bye",
		"\x88\x80\x00\x00\x00\x00":                                 "",
		"\x81\xff\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x00": "\x03\xf1", // 1009
		"\xc1\x80\x00\x00\x00\x00":                                 "\x03\xea",
		"\x88\x82\x00\x00\x00\x00\x03\xec":                         "\x03\xea",
		"\x81\x02\x00\x00{}":                                       "\x03\xea", // not masked
	} {
		ws := dialPath(t, srv, "/?"+goodQuery, acme)
		require.Equal(t, readyMessage, receive(t, ws))
		_, err := io.WriteString(ws.NetConn(), text)
		require.NoError(t, err)
		got, err := io.ReadAll(ws.NetConn())
		require.NoError(t, err)
		require.True(t, len(got) > 1 && strings.HasPrefix(string(got[2:]), want), "%q: %q", text, got)
	}

	ws = dialPath(t, srv, "/?"+goodQuery, acme)
	require.Equal(t, readyMessage, receive(t, ws))
	send(t, ws, msg("n")+strings.Repeat(" ", maxMessage))
	require.Contains(t, receive(t, ws), `"code":4006`, "the limit of IPC is none here")
}

func TestRealHTTPHeaders(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{"https://acme.test"}})
	ask := func(method, path, origin, body string) *http.Response {
		req := newRequest(t, method, srv.URL()+path, body)
		req.Header["Origin"] = []string{origin}
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := transport.RoundTrip(req.WithContext(deadline(t)))
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		resp.Body = io.NopCloser(strings.NewReader(string(text)))
		return resp
	}
	rpc := "/rpc?v=1&client_id=" + clientID
	for _, c := range []struct {
		method, path, origin, body string
		status                     int
		want                       string
	}{
		{"GET", "/", "https://evil.test", "", 404, notFoundBody},
		{"OPTIONS", rpc, "https://evil.test", "", 200, `{"body":""}`},
		{"OPTIONS", "/x", "https://evil.test", "", 404, notFoundBody},
		{"POST", rpc, "https://evil.test", msg("n"), 400, `"code":4001`},
		{"POST", rpc, "https://acme.test", msg("n"), 200, `"code":4006`},
		{"POST", rpc, "", msg("n"), 400, `"code":4001`},
	} {
		resp := ask(c.method, c.path, c.origin, c.body)
		text, _ := io.ReadAll(resp.Body)
		require.Equal(t, c.status, resp.StatusCode, c)
		require.Contains(t, string(text), c.want)
		require.Equal(t, []string{c.origin}, resp.Header["Access-Control-Allow-Origin"], c)
		require.Equal(t, "true", resp.Header.Get("Access-Control-Allow-Credentials"))
		require.Equal(t, "POST, GET, PUT, PATCH, DELETE", resp.Header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, "Content-Type, Authorization", resp.Header.Get("Access-Control-Allow-Headers"))
	}
	moved := ask("GET", "/rpc?v=1", "https://evil.test", "")
	require.Equal(t, 301, moved.StatusCode)
	require.Empty(t, moved.Header["Access-Control-Allow-Origin"])
	_, sent := ask("GET", "/", "", "").Header["Access-Control-Allow-Origin"]
	require.True(t, sent, "an empty origin is one")
	rec := httptest.NewRecorder()
	allowOrigin(rec, newRequest(t, "GET", srv.URL(), ""))
	require.Empty(t, rec.Header(), "without an origin there is nothing to echo")
}

// Bodies may come in chunks, in pieces, one after the other, and be large.
func TestRealBodies(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	c := dialTCP(t, srv)
	chunked := func(parts ...string) {
		c.write("POST /rpc?v=1&client_id=" + clientID + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, part := range parts {
			c.write(fmt.Sprintf("%x\r\n%s\r\n", len(part), part))
		}
		c.write("0\r\n\r\n")
	}
	text := msg("1", mic)
	chunked(text[:10], text[10:50], text[50:])
	require.Equal(t, success("1"), c.answer().body)
	c.write(wholePost(msg("2")) + wholePost(msg("3", mic)) + wholePost(msg("4")))
	for _, nonce := range []string{"2", "3", "4"} {
		require.Equal(t, success(nonce), c.answer().body)
	}
	const large = 64 << 20
	text = wholePost(msg("5") + strings.Repeat(" ", large-len(msg("5"))))
	c = dialTCP(t, srv) // one that is not used may be closed by now
	require.NoError(t, c.SetDeadline(time.Now().Add(10*patience)))
	go func() { _, _ = io.WriteString(c, text) }()
	require.Equal(t, success("5"), c.answer().body)
	require.Len(t, srv.Payloads()[4].Raw, large)
}

// A character that is cut by the end of a packet is lost, which the answer does not tell.
func TestRealCharacterSplitOverPackets(t *testing.T) {
	bubble(t, Options{Profile: Desktop}, func(t *testing.T, srv *Server, m *memory) {
		body := msg("n", strings.Replace(cameraDev, `"cam"`, `"Kaméra €"`, 1))
		text := wholePost(body)
		at := strings.Index(text, "€") + 2
		c, err := m.dial(memoryPort)
		require.NoError(t, err)
		defer c.Close()
		raw := &rawConn{t, c, bufio.NewReader(c)}
		raw.write(text[:at]) // returns when it was read
		raw.write(text[at:])
		require.Equal(t, success("n"), raw.answer().body)
		require.Equal(t, []string{"Kaméra \uFFFD\uFFFD"}, ids(srv.Devices()))
		p := payload(t, srv, 1)
		require.Equal(t, body, string(p.Raw))
		require.Contains(t, p.Warnings, "message: a character is not whole UTF-8 in one packet: it becomes U+FFFD")

		raw.write(text)
		require.Equal(t, success("n"), raw.answer().body)
		require.Equal(t, []string{"Kaméra €"}, ids(srv.Devices()))
	})
}

func TestDecoded(t *testing.T) {
	for _, c := range []struct {
		raw          string
		packetStarts []int
		want         string
	}{
		{"abc", nil, "abc"},
		{"a€b", []int{1, 4}, "a€b"},
		{"a€b", []int{3}, "a\uFFFD\uFFFDb"},
		{"a€b", []int{2}, "a\uFFFD\uFFFD\uFFFDb"},
		{"😀", []int{1}, "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"😀", []int{3}, "\uFFFD\uFFFD"},
		{"\xff", nil, "\uFFFD"},
	} {
		require.Equal(t, c.want, string(decoded([]byte(c.raw), c.packetStarts)), "%q %v", c.raw, c.packetStarts)
	}
}

func TestRealNonce(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	for nonce, want := range map[string]string{
		"0":              `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":0}`,
		`{"a":[1,"x"]}`:  `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":{"a":[1,"x"]}}`,
		"false":          `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":false}`,
		`""`:             `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"nonce: empty string"},"evt":"ERROR","nonce":""}`,
		"null":           `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4000,"message":"nonce: null, not a string"},"evt":"ERROR","nonce":null}`,
		"1.0":            `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":1}`,
		"-0":             `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":0}`,
		"1e999":          `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":null}`,
		"[1e999]":        `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":[null]}`,
		`"x","nonce":[]`: `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":[]}`,
	} {
		got := mustPost(t, srv, strings.Replace(msg("n"), `"n"`, nonce, 1))
		require.Equal(t, httpReply{200, jsonType, want}, got)
	}
	got := mustPost(t, srv, `{"cmd":"SET_CERTIFIED_DEVICES","args":{"devices":[]}}`)
	require.Contains(t, got.body, `"code":4000`)
}

// The command is looked up by whatever was sent, converted to text, among the members of an object.
func TestRealCommandName(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	for cmd, want := range map[string]struct {
		cmd  string
		code int // 0: success
	}{
		`"cmd":"SET_CERTIFIED_DEVICES"`:        {`"SET_CERTIFIED_DEVICES"`, 0},
		`"cmd":["SET_CERTIFIED_DEVICES"]`:      {`["SET_CERTIFIED_DEVICES"]`, 0},
		`"cmd":[["SET_CERTIFIED_DEVICES"]]`:    {`[["SET_CERTIFIED_DEVICES"]]`, 0},
		`"cmd":["SET_CERTIFIED_DEVICES",null]`: {`["SET_CERTIFIED_DEVICES",null]`, 4002},
		`"x":1`:                                {`"DISPATCH"`, 4002},
		`"cmd":7`:                              {`7`, 4002},
		`"cmd":{"a":1}`:                        {`{"a":1}`, 4002},
		`"cmd":[]`:                             {`[]`, 4002},
		`"cmd":true`:                           {`true`, 4002},
		`"cmd":"toString"`:                     {`"toString"`, 1000},
		`"cmd":"__proto__"`:                    {`"__proto__"`, 1000},
		`"cmd":["constructor"]`:                {`["constructor"]`, 1000},
	} {
		got := mustPost(t, srv, strings.Replace(msg("n"), `"cmd":"SET_CERTIFIED_DEVICES"`, cmd, 1))
		var a struct {
			Cmd  json.RawMessage
			Data errorData
		}
		require.NoError(t, json.Unmarshal([]byte(got.body), &a))
		require.Equal(t, want.cmd, string(a.Cmd), cmd)
		require.Equal(t, want.code, a.Data.Code, cmd)
	}
}

// Over the sockets a null is met with silence, as over HTTP; what follows is answered.
func TestRealNull(t *testing.T) {
	const acme = "https://acme.test"
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{acme}})
	p := greet(t, srv)
	p.send(ipcframe.Frame, " null\n")
	p.send(ipcframe.Frame, msg("n"))
	require.Equal(t, success("n"), p.answer())
	require.EqualError(t, payload(t, srv, 1).Err, "message: null: never answered")

	ws := dialPath(t, srv, "/?"+goodQuery, acme)
	require.Equal(t, readyMessage, receive(t, ws))
	send(t, ws, "null")
	send(t, ws, strings.Replace(msg("m"), `"m"`, "1e999", 1))
	require.Contains(t, receive(t, ws), `"code":4006`)
}

// Keys that nobody knows are taken; those of vendor and model are kept.
func TestRealUnknownKeys(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	dev := `{"type":"audioinput","id":"mic","vendor":{"name":"A","sku":7},"model":{"a":{"b":1}},"related":[],"x":1}`
	require.Equal(t, success("n"), mustPost(t, srv, msg("n", dev)).body)
	d := srv.Devices()[0]
	require.Equal(t, Named{Name: "A", Extra: `{"sku":7}`}, d.Vendor)
	require.Equal(t, Named{Extra: `{"a":{"b":1}}`}, d.Model)
}

// The token is taken when the head has come, the list applies when the body has.
func TestRealSlowPostOverwritesANewerOne(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Refill: time.Hour})
	slow := dialTCP(t, srv)
	text := wholePost(msg("old", mic))
	slow.write(text[:len(text)-3])
	stats(t, srv, func(s Stats) bool { return s.Spent == 1 })
	require.Equal(t, success("new"), mustPost(t, srv, msg("new", cameraDev)).body)
	require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	slow.write(text[len(text)-3:])
	require.Equal(t, success("old"), slow.answer().body)
	require.Equal(t, []string{"mic"}, ids(srv.Devices()))

	third := dialTCP(t, srv)
	third.write(text[:len(text)-3])
	stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
}

// bubble runs a server in virtual time, over a network in memory.
func bubble(t *testing.T, opts Options, test func(t *testing.T, srv *Server, net *memory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &memory{}
		opts.Network, opts.IPCDir = network, "memory"
		srv, err := Start(opts)
		require.NoError(t, err)
		defer srv.Close() // a goroutine that is left over fails the bubble
		test(t, srv, network)
	})
}

// postInMemory sends a POST; the answer comes through the channel, "" if there was none.
func postInMemory(t *testing.T, m *memory, body string) (net.Conn, <-chan string) {
	t.Helper()
	c, err := m.dial(memoryPort)
	require.NoError(t, err)
	answered := make(chan string, 1)
	go func() {
		defer c.Close()
		if _, err := io.WriteString(c, wholePost(body)); err != nil {
			answered <- ""
			return
		}
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			answered <- ""
			return
		}
		text, _ := io.ReadAll(resp.Body)
		answered <- string(text)
	}()
	return c, answered
}

func TestRealAbandonedPostBurnsItsToken(t *testing.T) {
	bubble(t, Options{Profile: Desktop}, func(t *testing.T, srv *Server, m *memory) {
		for _, nonce := range []string{"1", "2"} {
			_, answer := postInMemory(t, m, msg(nonce))
			require.Equal(t, success(nonce), <-answer)
		}
		abandoned, _ := postInMemory(t, m, msg("3", mic))
		synctest.Wait()
		require.NoError(t, abandoned.Close())
		synctest.Wait()
		require.EqualError(t, payload(t, srv, 3).Err, "request: abandoned before it was answered, dropped")
		require.Zero(t, srv.Stats().Connections)
		start := time.Now()
		_, answer := postInMemory(t, m, msg("4"))
		require.Equal(t, success("4"), <-answer)
		require.Equal(t, 60*time.Second, time.Since(start))
		require.Empty(t, srv.Devices())
		require.Equal(t, 4, srv.Stats().Spent)
	})
}

// Who ended a request in line is told in both cases: its sender, which gave it up, or the client itself.
func TestWhoEndedARequestInLine(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{Profile: Desktop, Bucket: 1, Refill: time.Hour})
	for n := range 300 {
		mustPost(t, srv, msg("1"))
		c := dialTCP(t, srv)
		c.write(wholePost(msg("2", mic)))
		stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
		end, want := func() error { return srv.Restart() }, Receiver
		if n%10 == 0 {
			end, want = c.Close, Sender
		}
		require.NoError(t, end())
		p := payload(t, srv, 2*n+2)
		require.Equal(t, want, p.EndedBy, "%d: %v", n, p.Err)
		require.Error(t, p.Err)
		_ = c.Close()
		require.NoError(t, srv.Restart())
	}
}

// Of a large body the client has not read the end when its sender goes away, so it does not notice. How large depends on the build.
func TestRealAbandonedLargePostIsApplied(t *testing.T) {
	t.Parallel()
	for profile, size := range map[Profile]int{Desktop: 128 << 10, DesktopFebruary2026: 64 << 10} {
		for padding, applied := range map[int]bool{size - 8<<10: false, size + 8<<10: true} {
			srv := launch(t, Options{Profile: profile, Refill: time.Second})
			mustPost(t, srv, msg("1"))
			mustPost(t, srv, msg("2"))
			c := dialTCP(t, srv)
			c.write(wholePost(msg("old", mic) + strings.Repeat(" ", padding)))
			stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
			require.NoError(t, c.Close())
			require.Equal(t, success("new"), mustPost(t, srv, msg("new", cameraDev)).body)
			require.Equal(t, []string{"cam"}, ids(srv.Devices()))
			list := srv.Payloads()
			if !applied {
				require.ErrorContains(t, list[2].Err, "abandoned", "%s %d", profile, padding)
				continue
			}
			require.Equal(t, "old", list[2].Nonce, "%s %d: %v", profile, padding, list[2].Err)
			require.NoError(t, list[2].Err)
			require.Equal(t, []string{"mic"}, ids(list[3].Previous), "before the newer one")
		}
	}
}

func TestRealHalfCloseAbandons(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: 1, Refill: time.Hour})
	mustPost(t, srv, msg("1"))
	c := dialTCP(t, srv)
	c.write(wholePost(msg("2", mic)))
	stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
	require.NoError(t, c.Conn.(*net.TCPConn).CloseWrite())
	require.Empty(t, c.rest())
	require.ErrorContains(t, payload(t, srv, 2).Err, "abandoned")
	require.Equal(t, 1, srv.Stats().Queued, "its token will be burnt")
}

func TestRealIdleConnectionIsClosed(t *testing.T) {
	bubble(t, Options{Profile: Desktop}, func(t *testing.T, _ *Server, m *memory) {
		c, err := m.dial(memoryPort)
		require.NoError(t, err)
		r := bufio.NewReader(c)
		for range 2 {
			_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			require.NoError(t, err)
			resp, err := http.ReadResponse(r, nil)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, resp.Body)
			time.Sleep(4 * time.Second)
		}
		start := time.Now().Add(-4 * time.Second)
		_, err = r.ReadByte()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

// Without its own servers the client lets in whom it has looked up before, but
// over no WebSocket.
func TestRealOffline(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{"https://acme.test"}})
	setFault(t, srv, "offline")
	require.Contains(t, mustPost(t, srv, msg("1")).body, `{"code":4000,`)
	require.Equal(t, 4000, shake(t, srv).closed().Code)
	setFault(t, srv, "none")
	require.Equal(t, 200, mustPost(t, srv, msg("2")).status)
	setFault(t, srv, "offline")
	require.Equal(t, success("3"), mustPost(t, srv, msg("3", mic)).body)
	greet(t, srv)
	ws, _, err := dialQuery(t, srv, goodQuery, "https://acme.test")
	require.NoError(t, err)
	require.Equal(t, 4000, closeCode(t, ws))
	require.NoError(t, srv.Restart())
	require.Equal(t, 4000, shake(t, srv).closed().Code, "what was looked up is forgotten")
}

func TestRealLoginScreenTakesHTTP(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop})
	setFault(t, srv, "login")
	require.Equal(t, 1000, shake(t, srv).closed().Code)
	require.Equal(t, success("n"), mustPost(t, srv, msg("n", mic)).body)
	require.Equal(t, []string{"mic"}, ids(srv.DevicesOf(clientID)))
}

func TestRealWebSocketQuery(t *testing.T) {
	const acme = "https://acme.test"
	srv := launch(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{acme}})
	id := "client_id=" + clientID
	for name, c := range map[string]struct {
		path, origin string
		code         int // 0: READY
	}{
		"good":                   {"/?v=1&encoding=json&" + id, acme, 0},
		"any path":               {"/any/path?v=1&" + id, acme, 0},
		"path of the command":    {"/rpc?v=1&" + id, acme, 0},
		"no encoding":            {"/?v=1&" + id, acme, 0},
		"another encoding":       {"/?v=1&encoding=etf&" + id, acme, 4005},
		"v=abc":                  {"/?v=abc&" + id, acme, 0},
		"v=2":                    {"/?v=2&" + id, acme, 4004},
		"no v":                   {"/?" + id, acme, 4004},
		"no origin":              {"/?v=1&" + id, "", 4001},
		"another origin":         {"/?v=1&" + id, "https://evil.test", 4001},
		"unknown, and no origin": {"/?v=1&client_id=1", "", 4000},
		"unknown id":             {"/?v=1&client_id=1", acme, 4000},
	} {
		t.Run(name, func(t *testing.T) {
			ws := dialPath(t, srv, c.path, c.origin)
			if c.code == 0 {
				ready := readyMessage
				if name == "v=abc" {
					ready = strings.Replace(ready, `"v":1`, `"v":null`, 1)
				}
				require.Equal(t, ready, receive(t, ws))
				send(t, ws, msg("n"))
				require.Contains(t, receive(t, ws), `"code":4006`)
				return
			}
			require.Equal(t, c.code, closeCode(t, ws))
		})
	}
}
