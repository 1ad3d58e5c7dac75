package pulse

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHandshake(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(fake)
		fails string // "" if it succeeds
		is    error
	}{
		"newer server":    {serve: func(f fake) { f.handshake(99) }},
		"with flags":      {serve: func(f fake) { f.handshake(0xC0000000 | ourVersion) }},
		"oldest server":   {serve: func(f fake) { f.handshake(oldestVersion) }},
		"too old":         {serve: func(f fake) { f.reply(f.expect(cmdAuth), func(e *encoder) { e.u32(oldestVersion - 1) }) }, fails: "update the sound server"},
		"refused":         {serve: func(f fake) { f.write(msg(cmdError, f.expect(cmdAuth), func(e *encoder) { e.u32(1) })) }, fails: "PULSE_COOKIE", is: ErrAccess},
		"hangs up":        {serve: func(f fake) { f.expect(cmdAuth); _ = f.nc.Close() }, fails: "ended the connection", is: io.EOF},
		"empty answer":    {serve: func(f fake) { f.reply(f.expect(cmdAuth), nil) }, fails: "authenticate", is: errMalformed},
		"no number":       {serve: func(f fake) { f.reply(f.expect(cmdAuth), func(e *encoder) { e.str("x") }) }, fails: "authenticate", is: errMalformed},
		"not this server": {serve: func(f fake) { f.expect(cmdAuth); f.write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, is: errMalformed, fails: "frame of"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer theirs.Close()
			var served sync.WaitGroup
			served.Go(func() { c.serve(fake{t, theirs}) })
			conn, err := open(context.Background(), ours, "fake", Options{Cookie: make([]byte, cookieSize)}, ourVersion)
			served.Wait()
			if c.fails == "" {
				require.NoError(t, err)
				require.LessOrEqual(t, conn.Version(), uint32(ourVersion))
				require.GreaterOrEqual(t, conn.Version(), uint32(oldestVersion))
				require.NoError(t, conn.Close())
				return
			}
			require.Nil(t, conn)
			require.ErrorContains(t, err, c.fails)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
		})
	}
}

func TestHandshakeSends(t *testing.T) {
	ours, theirs := net.Pipe()
	f := fake{t, theirs}
	go func() {
		_, _ = open(context.Background(), ours, "fake", Options{Name: "lab", Cookie: bytes.Repeat([]byte{9}, cookieSize)}, ourVersion)
	}()
	command, tag, args := f.next()
	require.Equal(t, uint32(cmdAuth), command)
	d := decoder{b: args}
	require.Equal(t, uint32(ourVersion), d.u32())
	require.Equal(t, bytes.Repeat([]byte{9}, cookieSize), d.blob())
	require.NoError(t, d.err)
	f.reply(tag, func(e *encoder) { e.u32(ourVersion) })
	command, _, args = f.next()
	require.Equal(t, uint32(cmdSetClientName), command)
	d = decoder{b: args}
	require.Equal(t, map[string]string{"application.name": "lab"}, d.props())
	require.NoError(t, theirs.Close())
}

func TestRepliesAreMatchedByTag(t *testing.T) {
	c, f := connect(t, Options{})
	go func() {
		var tags []uint32
		for range 3 {
			_, tag, _ := f.next()
			tags = append(tags, tag)
		}
		f.reply(12345, func(e *encoder) { e.str("nobody asked") })
		for i := range tags { // the last question is answered first
			tag := tags[len(tags)-1-i]
			f.reply(tag, func(e *encoder) { e.u32(tag) })
		}
	}()
	bodies, err := c.ask(context.Background(), askSources, askSinks, askCards)
	require.NoError(t, err)
	for i, body := range bodies {
		n, err := parse(body, ourVersion, (*decoder).u32)
		require.NoError(t, err)
		require.Equal(t, uint32(2+i), n, "tags 0 and 1 were the handshake's")
	}
}

func TestConcurrentRequests(t *testing.T) {
	c, f := connect(t, Options{})
	const n = 50
	go func() {
		for range n {
			_, tag, _ := f.next()
			f.reply(tag, func(e *encoder) {
				e.u32(tag)
				e.str("module")
				e.str("")
				e.u32(0)
				e.props(nil)
			})
		}
	}()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			modules, err := c.Modules(context.Background())
			if err != nil || len(modules) != 1 {
				t.Error(modules, err)
			}
		})
	}
	all.Wait()
}

func TestRefusalKeepsTheConnection(t *testing.T) {
	c, f := connect(t, Options{})
	go func() {
		f.write(msg(cmdError, f.expect(cmdSourceInfo), func(e *encoder) { e.u32(5) }))
		f.write(msg(cmdError, f.expect(cmdSourceList), func(e *encoder) { e.u32(4711) }))
		f.reply(f.expect(cmdModuleList), nil)
	}()
	_, err := c.Source(context.Background(), 3)
	require.ErrorIs(t, err, ErrNoEntity)
	require.ErrorContains(t, err, "pulse: read a source on fake: the sound server refused: no such entity")
	_, err = c.Sources(context.Background())
	require.ErrorContains(t, err, "error 4711")
	modules, err := c.Modules(context.Background())
	require.NoError(t, err)
	require.Empty(t, modules)
	require.NoError(t, c.Err())
}

func TestMalformedReplyKeepsTheConnection(t *testing.T) {
	c, f := connect(t, Options{})
	go func() {
		f.reply(f.expect(cmdSourceList), func(e *encoder) { e.str("nonsense") })
		for _, command := range []uint32{cmdServerInfo, cmdSourceList, cmdSinkList, cmdCardList, cmdModuleList} {
			f.reply(f.expect(command), nil)
		}
		f.reply(f.expect(cmdOutputList), func(e *encoder) { e.u32(1) })
	}()
	_, err := c.Sources(context.Background())
	require.ErrorIs(t, err, errMalformed)
	_, err = c.Snapshot(context.Background())
	require.ErrorIs(t, err, errMalformed)
	require.ErrorContains(t, err, "read the server info")
	require.NoError(t, c.Err())
}

func TestBrokenFramesEndTheConnection(t *testing.T) {
	header := func(length, channel uint32) []byte {
		h := make([]byte, headerSize)
		binary.BigEndian.PutUint32(h, length)
		binary.BigEndian.PutUint32(h[4:], channel)
		return h
	}
	control := func(body string) []byte {
		return append(header(uint32(len(body)), controlChannel), body...)
	}
	for name, b := range map[string][]byte{
		"huge":                 header(maxFrame+1, controlChannel),
		"no command":           control("L\x00\x00\x00\x02"),
		"command not a number": control("t\x00\x00\x00\x02L\x00\x00\x00\x00"),
		"tag not a number":     control("L\x00\x00\x00\x02t\x00\x00\x00\x00"),
		"short event":          control("L\x00\x00\x00\x42L\x00\x00\x00\x00L\x00\x00\x00\x00"),
		"event not a number":   control("L\x00\x00\x00\x42L\x00\x00\x00\x00t\x00\x00\x00\x00L\x00\x00\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			c, f := connect(t, Options{OnEvent: func(Facility, EventType, uint32) { t.Error("event") }})
			f.write(b)
			<-c.Done()
			require.ErrorIs(t, c.Err(), errMalformed)
			_, err := c.Sources(context.Background())
			require.ErrorIs(t, err, errMalformed)
		})
	}
}

func TestErrorReplyWithoutCodeEndsTheConnection(t *testing.T) {
	c, f := connect(t, Options{})
	go func() { f.write(msg(cmdError, f.expect(cmdSourceList), nil)) }()
	_, err := c.Sources(context.Background())
	require.ErrorIs(t, err, errMalformed)
	<-c.Done()
}

func TestWhatIsNotForUsIsSkipped(t *testing.T) {
	events := make(chan uint32, 1)
	c, f := connect(t, Options{OnEvent: func(_ Facility, _ EventType, i uint32) { events <- i }})
	sound := make([]byte, headerSize, headerSize+9000) // longer than the read buffer, on channel 0
	binary.BigEndian.PutUint32(sound, 9000)
	f.write(append(sound, make([]byte, 9000)...))
	f.write(msg(61, 0xFFFFFFFF, func(e *encoder) { e.u32(1) })) // a request for sound
	f.write(msg(cmdReply, 4711, func(e *encoder) { e.str(string(bytes.Repeat([]byte{'x'}, 9000))) }))
	longEvent := msg(cmdEvent, 0xFFFFFFFF, func(e *encoder) { e.u32(uint32(OnSource)); e.u32(41); e.u32(0) })
	f.write(longEvent)
	require.Equal(t, uint32(41), <-events)
	require.NoError(t, c.Err())
}

func TestEvents(t *testing.T) {
	type got struct {
		f Facility
		e EventType
		i uint32
	}
	events := make(chan got, 3)
	c, f := connect(t, Options{OnEvent: func(f Facility, e EventType, i uint32) { events <- got{f, e, i} }})
	go func() {
		_, tag, args := f.next()
		d := decoder{b: args}
		if d.u32() != 0x202 {
			t.Error("wrong mask")
		}
		f.reply(tag, nil)
		f.write(event(OnSource, Change, 1))
		f.write(event(OnCard, Remove, 2))
		f.write(event(OnServer, New, InvalidIndex))
	}()
	require.NoError(t, c.Subscribe(context.Background(), OnSource, OnCard))
	require.Equal(t, got{OnSource, Change, 1}, <-events)
	require.Equal(t, got{OnCard, Remove, 2}, <-events)
	require.Equal(t, got{OnServer, New, InvalidIndex}, <-events)
}

type endless struct {
	frame []byte
	off   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.frame[e.off:])
	e.off = (e.off + n) % len(e.frame)
	return n, nil
}

func TestEventsCostNoGarbage(t *testing.T) {
	var seen uint32
	c := &Conn{onEvent: func(_ Facility, _ EventType, i uint32) { seen += i }}
	r := bufio.NewReader(&endless{frame: event(OnSource, Change, 1)})
	allocs := testing.AllocsPerRun(1000, func() {
		if err := c.readFrame(r); err != nil {
			t.Fatal(err)
		}
	})
	require.Zero(t, allocs)
	require.Equal(t, uint32(1001), seen)
}

func TestLargeReply(t *testing.T) {
	body := func(e *encoder) {
		for i := range uint32(3000) {
			e.u32(i)
			e.str("module-with-a-long-argument")
			e.str(string(bytes.Repeat([]byte{'a'}, 300)))
			e.u32(0)
			e.props(map[string]string{"k": "v"})
		}
	}
	c, f := connect(t, Options{})
	go func() { f.reply(f.expect(cmdModuleList), body) }()
	modules, err := c.Modules(context.Background())
	require.NoError(t, err)
	require.Len(t, modules, 3000)

	// The same, but the server dies in the middle of it.
	go func() {
		b := msg(cmdReply, f.expect(cmdModuleList), body)
		f.write(b[:len(b)/2])
		_ = f.nc.Close()
	}()
	_, err = c.Modules(context.Background())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t, Options{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		start := time.Now()
		go f.next()
		_, err := c.Sources(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "restart it")
		require.Equal(t, time.Second, time.Since(start))
		<-c.Done()
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)
		require.ErrorContains(t, c.Err(), "list sources")
		require.ErrorIs(t, c.Subscribe(context.Background(), 1), context.DeadlineExceeded, "the connection is lost for all")
	})
}

func TestServerThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := connect(t, Options{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := c.Sources(ctx) // a pipe has no buffer: the write blocks
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-c.Done()
	})
}

func TestRequestsEndWithoutADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t, Options{})
		start := time.Now()
		go f.next()
		_, err := c.Snapshot(context.Background())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, requestLimit, time.Since(start))
	})
}

func TestCancelledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t, Options{})
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := c.Sources(gone)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, c.Err(), "nothing was sent, so nothing is lost")

		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			f.next()
			cancel()
		}()
		_, err = c.Sources(ctx)
		require.ErrorIs(t, err, context.Canceled)
		<-c.Done()
	})
}

func TestIdleConnectionNeedsNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, f := connect(t, Options{})
		time.Sleep(24 * time.Hour)
		require.NoError(t, c.Err())
		go func() { f.reply(f.expect(cmdSourceList), nil) }()
		_, err := c.Sources(context.Background())
		require.NoError(t, err)
	})
}

func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*Conn, fake)
		want error
	}{
		"eof":   {func(_ *Conn, f fake) { _ = f.nc.Close() }, io.EOF},
		"close": {func(c *Conn, _ fake) { _ = c.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			conn, f := connect(t, Options{})
			failed := make(chan error, 1)
			asked := make(chan struct{})
			go func() {
				_, err := conn.Sources(context.Background())
				failed <- err
			}()
			go func() {
				f.expect(cmdSourceList)
				close(asked)
			}()
			<-asked
			require.NoError(t, conn.Err())
			c.end(conn, f)
			<-conn.Done()
			require.ErrorIs(t, conn.Err(), c.want)
			require.ErrorIs(t, <-failed, c.want, "a waiting request learns of it")
			_, err := conn.Sinks(context.Background())
			require.ErrorIs(t, err, c.want)
			require.NoError(t, conn.Close())
			require.NoError(t, conn.Close())
			require.ErrorIs(t, conn.Err(), c.want, "the first reason stays")
		})
	}
}
