package link

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"sidetone/internal/rpcclient/link/linktest"

	"github.com/stretchr/testify/require"
)

// TestHTTPUnaskedReplies: a server that talks by itself is not taken to have served, so its
// connections are not replaced at full speed.
func TestHTTPUnaskedReplies(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"an answer": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"busy":      "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"timeout":   "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			c := &httpConn{Conn: near, opened: time.Now(), replies: make(chan httpReply, 1)}
			go c.read()
			_, err := io.WriteString(far, text)
			require.NoError(t, err)
			_, replied := <-c.replies
			require.False(t, replied)
			require.ErrorIs(t, c.err, ErrLost)
			require.False(t, c.served)
		})
	}
}

func TestHTTPPauseBeforeANewConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &httpLink{redial: newBackoff(redialFirst, redialInterval)}
		young := func() *httpConn { return &httpConn{opened: time.Now()} }
		served := &httpConn{opened: time.Now(), served: true}
		old := &httpConn{opened: time.Now().Add(-redialInterval)}
		require.Zero(t, l.redialDelay(served))
		require.Zero(t, l.redialDelay(old))
		last := time.Duration(0)
		for range 4 {
			p := l.redialDelay(young())
			require.Greater(t, p, last)
			last = p
		}
		for range 10 {
			p := l.redialDelay(young())
			require.GreaterOrEqual(t, p, redialInterval/2)
			require.LessOrEqual(t, p, redialInterval*6/5)
		}
		require.Zero(t, l.redialDelay(served))
		require.LessOrEqual(t, l.redialDelay(young()), redialFirst*6/5, "after a good one the pauses are short again")
	})
}

// port is a port on which serve serves each connection, which is closed when serve returns.
func port(serve func(net.Conn)) Target {
	return Target{
		Port: 6463, ClientID: clientID, Jitter: rand.Float64, SameOwner: func() (same, known bool) { return true, true },
		Dial: func(context.Context, int) (net.Conn, error) {
			near, far := net.Pipe()
			go func() {
				defer far.Close()
				serve(far)
			}()
			return near, nil
		},
	}
}

// accept answers that the list is taken.
func accept(c net.Conn, req *http.Request) {
	var sent linktest.Command
	if json.NewDecoder(req.Body).Decode(&sent) != nil {
		return
	}
	accepted := `{"cmd":"SET_CERTIFIED_DEVICES","data":null,"evt":null,"nonce":"` + sent.Nonce + `"}`
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(accepted), accepted)
}

// TestHTTPDoesNotMixUpReplies: a late reply to a request that was given up is never taken for the next one's.
func TestHTTPDoesNotMixUpReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := time.Second
		l, err := openHTTP(t.Context(), port(func(c net.Conn) {
			r := bufio.NewReader(c)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				time.Sleep(late)
				accept(c, req)
			}
		}), nil, false)
		require.NoError(t, err)
		defer l.Close()
		ctx, cancel := context.WithTimeout(t.Context(), late/2)
		defer cancel()
		require.Error(t, l.Deliver(ctx, "first", []byte(`{"nonce":"first"}`)))
		require.NoError(t, l.Deliver(t.Context(), "second", []byte(`{"nonce":"second"}`)))
	})
}

// TestWhoeverTakesAPortHasToProveItself: a connection has served a list and ended. The next one may be to another program, unless the system
// tells that it is not.
func TestWhoeverTakesAPortHasToProveItself(t *testing.T) {
	t.Parallel()
	for known, want := range map[bool]int{true: 0, false: 1} {
		t.Run(fmt.Sprint("owner known: ", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				to := port(func(c net.Conn) {
					req, err := http.ReadRequest(bufio.NewReader(c))
					if err == nil {
						accept(c, req)
					}
				})
				to.SameOwner = func() (bool, bool) { return true, known }
				proofs := 0
				l, err := openHTTP(t.Context(), to, func(context.Context) error { proofs++; return nil }, false)
				require.NoError(t, err)
				defer l.Close()
				require.NoError(t, l.Deliver(t.Context(), "first", []byte(`{"nonce":"first"}`)))
				synctest.Wait()
				require.NoError(t, l.Deliver(t.Context(), "second", []byte(`{"nonce":"second"}`)))
				require.Equal(t, want, proofs)
			})
		})
	}
}

// TestHTTPCloseEndsEverything also while a new connection is awaited.
func TestHTTPCloseEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := openHTTP(t.Context(), port(func(net.Conn) {}), nil, false) // closes all: the link pauses
		require.NoError(t, err)
		synctest.Wait()
		l.Close()
		_, _, err = l.connection(t.Context())
		require.ErrorIs(t, err, ErrLost, "a closed link stays closed")
	})
}

// Whose a port is counts once it is connected to: before, another program may take it over.
func TestAPortThatChangesHandsDuringTheDialLearnsNothing(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer far.Close()
	mine := true
	to := Target{SameOwner: func() (same, known bool) { return mine, true }, Dial: func(context.Context, int) (net.Conn, error) { mine = false; return near, nil }}
	_, err := OpenHTTP(t.Context(), to, nil, true)
	require.ErrorIs(t, err, ErrLost)
	_, err = far.Read(make([]byte, 1))
	require.Error(t, err, "the connection is closed")
}

// TestPostRequestIsWhatTheClientUnderstands: a request that differs is left without an answer.
func TestPostRequestIsWhatTheClientUnderstands(t *testing.T) {
	t.Parallel()
	got := postRequest(Target{Port: 6463, ClientID: clientID, Origin: "https://acme.example"}, []byte(`{"a":1}`))
	require.Equal(t, "POST /rpc?v=1&client_id="+clientID+" HTTP/1.1\r\n"+
		"Host: 127.0.0.1:6463\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n"+`{"a":1}`, string(got))
}
