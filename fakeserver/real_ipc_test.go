package fakeserver

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
)

func TestRealHandshake(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: -1})
	id := `"client_id":"` + clientID + `"`
	for text, code := range map[string]int{
		`{"v":1,` + id + `}`:                   0,
		`{"v":1.0,` + id + `}`:                 0,
		`{"v":"1",` + id + `}`:                 0,
		`{"v":"abc",` + id + `}`:               0,
		`{"v":true,` + id + `}`:                0,
		`{` + id + `}`:                         0,
		`{"v":2,` + id + `}`:                   1003,
		`{"v":"2",` + id + `}`:                 1003,
		`{"v":0,` + id + `}`:                   1003,
		`{"v":null,` + id + `}`:                1003,
		`{"v":2}`:                              1003,
		`{"v":1}`:                              4000,
		`{"v":1,"client_id":"abc"}`:            4000,
		`[]`:                                   4000,
		`null`:                                 1003,
		`{"v":1,"client_id":` + clientID + `}`: 0,
		`{"v":1,"client_id":1}`:                4000,
		`{"v":1,`:                              1003,
		``:                                     1003,
	} {
		p := dialIPC(t, srv)
		p.send(ipcframe.Handshake, text)
		if code == 0 {
			require.Equal(t, readyUserMessage, p.answer(), text)
			continue
		}
		require.Equal(t, code, p.closed().Code, text)
	}
	p := dialIPC(t, srv)
	p.send(ipcframe.Handshake, handshake(2, clientID))
	require.Equal(t, errorData{1003, "Invalid Version: 2"}, p.closed())
}

func TestRealFrames(t *testing.T) {
	t.Parallel()
	header := func(op uint32, size uint32) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, op), size)
	}
	for name, c := range map[string]struct {
		frame []byte
		code  int
	}{
		"second handshake":   {ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID))), 1003},
		"bad opcode":         {header(5, 2), 1003},
		"negative opcode":    {header(0xffff_ffff, 2), 1003},
		"negative size":      {header(ipcframe.Frame, 0xffff_ffff), 1003},
		"too large":          {header(ipcframe.Frame, maxMessage+1), 1003},
		"too large a ping":   {header(ipcframe.Ping, maxMessage+1), 1003},
		"not JSON":           {ipcframe.Encode(ipcframe.Frame, []byte("{")), 1003},
		"empty ping":         {ipcframe.Encode(ipcframe.Ping, nil), 1003},
		"ping is not JSON":   {ipcframe.Encode(ipcframe.Ping, []byte("x")), 1003},
		"close":              {ipcframe.Encode(ipcframe.Close, []byte(`{}`)), 1000},
		"close without JSON": {ipcframe.Encode(ipcframe.Close, nil), 1003},
	} {
		t.Run(name, func(t *testing.T) {
			srv := launchIPC(t, Options{Profile: Desktop})
			p := greet(t, srv)
			_, err := p.Write(c.frame)
			require.NoError(t, err)
			require.Equal(t, c.code, p.closed().Code)
			require.NoError(t, p.Close())
			stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
		})
	}
	srv := launchIPC(t, Options{Profile: Desktop})
	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("n")+strings.Repeat(" ", maxMessage-len(msg("n"))))
	require.Equal(t, success("n"), p.answer())
	p.send(ipcframe.Frame, msg("m", strings.Replace(mic, `"mic"`, "\"m\xff\"", 1)))
	require.Equal(t, success("m"), p.answer(), "what is no UTF-8 is replaced")
	require.Equal(t, []string{"m\uFFFD"}, ids(srv.Devices()))
}

// What comes before READY is lost, also in the write of the handshake.
func TestRealBeforeReadyIsLost(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: -1})
	for n := range 20 {
		p := dialIPC(t, srv)
		_, err := p.Write(append(ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID))), ipcframe.Encode(ipcframe.Frame, []byte(msg("early", mic)))...))
		require.NoError(t, err)
		require.Equal(t, readyUserMessage, p.answer())
		p.send(ipcframe.Frame, msg("late"))
		require.Equal(t, success("late"), p.answer())
		require.EqualError(t, payload(t, srv, 2*n+1).Err, "message: sent before READY, lost")
		require.NoError(t, p.Close())
	}
}

// A command in place of the handshake ends the connection.
func TestRealCommandBeforeTheHandshake(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop})
	for _, text := range []string{msg("first", mic), "null", "{"} {
		p := dialIPC(t, srv)
		p.send(ipcframe.Frame, text)
		require.Equal(t, errorData{1003, "did not handshake"}, p.closed(), text)
	}
	require.Empty(t, srv.Payloads())
}

// The handshake has to come within 10 s, whatever is said meanwhile. Then it waits for its turn as long as it takes.
func TestRealHandshakeInTime(t *testing.T) {
	bubble(t, Options{Profile: Desktop, Bucket: 1}, func(t *testing.T, srv *Server, m *memory) {
		connect := func(say ...string) *peer {
			c, err := m.dial(memoryPipe)
			require.NoError(t, err)
			p := &peer{t, c}
			for _, text := range say {
				p.send(ipcframe.Handshake, text)
			}
			return p
		}
		ready := connect(handshake(1, clientID))
		require.Equal(t, readyUserMessage, ready.answer())

		began := time.Now()
		silent, queued := connect(), connect(handshake(1, clientID))
		defer silent.Close()
		for range 3 {
			time.Sleep(3 * time.Second)
			silent.send(ipcframe.Ping, "{}")
			op, _ := silent.read()
			require.Equal(t, ipcframe.Pong, op)
		}
		require.Equal(t, 1, srv.Stats().Queued)
		require.Equal(t, 1006, silent.closing().Code)
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, 1, srv.Stats().Queued)
		late := connect()
		time.Sleep(9 * time.Second)
		late.send(ipcframe.Handshake, handshake(1, clientID))

		require.Equal(t, readyUserMessage, queued.answer())
		require.Equal(t, 30*time.Second, time.Since(began))
		require.Equal(t, readyUserMessage, late.answer())
		require.Equal(t, 60*time.Second, time.Since(began))
		ready.send(ipcframe.Frame, msg("n"))
		require.Equal(t, success("n"), ready.answer(), "one that is ready stays")
		_, _, _ = ready.Close(), queued.Close(), late.Close()
	})
}

// A connection that is closed while it waits in line burns its token in older builds only.
func TestRealClosedInLine(t *testing.T) {
	for profile, want := range map[Profile]time.Duration{Desktop: 30 * time.Second, DesktopFebruary2026: time.Minute} {
		bubble(t, Options{Profile: profile, Bucket: 1}, func(t *testing.T, _ *Server, m *memory) {
			connect := func() *peer {
				c, err := m.dial(memoryPipe)
				require.NoError(t, err)
				p := &peer{t, c}
				p.send(ipcframe.Handshake, handshake(1, clientID))
				return p
			}
			first := connect()
			require.Equal(t, readyUserMessage, first.answer())
			began := time.Now()
			queued := connect()
			synctest.Wait()
			_, _ = first.Close(), queued.Close()
			synctest.Wait()
			last := connect()
			require.Equal(t, readyUserMessage, last.answer())
			require.Equal(t, want, time.Since(began), profile)
			_ = last.Close()
		})
	}
}

// closing reads a CLOSE, but not what follows.
func (p *peer) closing() errorData {
	p.t.Helper()
	op, text := p.read()
	require.Equal(p.t, ipcframe.Close, op)
	var said errorData
	require.NoError(p.t, jsonOf(text, &said))
	return said
}

func TestRealCapacity(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop})
	var first *peer
	for n := range maxIPC {
		p := dialIPC(t, srv)
		if n == 0 {
			first = p
		}
	}
	stats(t, srv, func(s Stats) bool { return s.Connections == maxIPC })
	for range 2 {
		require.Equal(t, errorData{1006, "Server at capacity"}, dialIPC(t, srv).closed())
	}
	require.NoError(t, first.Close())
	require.NoError(t, srv.wait(deadline(t), func() bool {
		srv.mu.Lock()
		defer srv.mu.Unlock()
		return srv.run.admitted() == maxIPC-1
	}))
	greet(t, srv)

	older := launchIPC(t, Options{Profile: DesktopFebruary2026})
	for range maxIPC {
		dialIPC(t, older)
	}
	greet(t, older)
}

// Commands are obeyed in order, and also when the connection ends right after them.
func TestRealPipelinedCommands(t *testing.T) {
	t.Parallel()
	srv := launchIPC(t, Options{Profile: Desktop})
	p := greet(t, srv)
	var all []byte
	const count = 200
	for n := range count {
		all = append(all, ipcframe.Encode(ipcframe.Frame, []byte(msg(fmt.Sprint(n), mic)))...)
	}
	go func() { _, _ = p.Write(all) }()
	for n := range count {
		require.Equal(t, success(fmt.Sprint(n)), p.answer())
	}

	q := greet(t, srv)
	_, err := q.Write(append(all, ipcframe.Encode(ipcframe.Frame, []byte(msg("last", cameraDev)))...))
	require.NoError(t, err)
	require.NoError(t, q.Close())
	got := payload(t, srv, 2*count+1)
	require.Equal(t, "last", got.Nonce)
	require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	for n, p := range srv.Payloads()[count : 2*count] {
		require.Equal(t, fmt.Sprint(n), p.Nonce)
		require.NoError(t, p.Err)
	}
}

// The later list takes an id over, and its end takes the id from both.
func TestRealTwoApplicationsWithOneDevice(t *testing.T) {
	const other = "876543210987654321"
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	as := func(id string, devices ...string) {
		req := newRequest(t, "POST", strings.Replace(rpcURL(srv), clientID, id, 1), msg("n", devices...))
		got, err := do(t, req)
		require.NoError(t, err)
		require.Equal(t, success("n"), got.body)
	}
	unmuted := strings.Replace(mic, "true", "false", 1)
	as(clientID, mic, speaker)
	as(other, unmuted)
	d, ok := srv.Lookup("mic")
	require.True(t, ok)
	require.False(t, *d.HardwareMute, "the later list has taken it over")
	require.Equal(t, []string{"mic", "out"}, ids(srv.Known()))

	as(other)
	_, ok = srv.Lookup("mic")
	require.False(t, ok, "the entry of both is gone")
	require.Equal(t, []string{"out"}, ids(srv.Known()))
	require.Equal(t, []string{"mic", "out"}, ids(srv.DevicesOf(clientID)), "the list of the first is as it was")
	as(clientID, mic, speaker)
	require.Equal(t, []string{"mic", "out"}, ids(srv.Known()), "sent again, it is back")

	as(other, unmuted)
	as(other, cameraDev)
	require.Equal(t, []string{"cam", "out"}, ids(srv.Known()))
	require.NoError(t, srv.Restart())
	require.Equal(t, []string{"cam", "mic", "out"}, ids(srv.Known()), "a start of the client reads all lists anew")
}

func TestRealRestart(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop})
	noise := strings.Replace(mic, `"hardware_mute":true`, `"hardware_mute":true,"noise_suppression":true`, 1)
	mustPost(t, srv, msg("1", noise))
	require.NoError(t, srv.Restart())
	d, ok := srv.Lookup("mic")
	require.True(t, ok)
	require.False(t, *d.HardwareMute)
	require.True(t, *d.NoiseSuppression)
	mustPost(t, srv, msg("2"))
	require.NoError(t, srv.Restart())
	require.Equal(t, []string{clientID}, srv.ClientIDs(), "an empty list is one")
	require.NotNil(t, srv.DevicesOf(clientID))
	require.Empty(t, srv.DevicesOf(clientID))
}

// A frozen server is a process that the system has stopped.
func TestFreeze(t *testing.T) {
	bubble(t, Options{Profile: Desktop, Bucket: 2}, func(t *testing.T, srv *Server, m *memory) {
		c, err := m.dial(memoryPipe)
		require.NoError(t, err)
		p := &peer{t, c}
		p.send(ipcframe.Handshake, handshake(1, clientID))
		require.Equal(t, readyUserMessage, p.answer())
		_, first := postInMemory(t, m, msg("1"))
		require.Equal(t, success("1"), <-first)
		_, second := postInMemory(t, m, msg("2", cameraDev))
		synctest.Wait()

		srv.Freeze()
		go p.send(ipcframe.Frame, msg("3", mic))
		_, third := postInMemory(t, m, msg("4"))
		before := srv.Stats()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, before, srv.Stats(), "nothing was accepted, read, or let through")
		require.Empty(t, srv.Devices())
		srv.Thaw()
		require.Equal(t, success("3"), p.answer())
		require.Equal(t, success("2"), <-second)
		require.Equal(t, success("4"), <-third)

		srv.Freeze()
		go func() { _, _ = p.Write(ipcframe.Encode(ipcframe.Frame, []byte(msg("5")))) }()
		synctest.Wait()
		require.NoError(t, srv.Restart(), "it can be killed, and starts unfrozen")
		_, err = io.ReadAll(p)
		require.NoError(t, err)
		_, fourth := postInMemory(t, m, msg("6"))
		require.Equal(t, success("6"), <-fourth)
	})
}

// Over a network in memory and in virtual time the server works as ever, and
// leaves no goroutine behind whatever state it is closed in.
func TestServerInMemory(t *testing.T) {
	for _, profile := range []Profile{Documented, Desktop, ArRPC, Blackhole, Flaky} {
		t.Run(string(profile), func(t *testing.T) {
			bubble(t, Options{Profile: profile, Bucket: 1}, func(t *testing.T, srv *Server, m *memory) {
				var open []net.Conn
				for _, first := range []string{"", string(ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID)))), string(ipcframe.Encode(ipcframe.Frame, nil))} {
					c, err := m.dial(memoryPipe)
					require.NoError(t, err)
					open = append(open, c)
					go func() {
						_, _ = io.WriteString(c, first)
						_, _ = io.Copy(io.Discard, c)
					}()
				}
				for n := range 3 {
					c, _ := postInMemory(t, m, msg(fmt.Sprint(n), mic))
					open = append(open, c)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				links := srv.ConnectionsByTransport()
				require.NotZero(t, links[IPC]+links[HTTP])
				require.NoError(t, srv.Restart())
				require.NoError(t, srv.Close())
				for _, c := range slices.Backward(open) {
					_ = c.Close()
				}
			})
		})
	}
}
