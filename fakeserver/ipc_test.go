package fakeserver

import (
	"encoding/binary"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"sidetone/fakeserver/internal/ipcframe"
	"sidetone/internal/testlab/ipctest"

	"github.com/stretchr/testify/require"
)

func TestIPC(t *testing.T) {
	srv := launchIPC(t, Options{})
	require.Equal(t, 0, srv.Stats().Handshakes)
	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("n-1", mic, speaker))
	require.Equal(t, success("n-1"), p.answer())
	p.send(ipcframe.Frame, msg("n-2", `{}`))
	require.Contains(t, p.answer(), `"evt":"ERROR","nonce":"n-2"`)

	got := payload(t, srv, 1)
	require.Equal(t, IPC, got.Transport)
	require.Equal(t, clientID, got.ClientID)
	require.Equal(t, 1, got.Conn)
	require.Equal(t, msg("n-1", mic, speaker), string(got.Raw))
	require.NoError(t, got.Err)
	require.Empty(t, got.Warnings)
	require.Equal(t, []string{"mic", "out"}, ids(srv.Devices()))
	require.Equal(t, Stats{Connections: 1, Ready: 1, Accepted: 1, Handshakes: 1, Payloads: 2, Rejected: 1}, srv.Stats())

	p.send(ipcframe.Close, "{}")
	p.ended()
	stats(t, srv, func(s Stats) bool { return s.Connections == 0 && s.Ready == 0 })
}

func TestIPCReadyHasAUser(t *testing.T) {
	srv := launchIPC(t, Options{})
	var ready struct {
		Cmd, Evt string
		Data     struct {
			V      int
			Config struct{ Environment string }
			User   struct{ ID, Username string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(shake(t, srv).answer()), &ready))
	require.Equal(t, "DISPATCH", ready.Cmd)
	require.Equal(t, "READY", ready.Evt)
	require.Equal(t, 1, ready.Data.V)
	require.Equal(t, "production", ready.Data.Config.Environment)
	require.True(t, isSnowflake(ready.Data.User.ID))
	require.NotEmpty(t, ready.Data.User.Username)
}

func TestIPCPing(t *testing.T) {
	srv := launchIPC(t, Options{Bucket: 1})
	p := dialIPC(t, srv)
	for _, data := range []string{`{"n":1}`, "", "not JSON"} {
		p.send(ipcframe.Ping, data)
		op, text := p.read()
		require.Equal(t, ipcframe.Pong, op)
		require.Equal(t, data, text)
	}
	p.send(ipcframe.Pong, "ignored")
	p.send(ipcframe.Handshake, handshake(1, clientID))
	require.Equal(t, readyUserMessage, p.answer())
	p.send(ipcframe.Ping, "")
	op, _ := p.read()
	require.Equal(t, ipcframe.Pong, op)
	require.Equal(t, 1, srv.Stats().Spent, "only the handshake costs a token")

	setFault(t, srv, "hang")
	p.send(ipcframe.Ping, "x")
	stats(t, srv, func(s Stats) bool { return s.Faults == 1 })
	setFault(t, srv, "none")
	p.send(ipcframe.Ping, "y")
	_, text := p.read()
	require.Equal(t, "y", text, "x stays unanswered")
}

func TestIPCRefused(t *testing.T) {
	twice := []string{string(ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID)))), string(ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID))))}
	handshakeDone := func(op uint32, text string) []string {
		return []string{twice[0], string(ipcframe.Encode(op, []byte(text)))}
	}
	first := func(op uint32, text string) []string { return []string{string(ipcframe.Encode(op, []byte(text)))} }
	tooBig := func(op uint32) string {
		head := binary.LittleEndian.AppendUint32(nil, op)
		return string(binary.LittleEndian.AppendUint32(head, maxMessage+1))
	}
	for name, tc := range map[string]struct {
		frames []string // READY comes before the last, if there are two
		code   int
	}{
		"wrong version":             {first(ipcframe.Handshake, handshake(2, clientID)), 4004},
		"version as text":           {first(ipcframe.Handshake, handshake("1", clientID)), 4004},
		"no version":                {first(ipcframe.Handshake, `{"client_id":"`+clientID+`"}`), 4004},
		"handshake is an array":     {first(ipcframe.Handshake, `[]`), 4004},
		"no client id":              {first(ipcframe.Handshake, `{"v":1}`), 4000},
		"client id as a number":     {first(ipcframe.Handshake, `{"v":1,"client_id":`+clientID+`}`), 4000},
		"unknown client id":         {first(ipcframe.Handshake, handshake(1, unknownClient())), 4000},
		"handshake is not JSON":     {first(ipcframe.Handshake, `{"v":1,`), 1003},
		"handshake without a body":  {first(ipcframe.Handshake, ``), 1003},
		"frame before handshake":    {first(ipcframe.Frame, msg("n")), 1003},
		"second handshake":          {twice, 1003},
		"unknown opcode":            {first(5, "{}"), 1003},
		"negative opcode":           {first(0xffff_ffff, "{}"), 1003},
		"message is not JSON":       {handshakeDone(ipcframe.Frame, "hello"), 1003},
		"message is not UTF-8":      {handshakeDone(ipcframe.Frame, "\"\xff\""), 1003},
		"message too large":         {[]string{twice[0], tooBig(ipcframe.Frame)}, 1003},
		"handshake too large":       {[]string{tooBig(ipcframe.Handshake)}, 1003},
		"ping too large":            {[]string{tooBig(ipcframe.Ping)}, 1003},
		"frame, too large to begin": {[]string{tooBig(ipcframe.Frame)}, 1003},
	} {
		t.Run(name, func(t *testing.T) {
			srv := launchIPC(t, Options{ClientIDs: []string{clientID}})
			p := dialIPC(t, srv)
			for i, text := range tc.frames {
				if i > 0 {
					require.Equal(t, readyUserMessage, p.answer())
				}
				_, err := p.Write([]byte(text))
				require.NoError(t, err)
			}
			require.Equal(t, tc.code, p.closed().Code)
			require.NoError(t, p.Close())
			stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
			require.Empty(t, srv.Devices())
		})
	}
}

// What follows a refused handshake counts for nothing.
func TestIPCAfterClose(t *testing.T) {
	srv := launchIPC(t, Options{})
	p := dialIPC(t, srv)
	_, err := p.Write(slices.Concat(
		ipcframe.Encode(ipcframe.Handshake, []byte(handshake(2, clientID))), ipcframe.Encode(ipcframe.Frame, []byte(msg("n", mic))), ipcframe.Encode(ipcframe.Ping, nil),
	))
	require.NoError(t, err)
	require.Equal(t, 4004, p.closed().Code)
	require.NoError(t, p.Close())
	stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
	require.Empty(t, srv.Payloads())
}

func TestIPCLargestMessage(t *testing.T) {
	t.Parallel()
	srv := launchIPC(t, Options{})
	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("n")+strings.Repeat(" ", maxMessage-len(msg("n"))))
	require.Equal(t, success("n"), p.answer())
}

func TestIPCTooLargeIsRecorded(t *testing.T) {
	srv := launchIPC(t, Options{})
	p := greet(t, srv)
	head := binary.LittleEndian.AppendUint32(nil, ipcframe.Frame)
	_, err := p.Write(binary.LittleEndian.AppendUint32(head, 1<<31)) // negative
	require.NoError(t, err)
	require.Equal(t, 1003, p.closed().Code)
	got := payload(t, srv, 1)
	require.Nil(t, got.Raw)
	require.ErrorContains(t, got.Err, "larger than 3145728 bytes")
}

// Frames that come in pieces, or several at once.
func TestIPCPieces(t *testing.T) {
	srv := launchIPC(t, Options{})
	p := dialIPC(t, srv)
	for _, b := range ipcframe.Encode(ipcframe.Handshake, []byte(handshake(1, clientID))) {
		_, err := p.Write([]byte{b})
		require.NoError(t, err)
	}
	require.Equal(t, readyUserMessage, p.answer())
	_, err := p.Write(append(ipcframe.Encode(ipcframe.Frame, []byte(msg("1"))), ipcframe.Encode(ipcframe.Frame, []byte(msg("2")))...))
	require.NoError(t, err)
	require.Equal(t, success("1"), p.answer())
	require.Equal(t, success("2"), p.answer())
}

func TestIPCBeforeReadyIsLost(t *testing.T) {
	srv := launchIPC(t, Options{})
	setFault(t, srv, "1*ready-never")
	p := shake(t, srv)
	p.send(ipcframe.Frame, msg("n", cameraDev))
	require.EqualError(t, payload(t, srv, 1).Err, "message: sent before READY, lost")
	require.Empty(t, srv.Devices())
}

// Some peers take header and body for one message of the pipe.
func TestIPCWritesAFrameAtOnce(t *testing.T) {
	writes := &countingConn{}
	w := &ipcSocket{socket: &socket{conn: &conn{Conn: writes, run: &run{srv: &Server{}}, ipc: true, closed: make(chan struct{})}}}
	require.NoError(t, w.writeMessage([]byte("{}")))
	require.NoError(t, w.writeClose(1000, "x"))
	require.Equal(t, []string{
		"\x01\x00\x00\x00\x02\x00\x00\x00{}",
		"\x02\x00\x00\x00\x1b\x00\x00\x00" + `{"code":1000,"message":"x"}`,
	}, writes.list)
}

type countingConn struct {
	net.Conn
	list []string
}

func (c *countingConn) CloseWrite() error { return nil }

func (c *countingConn) SetWriteDeadline(time.Time) error { return nil }

func (c *countingConn) Write(p []byte) (int, error) {
	c.list = append(c.list, string(p))
	return len(p), nil
}

func TestIPCPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes have no files")
	}
	dir := ipctest.Folder(t)
	path := func(slot string) string { return filepath.Join(dir, "discord-ipc-"+slot) }
	first := launch(t, Options{IPCDir: dir})
	require.Equal(t, path("0"), first.IPCPath())
	info, err := os.Stat(first.IPCPath())
	require.NoError(t, err)
	require.Equal(t, os.ModeSocket|0o600, info.Mode())

	require.NoError(t, os.WriteFile(path("1"), nil, 0o600))
	second := launch(t, Options{IPCDir: dir})
	require.Equal(t, path("2"), second.IPCPath(), "what is no socket is left alone")
	greet(t, first)
	require.Equal(t, 1, first.Stats().Handshakes, "to look whether a socket has an owner is no handshake")

	first.Stop()
	require.NoFileExists(t, path("0"))
	require.Equal(t, path("0"), first.IPCPath(), "a stopped server keeps its path")
	require.NoError(t, second.Restart())
	require.Equal(t, path("0"), second.IPCPath())
	require.NoError(t, first.Resume())
	require.Equal(t, path("2"), first.IPCPath())
	greet(t, first)

	require.NoError(t, first.Close())
	require.NoFileExists(t, path("2"))
	require.Empty(t, launch(t, Options{}).IPCPath())
}

func TestIPCReplacesADeadSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes have no files")
	}
	dir := ipctest.Folder(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "discord-ipc-0"), Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	srv := launch(t, Options{IPCDir: dir})
	require.Equal(t, filepath.Join(dir, "discord-ipc-0"), srv.IPCPath())
	greet(t, srv)
}

func TestIPCCannotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("pipes have no files")
	}
	dir := ipctest.Folder(t)
	_, err := Start(Options{Ports: []int{0}, IPCDir: filepath.Join(dir, "nowhere")})
	require.ErrorContains(t, err, "cannot open the IPC socket "+filepath.Join(dir, "nowhere", "discord-ipc-0"))
	_, err = Start(Options{Ports: []int{0}, IPCDir: filepath.Join(dir, strings.Repeat("x", 100))})
	require.ErrorContains(t, err, "a socket's may have 103 at most")
	for range ipcSlots {
		launch(t, Options{IPCDir: dir})
	}
	_, err = Start(Options{Ports: []int{0}, IPCDir: dir})
	require.ErrorContains(t, err, "none of discord-ipc-0 to -9 in "+dir+" is free")
}

func TestIPCOnly(t *testing.T) {
	srv := launchIPC(t, Options{NoTCP: true})
	require.Zero(t, srv.Port())
	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("n", mic, speaker))
	require.Equal(t, success("n"), p.answer())
	require.NoError(t, srv.Restart())
	p.ended()
	require.False(t, *srv.Devices()[0].HardwareMute)
	p = greet(t, srv)
	setFault(t, srv, "refuse")
	refused(t, srv)
	p.leave(srv)
	setFault(t, srv, "none")
	greet(t, srv)
}

func TestIPCDrop(t *testing.T) {
	srv := launchIPC(t, Options{})
	p, ws := greet(t, srv), connect(t, srv)
	srv.DropConnections()
	p.ended()
	require.Equal(t, 1006, closeCode(t, ws))
	greet(t, srv)
}
