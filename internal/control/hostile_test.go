package control

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
)

// talk sends what is given, and returns all that is answered until the server closes.
func (s *stand) talk(out string) string {
	s.t.Helper()
	c := s.raw()
	_, _ = c.Write([]byte(out)) // the server may have closed before it has all
	in, err := io.ReadAll(c)
	if !errors.Is(err, syscall.ECONNRESET) { // so it is told that not all was read
		require.NoError(s.t, err)
	}
	return string(in)
}

// fine asserts that the server still answers, and conns nothing of what was done to it.
func (s *stand) fine() {
	s.t.Helper()
	testlab.Eventually(s.t, "all connections are let go", func() bool { return s.served() == 0 })
	answer, _ := s.ask("GET", "/v1/status", "")
	require.Equal(s.t, 200, answer.StatusCode)
}

const aGet = "GET /v1/status HTTP/1.1\r\nHost: sidetone\r\n"

func TestRawRequests(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		send string
		want []string // begin of each answer, in order
	}{
		"two slashes":         {"GET //v1/status HTTP/1.1\r\nHost: sidetone\r\nConnection: close\r\n\r\n", []string{"404"}},
		"absolute form":       {"GET http://sidetone/v1/status HTTP/1.1\r\nHost: sidetone\r\nConnection: close\r\n\r\n", []string{"404"}},
		"foreign absolute":    {"GET http://example.org/v1/status HTTP/1.1\r\nHost: sidetone\r\nConnection: close\r\n\r\n", []string{"403"}},
		"connect":             {"CONNECT sidetone HTTP/1.1\r\nHost: sidetone\r\nConnection: close\r\n\r\n", []string{"404"}},
		"empty host":          {"GET /v1/status HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", []string{"200"}},
		"no host":             {"GET /v1/status HTTP/1.1\r\n\r\n", []string{"400"}},
		"two hosts":           {aGet + "Host: example.org\r\n\r\n", []string{"400"}},
		"HTTP/1.0":            {"GET /v1/status HTTP/1.0\r\n\r\n", []string{"200"}},
		"HTTP/0.9":            {"GET /v1/status\r\n", []string{"400"}},
		"HTTP/2":              {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", []string{"404"}},
		"upgrade":             {aGet + "Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n", []string{"200"}},
		"TLS":                 {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + long, []string{"431"}},
		"garbage":             {strings.Repeat("\x00\xff\r\n", 10_000), []string{"400"}},
		"NUL in the path":     {"GET /v1/\x00status HTTP/1.1\r\nHost: sidetone\r\n\r\n", []string{"400"}},
		"NUL in a header":     {aGet + "X: a\x00b\r\n\r\n", []string{"400"}},
		"folded header":       {aGet + "X: a\r\n b: c\r\nConnection: close\r\n\r\n", []string{"200"}},
		"bare LF":             {"GET /v1/status HTTP/1.1\nHost: sidetone\nConnection: close\n\n", []string{"200"}},
		"space in a name":     {aGet + "Origin : x\r\n\r\n", []string{"400"}},
		"long path":           {"GET /" + long + " HTTP/1.1\r\nHost: sidetone\r\n\r\n", []string{"431"}},
		"long header":         {aGet + "X: " + long + "\r\n\r\n", []string{"431"}},
		"many headers":        {aGet + strings.Repeat("X: y\r\n", 10_000) + "\r\n", []string{"431"}},
		"head without an end": {aGet, nil},
		"half a request line": {"GET /v1/sta", []string{"400"}},
		"nothing":             {"", nil},
		"half a body":         {request(aPush, "")[:len(request(aPush, ""))-5], []string{"400"}},
		"pipelined":           {aGet + "\r\n" + request(aPush, "") + aGet + "Connection: close\r\n\r\n", []string{"200", "200", "200"}},
		"behind a close":      {aGet + "Connection: close\r\n\r\n" + aGet + "\r\n", []string{"200"}},
		"behind a refusal":    {aGet + "Origin: x\r\n\r\n" + aGet + "\r\n", []string{"403"}},
		"two lengths":         {"PUT /v1/states/x HTTP/1.1\r\nHost: sidetone\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", []string{"400"}},
		"negative length":     {"PUT /v1/states/x HTTP/1.1\r\nHost: sidetone\r\nContent-Length: -1\r\n\r\n", []string{"400"}},
		"no length":           {"PUT /v1/states/x HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n", []string{"400"}},
		"huge length":         {"PUT /v1/states/x HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n", []string{"413"}},
		"unknown coding":      {"PUT /v1/states/x HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", []string{"501"}},
		"chunked":             {chunked(aPush) + aGet + "Connection: close\r\n\r\n", []string{"200", "200"}},
		"bad chunk":           {chunkedHead + "zz\r\n", []string{"400"}},
		"chunk too short":     {chunkedHead + "5\r\nhello-world\r\n", []string{"400"}},
		"chunks without end":  {chunkedHead + "5\r\n" + aPush[:5] + "\r\n", []string{"400"}},
		"chunked get":         {"GET /v1/status HTTP/1.1\r\nHost: sidetone\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", []string{"400"}},
		"chunked and length":  {strings.Replace(chunked(aPush), "\r\n\r\n", "\r\nContent-Length: 3\r\nConnection: close\r\n\r\n", 1), []string{"200"}},
		"request in a body":   {request(aGet+"\r\n", "Connection: close\r\n"), []string{"400"}},
		"expect":              {request(aPush, "Expect: 100-continue\r\nConnection: close\r\n"), []string{"100", "200"}},
		"unknown expectation": {request(aPush, "Expect: a-miracle\r\nConnection: close\r\n"), []string{"417"}},
	} {
		t.Run(name, func(t *testing.T) {
			limits := func(l *limits) { l.request = 400 * time.Millisecond }
			inVirtualTime(t, limits, func(t *testing.T, s *stand) {
				got := s.talk(c.send)
				var began []string
				for _, part := range strings.Split(got, "HTTP/1.")[1:] {
					began = append(began, part[2:5])
				}
				require.Equal(t, c.want, began, "%.300q", got)
				s.fine()
			})
		})
	}
}

const chunkedHead = "PUT /v1/states/acme-700 HTTP/1.1\r\nHost: sidetone\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunked(body string) string {
	return chunkedHead + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body)
}

// TestSlowLoris sends heads and bodies byte by byte, never to their end.
func TestSlowLoris(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.request = 600 * time.Millisecond }, func(t *testing.T, s *stand) {
		endless := aGet + strings.Repeat("X: y\r\n", 1000)
		head, _, _ := strings.Cut(request(strings.Repeat(" ", 5000), ""), "\r\n\r\n")
		var clients sync.WaitGroup
		for i := range 40 {
			c := s.raw()
			clients.Go(func() {
				slow, rest := endless, ""
				if i%2 == 0 {
					slow, rest = strings.Repeat(" ", 5000), head+"\r\n\r\n"
				}
				_, _ = io.WriteString(c, rest)
				ticks := time.NewTicker(5 * time.Millisecond)
				defer ticks.Stop()
				for j := 0; j < len(slow); j++ {
					<-ticks.C
					if _, err := c.Write([]byte{slow[j]}); err != nil {
						return // cut off
					}
				}
				t.Error("it was never cut off")
			})
		}
		_, err := s.client().Push(t.Context(), "acme-700", honestPush(1))
		require.NoError(t, err, "others are served meanwhile")
		clients.Wait()
		s.fine()
	})
}

// TestHugeBody offers 1 GiB and counts how much of it was taken.
func TestHugeBody(t *testing.T) {
	s := serve(t, nil)
	megabyte := bytes.Repeat([]byte(" "), 1<<20)
	for _, head := range []string{
		strings.Replace(request("", ""), "Content-Length: 0", "Content-Length: 1073741824", 1),
		chunkedHead + "40000000\r\n",
	} {
		c := s.raw()
		_, err := io.WriteString(c, head)
		require.NoError(t, err)
		sent := 0
		for range 1024 {
			n, err := c.Write(megabyte)
			sent += n
			if err != nil {
				break
			}
		}
		require.Less(t, sent, 3<<20, "the limit, what net/http reads on to be polite, and a socket's buffer")
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusRequestEntityTooLarge, answer.StatusCode)
		require.True(t, answer.Close)
		c.Close()
	}
	just := aPush + strings.Repeat(" ", 1<<20-len(aPush))
	answer, _ := s.ask("PUT", "/v1/states/x", just)
	require.Equal(t, 200, answer.StatusCode, "1 MiB is allowed")
	answer, body := s.ask("PUT", "/v1/states/x", just+" ")
	require.Equal(t, 413, answer.StatusCode)
	require.Equal(t, CodeTooLarge, problemIn(t, body).Code)
	s.fine()
}

func honestPush(seq uint64) PushRequest {
	yes := true
	return PushRequest{Owner: "honest", Seq: seq, TTLms: 1000, State: map[devices.Field]*bool{devices.HardwareMute: &yes}}
}

func TestManyKeptOpen(t *testing.T) {
	s := serve(t, func(l *limits) { l.request = 200 * time.Millisecond })
	before := files(t)
	conn := s.client().PushConn()
	defer conn.Close()
	_, err := conn.Push(t.Context(), "acme-700", honestPush(0))
	require.NoError(t, err)
	var open []net.Conn
	for range 200 {
		open = append(open, s.raw())
	}
	require.LessOrEqual(t, s.served(), 64)
	_, err = conn.Push(t.Context(), "acme-700", honestPush(1))
	require.NoError(t, err, "who is inside is served")
	// The others have asked for nothing: they are cut off, and there is room again.
	testlab.Eventually(t, "a new connection gets through", func() bool {
		_, err := s.client().Push(t.Context(), "acme-700", honestPush(2))
		return err == nil
	})
	for _, c := range open {
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
	require.NoError(t, conn.Close())
	s.fine()
	testlab.Eventually(t, "every file is closed", func() bool { return files(t) <= before })
}

// What is beyond the limit for all is served when there is room.
func TestConnectionsBeyondTheLimit(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.connections = 2 }, func(t *testing.T, s *stand) {
		first, second := s.watching("/v1/watch"), s.watching("/v1/watch")
		first.next()
		second.next()
		answered := make(chan error, 1)
		go func() {
			_, err := s.client().Status(t.Context())
			answered <- err
		}()
		synctest.Wait()
		require.Empty(t, answered)
		require.NoError(t, first.conn.Close())
		require.NoError(t, <-answered)
		s.backend.set(func(st *Status) { st.PID = 1 })
		require.Equal(t, 1, second.next().PID)
	})
}

func TestWatchesBeyondTheLimit(t *testing.T) {
	s := serve(t, func(l *limits) { l.watches = 1 })
	first := s.watching("/v1/watch")
	first.next()
	answer, body := s.ask("GET", "/v1/watch", "")
	require.Equal(t, 503, answer.StatusCode)
	require.Equal(t, CodeBusy, problemIn(t, body).Code)
	require.NoError(t, first.conn.Close())
	testlab.Eventually(t, "there is room", func() bool {
		return errors.Is(s.client().Watch(t.Context(), func(Change) error { return io.EOF }), io.EOF)
	})
}

// ofProcess is a connection that a process has opened.
type ofProcess struct {
	net.Conn
	pid int
}

func (c ofProcess) PeerPID() int { return c.pid }

// processes says of each connection that it accepts which process it is of.
type processes struct {
	net.Listener
	pids chan int
}

func (l processes) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return ofProcess{c, <-l.pids}, nil
}

// A program that leaks its connections shuts out nobody else. It is told so in answer to its requests, and then before them.
func TestShareOfAProcess(t *testing.T) {
	const leaking, honest = 7, 8
	pids := make(chan int, 1)
	s := serveOn(t, nil, func(l net.Listener) net.Listener { return processes{l, pids} })
	ask := func(pid int) error {
		pids <- pid
		_, err := s.client().Status(t.Context())
		return err
	}
	var leaked []net.Conn
	leak := func(n int) {
		for range n {
			pids <- leaking
			leaked = append(leaked, s.raw())
		}
	}
	busy := func(body string) {
		t.Helper()
		require.NoError(t, valid(t, "/components/schemas/Problem", []byte(body)))
		require.Equal(t, CodeBusy, problemIn(t, body).Code)
	}
	leak(8)
	pids <- leaking
	answer, body := s.ask("GET", "/v1/status", "")
	require.Equal(t, 503, answer.StatusCode)
	require.True(t, answer.Close)
	busy(body)
	leak(7)
	var p *Problem
	require.ErrorAs(t, ask(leaking), &p)
	require.Equal(t, CodeBusy, p.Code)
	leak(1)
	pids <- leaking
	told, err := http.ReadResponse(bufio.NewReader(strings.NewReader(s.talk(""))), nil)
	require.NoError(t, err)
	require.Equal(t, 503, told.StatusCode, "unasked")
	unasked, err := io.ReadAll(told.Body)
	require.NoError(t, err)
	busy(string(unasked))
	require.ErrorAs(t, ask(leaking), &p, "our own client understands that")
	leak(100)
	require.NoError(t, ask(honest))
	for _, c := range leaked {
		require.NoError(t, c.Close())
	}
	testlab.Eventually(t, "it is served again", func() bool { return ask(leaking) == nil })
	testlab.Eventually(t, "all places are free", func() bool { return s.served() == 0 })
	require.Equal(t, 1, strings.Count(s.log.String(), "too many connections"), "the log says it once: %s", s.log)
}

// TestOneProcessHoldsMany connections, and another pushes within a second.
func TestOneProcessHoldsMany(t *testing.T) {
	const greedy, honest = 7, 8
	pids := make(chan int, 1000)
	inVirtualTimeOn(t, nil, func(l net.Listener) net.Listener { return processes{l, pids} }, func(t *testing.T, s *stand) {
		for i := range 400 {
			pids <- greedy
			c := s.raw()
			if i%2 == 0 {
				_, _ = io.WriteString(c, "GET /v1/watch HTTP/1.1\r\nHost: sidetone\r\n\r\n") // it may have been turned away
			}
		}
		began := time.Now()
		pids <- honest
		_, err := s.client().Push(t.Context(), "acme-700", honestPush(1))
		require.NoError(t, err)
		require.LessOrEqual(t, time.Since(began), time.Second)
	})
}
