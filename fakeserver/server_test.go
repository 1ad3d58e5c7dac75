package fakeserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartTakesTheFirstFreePort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port

	srv, err := Start(Options{Ports: []int{port, 0}})
	require.NoError(t, err)
	defer srv.Close()
	require.NotEqual(t, port, srv.Port())
	require.Equal(t, fmt.Sprintf("http://127.0.0.1:%d", srv.Port()), srv.URL())

	_, err = Start(Options{Ports: []int{port}})
	require.ErrorContains(t, err, fmt.Sprintf("127.0.0.1:%d", port))
	_, err = Start(Options{Ports: []int{port, port}})
	require.ErrorContains(t, err, "none of the 2 ports can be opened")
	require.NotContains(t, err.Error(), "\n")
}

func TestOptions(t *testing.T) {
	o, err := Options{}.withDefaults()
	require.NoError(t, err)
	require.Equal(t, []int{6463, 6464, 6465, 6466, 6467, 6468, 6469, 6470, 6471, 6472, 6473}, o.Ports)

	for want, opts := range map[string]Options{
		"port -1: not between":     {Ports: []int{-1}},
		"port 65536: not between":  {Ports: []int{65536}},
		`client id "abc": not a`:   {ClientIDs: []string{"abc"}},
		"no transport left":        {NoWebSocket: true, NoHTTP: true},
		"cannot keep -1 payloads":  {KeepPayloads: -1},
		`unknown fault "nonsense"`: {Fault: Fault{Kind: "nonsense"}},
	} {
		require.ErrorContains(t, opts.Check(), want)
		_, err := Start(opts)
		require.ErrorContains(t, err, want)
	}
}

func TestSnowflake(t *testing.T) {
	for id, want := range map[string]bool{
		strings.Repeat("1", 16): false, strings.Repeat("1", 17): true,
		strings.Repeat("1", 20): true, strings.Repeat("1", 21): false,
		"1234567890123456x": false, "": false, "١٢٣٤٥٦٧٨٩": false,
	} {
		require.Equal(t, want, isSnowflake(id), id)
	}
}

func TestRestartResetsHardwareMute(t *testing.T) {
	srv := launch(t, Options{})
	mustPost(t, srv, msg("n", mic, speaker))
	ws := connect(t, srv)
	port := srv.Port()
	d, ok := srv.Lookup("mic")
	require.True(t, ok)
	require.True(t, *d.HardwareMute)

	require.NoError(t, srv.Restart())
	require.Equal(t, port, srv.Port())
	_, _, err := ws.ReadMessage()
	require.Error(t, err, "restarting closes all connections")
	require.Zero(t, srv.Connections())
	d, _ = srv.Lookup("mic")
	require.False(t, *d.HardwareMute)
	require.Equal(t, []string{"mic", "out"}, ids(srv.Devices()), "the list survives")
	require.Nil(t, srv.Devices()[1].HardwareMute, "what was not reported stays so")
	require.True(t, *srv.Payloads()[0].Devices[0].HardwareMute, "the record tells what was sent")

	connect(t, srv)
	mustPost(t, srv, msg("n", mic, speaker))
	require.Equal(t, "Acme Headset 700 mic: hardware_mute false → true", Describe(payload(t, srv, 2).Previous, srv.Devices()))
}

func TestRestartOnAnotherPort(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{})
	port := srv.Port()
	connect(t, srv)
	free := ipctest.Port(t)
	other, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", free))
	require.NoError(t, err)
	require.ErrorContains(t, srv.Restart(free), "another client may hold it")
	require.Equal(t, port, srv.Port(), "a stopped server keeps its port")
	require.NoError(t, other.Close())
	require.NoError(t, srv.Resume(free))
	require.Equal(t, free, srv.Port())
	connect(t, srv)
	require.ErrorContains(t, srv.Restart(70000), "port 70000")
	connect(t, srv)
}

func TestStopAndResume(t *testing.T) {
	srv := launch(t, Options{})
	connect(t, srv)
	mustPost(t, srv, msg("n", mic, speaker))
	srv.Stop()
	srv.Stop()
	_, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.Error(t, err)
	require.True(t, *srv.Devices()[0].HardwareMute, "nothing changes before the client starts again")
	srv.DropConnections()
	require.NoError(t, srv.Resume())
	require.False(t, *srv.Devices()[0].HardwareMute)
	ws := connect(t, srv)
	require.NoError(t, srv.Resume(), "a server that runs goes on")
	send(t, ws, msg("n"))
	require.Equal(t, success("n"), receive(t, ws))

	setFault(t, srv, "refuse")
	require.NoError(t, srv.Restart(), "a fault outlives a restart")
	_, err = net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.Error(t, err)
	srv.Stop()
	setFault(t, srv, "none")
	require.NoError(t, srv.Resume())
	connect(t, srv)
}

func TestClose(t *testing.T) {
	srv := launch(t, Options{})
	connect(t, srv)
	mustPost(t, srv, msg("n", cameraDev))
	setFault(t, srv, "hang")
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Faults == 1 }))
	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close())
	require.Zero(t, srv.Connections())
	require.Len(t, srv.Payloads(), 1)
	require.ErrorIs(t, srv.Resume(), ErrClosed)
	require.ErrorIs(t, srv.Restart(), ErrClosed)
	require.NoError(t, srv.SetFault(Fault{}))
	_, err = srv.WaitPayload(context.Background(), 1)
	require.ErrorIs(t, err, ErrClosed)
}

func TestDropConnections(t *testing.T) {
	srv := launch(t, Options{})
	a, b := connect(t, srv), connect(t, srv)
	srv.DropConnections()
	require.Equal(t, 1006, closeCode(t, a))
	require.Equal(t, 1006, closeCode(t, b))
	connect(t, srv)
}

func TestWait(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	seen := make(chan error, 1)
	go func() {
		seen <- srv.Wait(deadline(t), func(list []Device) bool { return len(list) == 2 })
	}()
	send(t, ws, msg("1", mic))
	send(t, ws, msg("2", mic, speaker))
	require.NoError(t, <-seen)

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	send(t, ws, msg("3", "null"))
	payload(t, srv, 3)
	err := srv.Wait(ended, func([]Device) bool { return false })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "2 devices in force, last payload: rejected, devices[0]: null, not an object")
	_, err = srv.WaitPayload(ended, 3)
	require.ErrorContains(t, err, "no payload after number 3")
	require.ErrorIs(t, srv.WaitStats(ended, func(Stats) bool { return false }), context.Canceled)
	p, err := srv.WaitPayload(ended, 1)
	require.NoError(t, err, "it is there already")
	require.Equal(t, "2", p.Nonce)
}

func TestOnPayload(t *testing.T) {
	var seen []string
	var srv *Server
	started := make(chan struct{})
	srv = launch(t, Options{OnPayload: func(p Payload) {
		<-started
		seen = append(seen, p.Nonce)
		assert.Equal(t, p.Seq, srv.Stats().Payloads)
		assert.Equal(t, ids(p.Devices), ids(srv.Devices()))
		assert.NoError(t, srv.SetFault(Fault{}))
	}})
	close(started)
	ws := connect(t, srv)
	for n := range 5 {
		send(t, ws, msg(fmt.Sprint(n), cameraDev))
		receive(t, ws)
		require.Len(t, seen, n+1, "called before the answer")
	}
	require.Equal(t, []string{"0", "1", "2", "3", "4"}, seen)
}

func TestRecordIsCapped(t *testing.T) {
	srv := launch(t, Options{KeepPayloads: 3})
	for n := range 10 {
		mustPost(t, srv, msg(fmt.Sprint(n)))
	}
	list := srv.Payloads()
	require.Len(t, list, 3)
	require.Equal(t, 8, list[0].Seq)
	require.Equal(t, 10, srv.Stats().Payloads)
	p, err := srv.WaitPayload(deadline(t), 2)
	require.NoError(t, err)
	require.Equal(t, 8, p.Seq, "the oldest that is kept")

	r := record{limit: 1000}
	big := make([]byte, maxKept/4)
	for n := range 6 {
		r.add(Payload{Seq: n + 1, Raw: big})
	}
	require.Len(t, r.list, 4)
	require.Equal(t, maxKept, r.bytes)
}

func TestListsOfSeveralClients(t *testing.T) {
	var s store
	named := func(kind, id, name string) Device { return Device{Type: kind, ID: id, Model: Named{Name: name}} }
	s.put("a", []Device{named(AudioInput, "x", "first"), named(AudioOutput, "x", "second"), named(VideoInput, "y", "third")})
	require.Equal(t, "second", s.registry()["x"].device.Model.Name, "the last entry wins, whatever its type")
	s.put("b", []Device{named(VideoInput, "y", "fourth")})
	require.Equal(t, "fourth", s.registry()["y"].device.Model.Name)
	require.Len(t, s.of("a"), 3)
	require.Equal(t, []string{"y"}, ids(s[len(s)-1].Devices))
	s.put("a", nil)
	require.Empty(t, s[len(s)-1].Devices)
	require.NotContains(t, s.registry(), "x")
	for n := range 2 * maxClients {
		s.put(fmt.Sprint(n), nil)
	}
	require.Len(t, s, maxClients)

	srv := launch(t, Options{})
	mustPost(t, srv, msg("n", cameraDev))
	require.Equal(t, []string{"cam"}, ids(srv.DevicesOf(clientID)))
	require.Nil(t, srv.DevicesOf("999999999999999999"))
}

func TestLogger(t *testing.T) {
	var b bytes.Buffer
	srv := launch(t, Options{Logger: slog.New(slog.NewTextHandler(&b, nil))})
	ws, _, err := dialQuery(t, srv, "v=2", "")
	require.NoError(t, err)
	require.Equal(t, 4004, closeCode(t, ws))
	require.NoError(t, srv.Close())
	require.Contains(t, b.String(), `msg="websocket refused" conn=1 code=4004`)
}

// Everything at once: what matters is that nothing races, hangs or leaks.
func TestTurmoil(t *testing.T) {
	t.Parallel()
	for _, profile := range []Profile{Documented, Desktop, ArRPC, Blackhole, Flaky} {
		t.Run(string(profile), func(t *testing.T) { turmoil(t, profile) })
	}
}

func turmoil(t *testing.T, profile Profile) {
	srv := launchIPC(t, Options{
		Profile: profile, Refill: time.Millisecond, Origins: []string{""}, StateFile: filepath.Join(t.TempDir(), "state.json"),
		KeepPayloads: 10, OnPayload: func(Payload) {},
	})
	var peers sync.WaitGroup
	stop := make(chan struct{})
	for n := range 4 {
		peers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				switch n % 3 {
				case 0:
					_, _ = post(t, srv, msg("n", mic, speaker))
					continue
				case 1:
					if c, err := ipctest.Dial(deadline(t), srv.IPCPath()); err == nil {
						_, _ = c.Write(ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID))))
						_, _ = c.Write(ipcframe.Encode(ipcframe.Frame, []byte(msg("n", mic))))
						_, _ = io.CopyN(io.Discard, c, ipcframe.HeaderSize)
						_ = c.Close()
					}
					continue
				}
				if ws, _, err := dialQuery(t, srv, goodQuery, ""); err == nil {
					_ = ws.WriteMessage(1, []byte(msg("n", cameraDev)))
					_, _, _ = ws.ReadMessage()
					_ = ws.Close()
				}
			}
		})
	}
	for range 2 {
		for _, f := range []string{"none", "refuse", "hang", "die", "close-after=2", "no-answer", "answer-late=1h", "squatter", "ready-never", "close-code=4001", "half", "twice", "ipc/refuse"} {
			setFault(t, srv, f)
			srv.DropConnections()
			require.NoError(t, srv.Restart(0))
			srv.Lookup("mic")
			srv.Payloads()
		}
	}
	close(stop)
	require.NoError(t, srv.Close())
	peers.Wait()
}
