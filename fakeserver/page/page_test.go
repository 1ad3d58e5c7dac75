package page

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

func TestAddress(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "127.0.0.1:8080", "127.1.2.3:1", "[::1]:0"} {
		require.NoError(t, CheckAddr(addr), addr)
	}
	for addr, want := range map[string]string{
		"":                 "want an IP address and a port",
		"127.0.0.1":        "want an IP address and a port",
		"8080":             "want an IP address and a port",
		":8080":            "want an IP address and a port",
		"localhost:8080":   "such as 127.0.0.1:8080",
		"127.0.0.1:70000":  "want an IP address and a port",
		"0.0.0.0:8080":     "not a loopback address",
		"192.168.1.5:8080": "use 127.0.0.1:8080",
		"[::]:8080":        "not a loopback address",
		"[::1%lo]:8080":    "not a loopback address",
	} {
		require.ErrorContains(t, CheckAddr(addr), want, addr)
		_, err := Start(addr, &fakeserver.Server{})
		require.ErrorContains(t, err, want, addr)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	_, err := Start("127.0.0.1:0")
	require.EqualError(t, err, "page: no client to show")
	srv := client(t, fakeserver.Options{})
	p := show(t, srv)
	_, err = Start(p.host, srv)
	require.ErrorContains(t, err, "cannot open "+p.host+", another program may hold it")
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "a second time")
	again, err := Start(p.host, srv)
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Close())
}

func TestOnlyItsOwnHost(t *testing.T) {
	p := show(t, client(t, fakeserver.Options{}))
	_, port, err := net.SplitHostPort(p.host)
	require.NoError(t, err)
	for host, want := range map[string]int{
		p.host: http.StatusOK, "localhost:" + port: http.StatusForbidden, "evil.example": http.StatusForbidden,
		"evil.example:" + port: http.StatusForbidden, "127.0.0.1": http.StatusForbidden, "127.0.0.2:" + port: http.StatusForbidden,
	} {
		for _, path := range []string{"", "page.js", "page.css"} {
			req := request(t, http.MethodGet, p.URL()+path, "")
			req.Host = host
			resp, body := do(t, req)
			require.Equal(t, want, resp.StatusCode, "%s %s", host, path)
			require.Equal(t, want == http.StatusForbidden, strings.Contains(body, "this page is at "+p.URL()))
		}
	}
	for _, path := range []string{"events", "raw?client=0&seq=1"} {
		req := request(t, http.MethodGet, p.URL()+path, "")
		req.Host = "evil.example"
		resp, _ := do(t, req)
		require.Equal(t, http.StatusForbidden, resp.StatusCode, path)
	}
}

func TestHeaders(t *testing.T) {
	p := show(t, client(t, fakeserver.Options{}))
	for path, kind := range map[string]string{
		"": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8", "nowhere": "text/plain; charset=utf-8",
	} {
		resp, body := do(t, request(t, http.MethodGet, p.URL()+path, ""))
		h := resp.Header
		require.Equal(t, kind, h.Get("Content-Type"))
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", h.Get("Cache-Control"))
		require.Equal(t, "same-origin", h.Get("Cross-Origin-Resource-Policy"))
		require.Empty(t, h.Get("Access-Control-Allow-Origin"))
		csp := h.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:", "frame-ancestors 'none'"} {
			require.Contains(t, strings.Split(csp, "; "), part)
		}
		require.NotContains(t, csp, "unsafe")
		require.Equal(t, path == "", strings.Contains(body, p.token), "the token is in the page and nowhere else")
	}
}

func TestOnlyThePageItselfGivesOrders(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	p := show(t, srv)
	other := show(t, srv)
	const squat = `{"client":0,"do":"fault","fault":"squatter"}`
	own := strings.TrimSuffix(p.URL(), "/")
	for name, c := range map[string]struct {
		origin []string
		token  string
		want   int
	}{
		"own origin":      {[]string{own}, p.token, http.StatusNoContent},
		"no origin":       {nil, p.token, http.StatusNoContent},
		"no token":        {[]string{own}, "", http.StatusForbidden},
		"wrong token":     {[]string{own}, "x" + p.token[1:], http.StatusForbidden},
		"other start":     {[]string{own}, other.token, http.StatusForbidden},
		"other origin":    {[]string{"http://evil.example"}, p.token, http.StatusForbidden},
		"opaque origin":   {[]string{"null"}, p.token, http.StatusForbidden},
		"empty origin":    {[]string{""}, p.token, http.StatusForbidden},
		"two origins":     {[]string{own, own}, p.token, http.StatusForbidden},
		"own with https":  {[]string{strings.Replace(own, "http", "https", 1)}, p.token, http.StatusForbidden},
		"other local one": {[]string{strings.TrimSuffix(other.URL(), "/")}, p.token, http.StatusForbidden},
	} {
		require.NoError(t, srv.SetFault(fakeserver.Fault{}))
		req := request(t, http.MethodPost, p.URL()+"do", squat)
		if c.origin != nil {
			req.Header["Origin"] = c.origin
		}
		req.Header.Set(tokenHeader, c.token)
		resp, _ := do(t, req)
		require.Equal(t, c.want, resp.StatusCode, name)
		obeyed := srv.Fault().Kind == fakeserver.FaultSquatter
		require.Equal(t, c.want == http.StatusNoContent, obeyed, name)
	}
	require.NotEqual(t, p.token, other.token)
}

func TestOrders(t *testing.T) {
	srv, second := client(t, fakeserver.Options{}), client(t, fakeserver.Options{})
	p := show(t, srv, second)
	order := func(body string) (int, string) {
		req := request(t, http.MethodPost, p.URL()+"do", body)
		req.Header.Set(tokenHeader, p.token)
		resp, text := do(t, req)
		return resp.StatusCode, strings.TrimSpace(text)
	}
	for body, want := range map[string]string{
		`{"client":2,"do":"stop"}`:              "404 no client 2",
		`{"client":-1,"do":"stop"}`:             "404 no client -1",
		`{"do":"explode"}`:                      `422 unknown order "explode", want fault, restart, stop, resume, drop, freeze or thaw`,
		`{"do":"fault","fault":"squater"}`:      `422 unknown fault "squater", did you mean "squatter"?`,
		`{"do":"fault","fault":"close-code=7"}`: "422 fault close-code: 7 is no close code",
		`{`:                                     "400 cannot read the order",
		`[]`:                                    "400 cannot read the order",
		`{"do":"fault","fault":"error=1:` + strings.Repeat("x", 5000) + `"}`: "400 cannot read the order: http: request body too large",
	} {
		code, text := order(body)
		require.Contains(t, fmt.Sprint(code, " ", text), want)
	}
	code, _ := order(`{"client":1,"do":"stop"}`)
	require.Equal(t, http.StatusNoContent, code)
	require.False(t, second.Running())
	require.True(t, srv.Running())
	code, _ = order(`{"client":1,"do":"resume"}`)
	require.Equal(t, http.StatusNoContent, code)
	require.True(t, second.Running())

	form := request(t, http.MethodPost, p.URL()+"do", `{"do":"stop"}`)
	form.Header.Set("Content-Type", "text/plain")
	form.Header.Set(tokenHeader, p.token)
	resp, _ := do(t, form)
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode)
	resp, _ = do(t, request(t, http.MethodGet, p.URL()+"do", ""))
	require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)

	require.NoError(t, second.Close())
	code, text := order(`{"client":1,"do":"resume"}`)
	require.Equal(t, http.StatusUnprocessableEntity, code)
	require.Equal(t, fakeserver.ErrClosed.Error(), text)
}

func TestRaw(t *testing.T) {
	srv := client(t, fakeserver.Options{KeepPayloads: 2})
	p := show(t, srv)
	report(t, srv, list("forgotten"))
	report(t, srv, list("kept", `{"id":"<b>\u202e `+"\U0001F600\u202e\U000E0001"+`"}`))
	report(t, srv, strings.Repeat("x", 2*maxRaw))
	raw := func(query string) (int, string) {
		resp, body := do(t, request(t, http.MethodGet, p.URL()+"raw?"+query, ""))
		require.Equal(t, "text/plain; charset=utf-8", resp.Header.Get("Content-Type"))
		return resp.StatusCode, body
	}
	code, body := raw("client=0&seq=2")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "{\n  \"nonce\": \"kept\",")
	require.Contains(t, body, `<b>\u202e `+"\U0001F600"+`\u202e\udb40\udc01`)
	code, body = raw("client=0&seq=3")
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `not JSON: "xxx`)
	require.Less(t, len(body), maxRaw+100)
	for _, query := range []string{"client=0&seq=1", "client=0&seq=4", "client=0&seq=0", "client=1&seq=2", "client=-1&seq=2", "seq=2", "client=0&seq=x"} {
		code, _ := raw(query)
		require.Equal(t, http.StatusNotFound, code, query)
	}
}

func TestLongRawIsCut(t *testing.T) {
	raw := []byte(`{"a":"` + strings.Repeat("é", maxRaw) + `"}`)
	text := string(readable(raw))
	require.Less(t, len(text), maxRaw+100)
	require.Contains(t, text, fmt.Sprintf("… the first %d of ", maxRaw))
}

// A stream reads the events of a page.
type stream struct {
	t    *testing.T
	resp *http.Response
	scan *bufio.Scanner
}

func follow(t *testing.T, p *Page) *stream {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10) // so that a browser that does not read is soon a slow one
		}
		return c, err
	}}
	resp, err := transport.RoundTrip(request(t, http.MethodGet, p.URL()+"events", "").WithContext(deadline(t)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	s := &stream{t, resp, bufio.NewScanner(resp.Body)}
	s.scan.Buffer(nil, 64<<20)
	return s
}

func (s *stream) next() (event string, m message) {
	s.t.Helper()
	for s.scan.Scan() {
		switch line := s.scan.Text(); {
		case strings.HasPrefix(line, "event: "):
			event = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			require.NoError(s.t, json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &m))
		case line == "":
			return event, m
		}
	}
	require.Fail(s.t, "the stream has ended", s.scan.Err())
	return "", m
}

// seen reads changes until a payload has come, and returns the numbers of all that came.
func (s *stream) seen(last int) (numbers []int) {
	s.t.Helper()
	for {
		_, m := s.next()
		for _, n := range m.Clients {
			for _, p := range n.Payloads {
				numbers = append(numbers, p.Seq)
				if p.Seq == last {
					return numbers
				}
			}
		}
	}
}

func TestEventsTellEverythingAndThenChanges(t *testing.T) {
	srv, other := client(t, fakeserver.Options{}), client(t, fakeserver.Options{})
	report(t, srv, list("1", headset(true)))
	report(t, srv, list("2", noVendor))
	p := show(t, srv, other)
	s := follow(t, p)
	event, m := s.next()
	require.Equal(t, "state", event)
	require.Equal(t, p.start, m.Start)
	require.Len(t, m.Faults, strings.Count(fakeserver.FaultHelp(), "\n"))
	require.Len(t, m.Clients, 2)
	require.Len(t, m.Clients[0].Payloads, 2)
	require.Equal(t, "devices[0].vendor", m.Clients[0].Payloads[1].Reasons[0].Path)
	lists := *m.Clients[0].Lists
	require.Equal(t, "on", lists[0].Devices[0].Mute)

	setFault(t, other, "hang")
	for {
		event, m = s.next()
		require.Equal(t, "change", event)
		if n := m.Clients[len(m.Clients)-1]; n.Head.FaultKind == "hang" {
			require.Equal(t, 1, n.Client)
			require.Nil(t, n.Lists, "nothing but what has changed")
			require.Empty(t, n.Payloads)
			break
		}
	}
	report(t, srv, list("3", headset(false)))
	require.Equal(t, []int{3}, s.seen(3))
	require.NoError(t, p.Close())
	for s.scan.Scan() { // what was under way
	}
}

// A browser that does not read costs the fake client nothing, and learns the
// latest state when it reads again.
func TestSlowBrowser(t *testing.T) {
	t.Parallel()
	srv := client(t, fakeserver.Options{})
	p := show(t, srv)
	slow := follow(t, p)
	slow.next()
	quick := follow(t, p)
	quick.next()
	const payloads, devices = maxShown + 50, 20 // some 7 MB of changes, more than sockets hold
	long := strings.Repeat("n", maxName)
	for i := range payloads {
		var all []string
		for n := range devices {
			all = append(all, fmt.Sprintf(`{"type":"audioinput","id":"%s%d","vendor":{"name":%[1]q},"model":{"name":%[1]q},`+
				`"related":[],"hardware_mute":%[3]t}`, long, n, i%2 == 0))
		}
		report(t, srv, list(fmt.Sprint(i), all...))
	}
	require.Equal(t, payloads, srv.Stats().Payloads)
	quick.seen(payloads)
	numbers := slow.seen(payloads)
	require.IsIncreasing(t, numbers)
}

func TestManyBrowsers(t *testing.T) {
	srv := client(t, fakeserver.Options{})
	p := show(t, srv)
	var streams []*stream
	for range 50 {
		s := follow(t, p)
		s.next()
		streams = append(streams, s)
	}
	report(t, srv, list("1", headset(true)))
	for _, s := range streams {
		require.Equal(t, []int{1}, s.seen(1))
	}
}

// The page ends although browsers are connected that neither read nor go.
func TestCloseWithBrowsersThere(t *testing.T) {
	p, err := Start("127.0.0.1:0", client(t, fakeserver.Options{}))
	require.NoError(t, err)
	follow(t, p).next()
	idle, err := net.Dial("tcp", p.host)
	require.NoError(t, err)
	defer idle.Close()
	require.NoError(t, p.Close())
	require.NoError(t, idle.SetReadDeadline(time.Now().Add(patience)))
	_, err = idle.Read(make([]byte, 1))
	require.Error(t, err)
}
