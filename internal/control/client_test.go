package control

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/testlab"

	"github.com/stretchr/testify/require"
)

func TestClient(t *testing.T) {
	s := serve(t, nil)
	c := s.client()
	status, err := c.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.backend.status, status)
	list, err := c.Devices(t.Context())
	require.NoError(t, err)
	require.Equal(t, s.backend.Devices(), list)
	var archive bytes.Buffer
	require.NoError(t, c.Bundle(t.Context(), &archive))
	_, err = zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	require.NoError(t, err)
	answer, err := c.Push(t.Context(), "acme 7/..", honestPush(1))
	var p *Problem
	require.ErrorAs(t, err, &p)
	require.Equal(t, 400, p.Status)
	require.Zero(t, answer)
	answer, err = c.Push(t.Context(), "acme 7%?#", honestPush(1))
	require.NoError(t, err)
	require.Equal(t, PushAnswer{Generation: 8, Units: 1, Clients: 2}, answer)
	require.Equal(t, []string{"acme 7%?#"}, s.backend.products)

	s.backend.refused = &Refusal{Kind: ErrAmbiguous, Message: "give serial", Candidates: []string{"A1", "B2"}}
	_, err = c.Push(t.Context(), "acme-700", honestPush(1))
	require.ErrorIs(t, err, ErrAmbiguous)
	require.ErrorAs(t, err, &p)
	require.Equal(t, &Problem{409, CodeAmbiguous, "give serial", []string{"A1", "B2"}}, p)

	unleased := honestPush(1)
	unleased.TTLms = 0
	_, err = c.Push(t.Context(), "acme-700", unleased)
	require.ErrorContains(t, err, "keep the connection open", "each call has its own")
	require.Empty(t, s.backend.releases())
	testlab.Eventually(t, "no connection stays", func() bool { return s.served() == 0 })
}

func TestClientWithoutAnAgent(t *testing.T) {
	s := serve(t, nil)
	s.stop()
	for _, reason := range []error{nil, syscall.ECONNREFUSED, fs.ErrNotExist} {
		c := s.client()
		if reason != nil {
			c = NewClient(func(context.Context) (net.Conn, error) { return nil, reason })
		}
		_, err := c.Status(t.Context())
		require.ErrorIs(t, err, ErrNotRunning)
		require.ErrorContains(t, err, "start it with 'sidetone run'")
		require.NotContains(t, err.Error(), "http://")
		_, err = c.PushConn().Push(t.Context(), "x", honestPush(1))
		require.ErrorIs(t, err, ErrNotRunning)
	}
	denied := NewClient(func(context.Context) (net.Conn, error) { return nil, fs.ErrPermission })
	_, err := denied.Status(t.Context())
	require.ErrorIs(t, err, fs.ErrPermission)
	require.NotErrorIs(t, err, ErrNotRunning)
}

// answering makes a client of a server that answers each request with what is given.
func answering(t *testing.T, answer string) *Client {
	return NewClient(func(context.Context) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			_, _ = http.ReadRequest(bufio.NewReader(far))
			_, _ = far.Write([]byte(answer))
		}()
		t.Cleanup(func() { near.Close() })
		return near, nil
	})
}

func TestClientAndStrangeAnswers(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
	for answer, want := range map[string]string{
		"":                        "ask the agent: ",
		"SSH-2.0-OpenSSH_9.2\r\n": "it is no HTTP",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx":                                    "cannot be read",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}":                                   "unexpected EOF",
		"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 1\r\n\r\nx":       "the agent answers 431 ",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}":                            "the agent answers 404 Not Found",
		"HTTP/1.1 302 Found\r\nLocation: http://example.org/\r\nContent-Length: 0\r\n\r\n": "the agent answers 302 Found",
		"garbage\r\n\r\n": "ask the agent: ",
	} {
		_, err := answering(t, answer).Status(t.Context())
		require.ErrorContains(t, err, want, "%q", answer)
		code := health.AgentUnreadable
		if answer == "" || want == "unexpected EOF" {
			code = health.AgentUnreachable
		}
		why := Unreachable(err)
		healthtest.Raised(t, why)
		require.Equal(t, code, why.Code, "%q", answer)
		err = answering(t, answer).Watch(t.Context(), func(Change) error { return nil })
		require.Error(t, err, "%q", answer)
	}
	for _, lines := range []string{`{"pid": 1}` + "\nx\n", "{}\n", "{" + strings.Repeat(" ", maxChange)} {
		err := answering(t, head+lines).Watch(t.Context(), func(Change) error { return nil })
		require.ErrorIs(t, err, errUnreadable)
	}
}

// TestClientDeadlines asks an agent that never answers.
func TestClientDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := NewClient(func(ctx context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				_, _ = http.ReadRequest(bufio.NewReader(far))
				_, _ = far.Read(make([]byte, 1)) // until the other end closes
				far.Close()
			}()
			return near, nil
		})
		conn := silent.PushConn()
		for name, ask := range map[string]func() error{
			"status":  func() error { _, err := silent.Status(t.Context()); return err },
			"devices": func() error { _, err := silent.Devices(t.Context()); return err },
			"upgrade": func() error { return silent.Upgrade(t.Context()) },
			"replace": func() error { return silent.StopForUpdate(t.Context()) },
			"bundle":  func() error { return silent.Bundle(t.Context(), io.Discard) },
			"watch":   func() error { return silent.Watch(t.Context(), nil) },
			"record":  func() error { return silent.Record(t.Context(), nil) },
			"push":    func() error { _, err := silent.Push(t.Context(), "x", honestPush(1)); return err },
			"hold": func() error {
				_, err := conn.Push(t.Context(), "x", honestPush(1))
				require.ErrorIs(t, err, ErrEnded)
				return err
			},
		} {
			begin := time.Now()
			err := ask()
			require.ErrorIs(t, err, ErrSilent, name)
			require.EqualError(t, err, ErrSilent.Error(), name)
			require.Equal(t, 3*time.Second, time.Since(begin), "%s, in the bubble's time", name)
		}
		require.NoError(t, conn.Close())
		undialled := NewClient(func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() })
		_, err := undialled.Status(t.Context())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Error(t, undialled.Watch(t.Context(), nil))
	})
}

// TestWatchWithoutAState: an agent that hangs between the head of its answer and what it knows is silent, too; one that has said what it
// knows may be quiet for as long as it likes.
func TestWatchWithoutAState(t *testing.T) {
	for said, want := range map[string]struct {
		err  error
		took time.Duration
	}{
		"":                  {ErrSilent, 3 * time.Second},
		`{"pid": 1}` + "\n": {ErrEnded, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := NewClient(func(context.Context) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					defer far.Close()
					_, _ = http.ReadRequest(bufio.NewReader(far))
					_, _ = far.Write([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + said))
					_ = far.SetReadDeadline(time.Now().Add(time.Hour))
					_, _ = far.Read(make([]byte, 1)) // until the other end closes
				}()
				return near, nil
			})
			begin := time.Now()
			require.ErrorIs(t, c.Watch(t.Context(), func(Change) error { return nil }), want.err)
			require.Equal(t, want.took, time.Since(begin), "in the bubble's time")
		})
	}
}

func unleased() PushRequest {
	p := honestPush(0)
	p.TTLms = 0
	return p
}

func TestPushConn(t *testing.T) {
	inVirtualTime(t, func(l *limits) {
		l.idle, l.request = 50*time.Millisecond, 100*time.Millisecond
	}, func(t *testing.T, s *stand) {
		other := s.raw()
		conn := s.client().PushConn()
		for range 3 {
			_, err := conn.Push(t.Context(), "acme-700", unleased())
			require.NoError(t, err)
		}
		require.Len(t, s.backend.pushes, 1, "one connection, one holder")
		_, err := other.Read(make([]byte, 1))
		require.Error(t, err, "an idle connection that conns nothing is closed")
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, s.backend.releases(), "one that conns a push is not")
		_, err = conn.Push(t.Context(), "acme-700", unleased())
		require.NoError(t, err)
		select {
		case <-conn.Done():
			t.Fatal("it has not ended")
		default:
		}
		require.NoError(t, conn.Close())
		<-conn.Done()
		require.NoError(t, conn.Close())
		testlab.Eventually(t, "the push ends", func() bool { return len(s.backend.releases()) == 1 })
		for holder, n := range s.backend.releases() {
			require.Equal(t, 1, n)
			require.Contains(t, s.backend.pushes, holder)
		}
		_, err = conn.Push(t.Context(), "acme-700", unleased())
		require.ErrorIs(t, err, ErrEnded, "no other connection takes its place")
	})
}

// A connection over which nothing came into force conns nothing.
func TestRefusedPushHoldsNothing(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.idle = 50 * time.Millisecond }, func(t *testing.T, s *stand) {
		s.backend.refused = &Refusal{Kind: ErrAmbiguous, Message: "give serial"}
		conn := s.client().PushConn()
		defer conn.Close()
		_, err := conn.Push(t.Context(), "acme-700", unleased())
		require.ErrorIs(t, err, ErrAmbiguous)
		select {
		case <-conn.Done():
		case <-time.After(20 * time.Second):
			t.Fatal("it is kept open for ever")
		}
		testlab.Eventually(t, "it is closed", func() bool { return s.served() == 0 })
		require.Empty(t, s.backend.releases())
	})
}

func TestPushConnOfAnAgentThatStops(t *testing.T) {
	s := serve(t, nil)
	conns := []*PushConn{s.client().PushConn(), s.client().PushConn()}
	for _, h := range conns {
		_, err := h.Push(t.Context(), "acme-700", unleased())
		require.NoError(t, err)
	}
	s.stop()
	require.Len(t, s.backend.releases(), 2, "Serve has released all before it returns")
	for _, h := range conns {
		<-h.Done()
		_, err := h.Push(t.Context(), "acme-700", unleased())
		require.ErrorIs(t, err, ErrEnded)
	}
}

func TestPushConnIsRefused(t *testing.T) {
	s := serve(t, nil)
	conn := s.client().PushConn()
	defer conn.Close()
	s.backend.refused = &Refusal{Kind: ErrUnknown, Message: "no"}
	_, err := conn.Push(t.Context(), "acme-700", unleased())
	require.ErrorIs(t, err, ErrUnknown)
	require.NotErrorIs(t, err, ErrEnded)
	s.backend.refused = nil
	_, err = conn.Push(t.Context(), "acme-700", unleased())
	require.NoError(t, err, "the connection has outlived it")
}

// TestReleaseComesAfterThePush has the peer go while its push is being applied.
func TestReleaseComesAfterThePush(t *testing.T) {
	s := serve(t, nil)
	s.backend.block = make(chan struct{})
	c := s.raw()
	_, err := c.Write([]byte(request(`{"owner":"x","state":{"hardware_mute":true}}`, "")))
	require.NoError(t, err)
	<-s.backend.entered
	require.Empty(t, s.backend.releases())
	c.Close()
	testlab.Eventually(t, "the push is given up, then released", func() bool { return len(s.backend.releases()) == 1 })
	require.Empty(t, s.backend.pushed())
}

// TestServeWaitsForTheBackend stops a server whose Backend does not give up a push when told.
func TestServeWaitsForTheBackend(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.grace = time.Millisecond }, func(t *testing.T, s *stand) {
		s.backend.block, s.backend.deaf = make(chan struct{}), true
		_, err := s.raw().Write([]byte(request(`{"owner":"x","state":{"hardware_mute":true}}`, "")))
		require.NoError(t, err)
		<-s.backend.entered
		late := time.AfterFunc(200*time.Millisecond, func() { close(s.backend.block) })
		defer late.Stop()
		s.stop()
		require.Len(t, s.backend.releases(), 1)
	})
}

// TestDeadlinesEndWithTheRequest has a watch and a push last longer than a request may take to
// arrive.
func TestDeadlinesEndWithTheRequest(t *testing.T) {
	inVirtualTime(t, func(l *limits) { l.request = 50 * time.Millisecond }, func(t *testing.T, s *stand) {
		s.backend.block = make(chan struct{})
		w := s.watching("/v1/watch")
		w.next()
		pusher := s.raw()
		_, err := pusher.Write([]byte(request(aPush, "")))
		require.NoError(t, err)
		<-s.backend.entered
		require.Empty(t, s.talk(""), "one that came later is cut off by now")
		s.backend.set(func(st *Status) { st.PID = 1 })
		require.Equal(t, 1, w.next().PID)
		close(s.backend.block)
		answer, err := http.ReadResponse(bufio.NewReader(pusher), nil)
		require.NoError(t, err)
		require.Equal(t, 200, answer.StatusCode)
	})
}

func TestServeEndsWithItsListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	broken := errors.New("broken")
	err = NewServer(newFake(), slog.New(slog.DiscardHandler)).Serve(t.Context(), failing{l, broken})
	require.ErrorIs(t, err, broken)
}

// failing cannot accept.
type failing struct {
	net.Listener
	err error
}

func (f failing) Accept() (net.Conn, error) { return nil, f.err }
