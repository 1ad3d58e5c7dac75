package memnet

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/nettest"

	"sidetone/internal/local"
	"sidetone/internal/testlab/ipctest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // what runs over the machine's sockets waits more than it works
	goleak.VerifyTestMain(m, ipctest.Kept)
}

// jitter gives each event an instant of its own.
func jitter(series string, nth int) time.Duration {
	return time.Duration(len(series)%7+nth%13+1) * time.Microsecond
}

// connected returns both ends of a connection between two processes.
func connected(t *testing.T, o Options, network string) (client, server *Conn, end func()) {
	t.Helper()
	n := New(o)
	serving, connecting := n.Process(local.Process{PID: 1}), n.Process(local.Process{PID: 2})
	var ln net.Listener
	var c net.Conn
	var err error
	if network == "tcp" {
		var port int
		ln, port, err = serving.ListenPort([]int{0})
		require.NoError(t, err)
		c, err = connecting.DialPort(t.Context(), port)
	} else {
		var path string
		ln, path, err = serving.ListenIPC("/run")
		require.NoError(t, err)
		c, _, err = connecting.DialIPC(t.Context(), path)
	}
	require.NoError(t, err)
	s, err := ln.Accept()
	require.NoError(t, err)
	return c.(*Conn), s.(*Conn), func() {
		connecting.Kill()
		serving.Kill()
	}
}

func TestIsANetConn(t *testing.T) {
	t.Parallel()
	for network, o := range map[string]Options{"tcp": {Delay: jitter}, "unix": {Buffer: 100}} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
				c, s, end := connected(t, o, network)
				return c, s, end, nil
			})
		})
	}
}

// world is a way to get connections: that of the kernel, or one in memory.
type world struct {
	listen func() (net.Listener, error)
	dial   func(ctx context.Context) (net.Conn, error)
}

func kernel(t *testing.T, network string) *world {
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	w := &world{}
	w.listen = func() (net.Listener, error) {
		ln, err := net.Listen(network, address)
		if err == nil {
			address = ln.Addr().String()
		}
		return ln, err
	}
	w.dial = func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}
	return w
}

func memory(network string, o Options) *world {
	n := New(o)
	p, me, port := n.Process(local.Process{PID: 1}), n.Process(local.Process{PID: 2}), 6463
	w := &world{
		listen: func() (net.Listener, error) {
			ln, _, err := p.ListenPort([]int{port})
			return ln, err
		},
		dial: func(ctx context.Context) (net.Conn, error) { return me.DialPort(ctx, port) },
	}
	if network == "unix" {
		w.listen = func() (net.Listener, error) { return p.ReopenIPC("/run/s") }
		w.dial = func(ctx context.Context) (net.Conn, error) {
			c, _, err := me.DialIPC(ctx, "/run/s")
			return c, err
		}
	}
	return w
}

// said names what a call returned, as far as programs can tell.
func said(n int, err error) string {
	for _, known := range []error{
		io.EOF, os.ErrDeadlineExceeded, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNREFUSED, syscall.ENOENT, syscall.EADDRINUSE,
	} {
		if errors.Is(err, known) {
			return fmt.Sprintf("%d, %v", n, known)
		}
	}
	return fmt.Sprintf("%d, %v", n, err)
}

// arrives waits for what is on its way, however long that takes here.
func arrives(c net.Conn) string { return readWithin(c, time.Minute) }

// silent sees that nothing comes.
func silent(c net.Conn) string { return readWithin(c, 200*time.Millisecond) }

func readWithin(c net.Conn, limit time.Duration) string {
	_ = c.SetReadDeadline(time.Now().Add(limit))
	b := make([]byte, 100)
	n, err := c.Read(b)
	return fmt.Sprintf("read %q %s", b[:n], said(n, err))
}

// scripts are things that two programs do, and tell what they saw.
var scripts = map[string]func(see func(string), w *world, c, s net.Conn){
	"close": func(see func(string), _ *world, c, s net.Conn) {
		see(said(s.Write([]byte("bye"))))
		see(said(0, s.Close()))
		see(arrives(c))
		see(arrives(c))
		see(said(0, s.Close()))
		see(said(s.Read(make([]byte, 1))))
	},
	"close with something unread": func(see func(string), _ *world, c, s net.Conn) {
		see(said(c.Write([]byte("unread"))))
		see(said(s.Read(make([]byte, 1))))
		see(said(0, s.Close()))
		see(arrives(c))
	},
	"write to who is gone": func(see func(string), _ *world, c, s net.Conn) {
		see(said(0, s.Close()))
		see(arrives(c))
		var err error
		for err == nil { // TCP hears of it by the reset that the first write causes
			_, err = c.Write([]byte("a"))
		}
		see(said(0, err))
	},
	"half-close": func(see func(string), _ *world, c, s net.Conn) {
		see(said(0, c.(interface{ CloseWrite() error }).CloseWrite()))
		see(arrives(s))
		see(said(c.Write([]byte("more"))))
		see(said(s.Write([]byte("answer"))))
		see(arrives(c))
	},
	"deadlines": func(see func(string), _ *world, c, s net.Conn) {
		see(silent(c))
		see(said(s.Write([]byte("late"))))
		see(said(c.Read(make([]byte, 9)))) // the deadline has passed
		see(arrives(c))
		_ = c.SetDeadline(time.Now().Add(100 * time.Millisecond))
		_, err := c.Write(make([]byte, 64<<20))
		see(said(0, err))
	},
	"nobody listens": func(see func(string), w *world, c, s net.Conn) {
		_, err := w.listen()
		see(said(0, err))
	},
	"not accepted": func(see func(string), w *world, c, s net.Conn) {
		d, err := w.dial(context.Background())
		see(said(0, err))
		see(said(d.Write([]byte("hello"))))
		_ = d.Close()
	},
}

func TestBehavesAsTheKernel(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is Unix that is played")
	}
	t.Parallel()
	for _, network := range []string{"tcp", "unix"} {
		for name, script := range scripts {
			t.Run(network+", "+name, func(t *testing.T) {
				t.Parallel()
				play := func(w *world) string {
					var log strings.Builder
					ln, err := w.listen()
					require.NoError(t, err)
					c, err := w.dial(t.Context())
					require.NoError(t, err)
					s, err := ln.Accept()
					require.NoError(t, err)
					script(func(line string) { log.WriteString(line + "\n") }, w, c, s)
					_, _, _ = c.Close(), s.Close(), ln.Close()
					_, err = w.dial(t.Context())
					log.WriteString(said(0, err))
					return log.String()
				}
				want := play(kernel(t, network))
				require.Equal(t, want, play(memory(network, Options{})))
				require.Equal(t, want, play(memory(network, Options{Delay: jitter})))
			})
		}
	}
}

// inBubble runs f in virtual time, over both kinds of sockets, with and without delays.
func inBubble(t *testing.T, f func(t *testing.T, o Options, network string)) {
	for _, network := range []string{"tcp", "unix"} {
		for name, o := range map[string]Options{"at once": {}, "delayed": {Delay: jitter}} {
			t.Run(network+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { f(t, o, network) })
			})
		}
	}
}

func TestAReadIsADurableWait(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options, network string) {
		c, s, end := connected(t, o, network)
		defer end()
		time.AfterFunc(time.Hour, func() { _, _ = s.Write([]byte("x")) })
		_, err := c.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func TestAFullBufferHoldsTheWriterUp(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options, network string) {
		o.Buffer = 100
		c, s, end := connected(t, o, network)
		defer end()
		require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Minute)))
		n, err := c.Write(make([]byte, 150))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 100, n)
		require.NoError(t, c.SetWriteDeadline(time.Time{}))
		done := make(chan error)
		go func() {
			_, err := c.Write(make([]byte, 50))
			done <- err
		}()
		_, err = io.ReadFull(s, make([]byte, 150))
		require.NoError(t, err)
		require.NoError(t, <-done)
	})
}

func TestWhatIsFrozenDoesNothing(t *testing.T) {
	freeze := map[string]func(*Conn) (thaw func()){
		"connection": func(s *Conn) func() { s.Freeze(); return s.Thaw },
		"process":    func(s *Conn) func() { s.owner.Freeze(); return s.owner.Thaw },
	}
	for name, stop := range freeze {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, o Options, network string) {
				c, s, end := connected(t, o, network)
				defer end()
				thaw := stop(s)
				_, err := c.Write([]byte("ping"))
				require.NoError(t, err, "the buffer takes it")
				read, closed := false, false
				go func() {
					_, _ = s.Read(make([]byte, 4))
					read = true
					_ = s.Close()
					closed = true
				}()
				time.Sleep(time.Hour)
				synctest.Wait()
				require.False(t, read)
				require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Second)))
				_, err = c.Read(make([]byte, 1))
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				thaw()
				time.Sleep(time.Second)
				synctest.Wait()
				require.True(t, read)
				require.True(t, closed)
			})
		})
	}
}

func TestClosingUnblocks(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options, network string) {
		o.Buffer = 10
		c, s, end := connected(t, o, network)
		defer end()
		errs := make(chan error, 2)
		go func() {
			_, err := c.Read(make([]byte, 1))
			errs <- err
		}()
		go func() {
			_, err := c.Write(make([]byte, 11))
			errs <- err
		}()
		synctest.Wait()
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-errs, net.ErrClosed)
		require.ErrorIs(t, <-errs, net.ErrClosed)
		_ = s
	})
}

func TestLingerResets(t *testing.T) {
	inBubble(t, func(t *testing.T, o Options, network string) {
		c, s, end := connected(t, o, network)
		defer end()
		if err := s.SetLinger(0); network == "unix" {
			require.ErrorIs(t, err, errors.ErrUnsupported)
			return
		}
		require.NoError(t, s.Close())
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, syscall.ECONNRESET)
	})
}
