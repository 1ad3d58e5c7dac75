package fakeserver

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
)

func TestProfileNames(t *testing.T) {
	for _, s := range profileSpecs {
		p, err := ParseProfile(string(s.profile))
		require.NoError(t, err)
		require.Equal(t, s.profile, p)
		require.Regexp(t, `(?m)^  `+string(p)+` +\S`, ProfileHelp())
	}
	for _, name := range []string{"", "Desktop", "discord"} {
		_, err := ParseProfile(name)
		require.ErrorContains(t, err, fmt.Sprintf("unknown profile %q, want one of documented, desktop, desktop-2026-02, arrpc, squatter, blackhole, flaky", name))
	}
	require.ErrorContains(t, Options{Profile: "discord"}.Check(), `unknown profile "discord"`)
}

func TestProfileDefaults(t *testing.T) {
	for profile, want := range map[Profile]struct {
		ports, bucket int
		origins       bool // registered ones are needed
	}{
		"":         {11, 0, false},
		Documented: {11, 0, false},
		Desktop:    {10, 2, true},
		ArRPC:      {10, 0, false},
		Squatter:   {11, 0, false},
		Blackhole:  {11, 0, false},
		Flaky:      {10, 2, true},
	} {
		o, err := Options{Profile: profile}.withDefaults()
		require.NoError(t, err)
		require.Len(t, o.Ports, want.ports, profile)
		require.Equal(t, want.bucket, o.Bucket, profile)
		require.Equal(t, 30*time.Second, o.Refill)
		require.Equal(t, want.origins, !o.allowsOrigin(""), profile)
	}
	srv := launch(t, Options{Name: "PTB"})
	require.Equal(t, "PTB", srv.Name())
	require.Equal(t, Documented, srv.Profile())
	require.Equal(t, Desktop, launch(t, Options{Profile: Desktop}).Profile())
	for want, opts := range map[string]Options{
		"neither TCP nor IPC": {NoTCP: true},
		"bucket -2":           {Bucket: -2},
		"refill -1ns":         {Refill: -1},
		"switched off":        {Profile: Squatter, NoWebSocket: true, NoHTTP: true, IPCDir: "x"},
	} {
		require.ErrorContains(t, opts.Check(), want)
	}
	require.NoError(t, Options{NoWebSocket: true, NoHTTP: true, IPCDir: "x"}.Check())
}

func TestDesktopWebSocket(t *testing.T) {
	srv := launch(t, Options{Profile: Desktop, Bucket: -1})
	for _, origin := range []string{"", "https://acme.test"} {
		ws, _, err := dialQuery(t, srv, goodQuery, origin)
		require.NoError(t, err)
		require.Equal(t, 4001, closeCode(t, ws), "no origin is registered")
	}

	srv = launch(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{"https://acme.test"}})
	ws, _, err := dialQuery(t, srv, goodQuery, "")
	require.NoError(t, err)
	require.Equal(t, 4001, closeCode(t, ws))
	ws, _, err = dialQuery(t, srv, goodQuery, "https://acme.test")
	require.NoError(t, err)
	require.Equal(t, readyMessage, receive(t, ws))
	const denied = `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4006,"message":"Not authenticated or invalid scope"},"evt":"ERROR","nonce":"1"}`
	send(t, ws, msg("1", mic, speaker))
	require.Equal(t, denied, receive(t, ws))
	send(t, ws, msg("1", `{}`))
	require.Equal(t, denied, receive(t, ws), "before the arguments are looked at")
	p := payload(t, srv, 1)
	require.EqualError(t, p.Err, "Not authenticated or invalid scope")
	require.Equal(t, []string{"mic", "out"}, ids(p.Devices))
	require.Empty(t, srv.Devices())
	send(t, ws, `{"nonce":"2","cmd":"X","args":{}}`)
	require.Contains(t, receive(t, ws), `"code":4002`)
	send(t, ws, msg(""))
	require.Contains(t, receive(t, ws), `"code":4000`)
	send(t, ws, "hello")
	require.Equal(t, 1003, closeCode(t, ws))
}

func TestDesktopHTTP(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: -1, Origins: []string{"https://acme.test"}})
	got, err := do(t, newRequest(t, "GET", srv.URL(), ""))
	require.NoError(t, err)
	require.Equal(t, notFoundReply, got)
	got, err = do(t, newRequest(t, "GET", srv.URL()+"/rpc?v=1", ""))
	require.NoError(t, err)
	require.Equal(t, 301, got.status)
	require.Equal(t, httpReply{200, "application/json", success("1")}, mustPost(t, srv, msg("1", mic, speaker)))
	require.Equal(t, []string{"mic", "out"}, ids(srv.Devices()))

	req := newRequest(t, "POST", rpcURL(srv), msg("2"))
	req.Header.Set("Origin", "https://acme.test")
	got, err = do(t, req)
	require.NoError(t, err)
	require.Equal(t, 200, got.status)
	require.Contains(t, got.body, `"code":4006`, "only without an origin is the command granted")
	req = newRequest(t, "POST", rpcURL(srv), msg("n"))
	req.Header.Set("Origin", "https://evil.test")
	got, err = do(t, req)
	require.NoError(t, err)
	require.Equal(t, 400, got.status)
	require.Contains(t, got.body, `{"code":4001,`)
	require.Equal(t, []string{"mic", "out"}, ids(srv.Devices()))

	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("3"))
	require.Equal(t, success("3"), p.answer())
	require.Empty(t, srv.Devices())
}

func TestDesktopLookup(t *testing.T) {
	const shared = `{"type":"%s","id":"x","vendor":{},"model":{},"related":["mic","gone"],"hardware_mute":true}`
	list := []string{mic, fmt.Sprintf(shared, AudioInput), fmt.Sprintf(shared, AudioOutput)}
	desktop, documented := launch(t, Options{Profile: Desktop}), launch(t, Options{})
	for _, srv := range []*Server{desktop, documented} {
		mustPost(t, srv, msg("n", list...))
	}
	d, ok := desktop.Lookup("x")
	require.True(t, ok)
	require.Equal(t, AudioOutput, d.Type, "the last entry wins")
	require.Nil(t, d.HardwareMute, "flags of an output are ignored")
	require.Equal(t, []string{"mic"}, d.Related, "ids that are not in the list are ignored")
	d, _ = desktop.Lookup("mic")
	require.True(t, *d.HardwareMute)
	require.Empty(t, d.Related)
	require.Equal(t, []string{"mic", "gone"}, desktop.Devices()[2].Related, "the list is as it was sent")
	d, _ = documented.Lookup("x")
	require.True(t, *d.HardwareMute)
	_, ok = desktop.Lookup("gone")
	require.False(t, ok)
}

// Every HTTP POST, WebSocket connect and IPC handshake costs a token, and
// nothing else does.
func TestDesktopTokens(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: 100, Origins: []string{"https://acme.test"}})
	spends := func(want int, what string) {
		t.Helper()
		require.Equal(t, want, srv.Stats().Spent, what)
	}
	for _, path := range []string{"/", "/rpc?v=1", "/x"} {
		_, err := do(t, newRequest(t, "GET", srv.URL()+path, ""))
		require.NoError(t, err)
	}
	p := dialIPC(t, srv)
	p.send(ipcframe.Ping, "{}")
	p.read()
	silently(t, srv, newRequest(t, "POST", srv.URL()+"/rpc?v=2&client_id="+clientID, msg("n")), func() { payload(t, srv, 1) })
	spends(0, "probes, pings and what is never answered")
	mustPost(t, srv, msg("n"))
	mustPost(t, srv, "{")
	spends(2, "POST, good or bad")
	ws, _, err := dialQuery(t, srv, goodQuery, "https://acme.test")
	require.NoError(t, err)
	receive(t, ws)
	send(t, ws, msg("n"))
	receive(t, ws)
	spends(3, "a WebSocket connect, but not what is sent on it")
	ws, _, err = dialQuery(t, srv, goodQuery, "")
	require.NoError(t, err)
	require.Equal(t, 4001, closeCode(t, ws))
	spends(4, "a refused connect")
	p.send(ipcframe.Handshake, handshake(1, clientID))
	p.answer()
	p.send(ipcframe.Frame, msg("n"))
	p.answer()
	spends(5, "a handshake, but not what is sent after it")
}

func TestDesktopQueue(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, Refill: time.Hour, Origins: []string{"https://acme.test"}})
	mustPost(t, srv, msg("1"))
	greet(t, srv)
	require.Equal(t, 2, srv.Stats().Spent)

	raw, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg("2", mic)).Write(raw))
	stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
	ws, _, err := dialQuery(t, srv, goodQuery, "https://acme.test")
	require.NoError(t, err, "the connection is opened all the same")
	stats(t, srv, func(s Stats) bool { return s.Queued == 2 })
	send(t, ws, msg("3", mic))
	require.EqualError(t, payload(t, srv, 2).Err, "message: sent before READY, lost")
	p := shake(t, srv)
	stats(t, srv, func(s Stats) bool { return s.Queued == 3 })
	p.send(ipcframe.Frame, msg("4", mic))
	require.EqualError(t, payload(t, srv, 3).Err, "message: sent before READY, lost")
	p.send(ipcframe.Ping, "{}")
	op, _ := p.read()
	require.Equal(t, ipcframe.Pong, op)

	other := newRequest(t, "POST", strings.Replace(rpcURL(srv), clientID, "876543210987654321", 1), msg("5"))
	got, err := do(t, other)
	require.NoError(t, err)
	require.Equal(t, success("5"), got.body, "another client id has a bucket of its own")

	// Who goes away leaves the line, but for a POST: its place will cost a token.
	unanswered(t, raw)
	require.EqualError(t, payload(t, srv, 5).Err, "request: abandoned before it was answered, dropped")
	require.Equal(t, 3, srv.Stats().Queued)
	require.NoError(t, ws.Close())
	stats(t, srv, func(s Stats) bool { return s.Queued == 2 })
	require.NoError(t, p.Close())
	stats(t, srv, func(s Stats) bool { return s.Queued == 1 && s.Connections == 1 })
	require.Empty(t, srv.Devices(), "what was never let through changed nothing")
	require.Equal(t, 3, srv.Stats().Waited)

	// A start of the client fills the bucket.
	require.NoError(t, srv.Restart())
	mustPost(t, srv, msg("6"))
	mustPost(t, srv, msg("7"))
	last := shake(t, srv)
	stats(t, srv, func(s Stats) bool { return s.Queued == 1 })
	srv.Stop()
	last.ended()
	require.Zero(t, srv.Stats().Queued)
}

func TestDesktopRefill(t *testing.T) {
	t.Parallel()
	srv := launchIPC(t, Options{Profile: Desktop, Refill: 50 * time.Millisecond, Origins: []string{"https://acme.test"}})
	answers := make(chan string)
	const posts = 4
	for n := range posts {
		go func() {
			got, _ := post(t, srv, msg(fmt.Sprint(n)))
			answers <- got.body
		}()
	}
	for range posts {
		require.Contains(t, <-answers, `"evt":null`)
	}
	greet(t, srv)
	ws, _, err := dialQuery(t, srv, goodQuery, "https://acme.test")
	require.NoError(t, err)
	require.Equal(t, readyMessage, receive(t, ws))
	ws, _, err = dialQuery(t, srv, goodQuery, "")
	require.NoError(t, err)
	require.Equal(t, 4001, closeCode(t, ws), "refused when its turn has come")
	require.Equal(t, posts+3, srv.Stats().Spent)
	require.Zero(t, srv.Stats().Queued)
}

// A WebSocket that is refused after a wait gets its code, though it is read from.
func TestDesktopRefusedAfterWaiting(t *testing.T) {
	t.Parallel()
	srv := launchIPC(t, Options{Profile: Desktop, Bucket: 1, Refill: 200 * time.Millisecond})
	mustPost(t, srv, msg("1"))
	ws := dial(t, srv)
	send(t, ws, msg("2"))
	require.Equal(t, 4001, closeCode(t, ws))
	p := dialIPC(t, srv)
	p.send(ipcframe.Handshake, handshake(1, "1"))
	require.Equal(t, 4000, p.closed().Code)
	require.NoError(t, srv.Close())
}

func TestArRPC(t *testing.T) {
	srv := launchIPC(t, Options{Profile: ArRPC, ClientIDs: []string{unknownClient()}, Origins: []string{}, NoHTTP: true})
	for n, path := range []string{"/", "/rpc"} {
		silently(t, srv, newRequest(t, "GET", srv.URL()+path, ""), func() {
			stats(t, srv, func(s Stats) bool { return s.Probes == n+1 })
		})
	}
	silently(t, srv, newRequest(t, "POST", rpcURL(srv), msg("1", cameraDev)), func() { payload(t, srv, 1) })
	ws := dial(t, srv)
	require.Equal(t, readyUserMessage, receive(t, ws))
	send(t, ws, msg("2", cameraDev))
	p := greet(t, srv)
	p.send(ipcframe.Frame, msg("3", cameraDev))
	payload(t, srv, 3)
	for _, got := range srv.Payloads() {
		require.EqualError(t, got.Err, "profile arrpc: the command is never answered")
		require.Empty(t, got.Fault)
		require.Equal(t, []string{"cam"}, ids(got.Devices))
	}
	require.Empty(t, srv.Devices())
	p.send(ipcframe.Ping, "1")
	op, text := p.read()
	require.Equal(t, ipcframe.Pong, op)
	require.Equal(t, "1", text)
	require.NoError(t, ws.WriteMessage(websocket.BinaryMessage, []byte("{}")))
	require.EqualError(t, payload(t, srv, 4).Err, "profile arrpc: the command is never answered")
	setFault(t, srv, "1*error=4006")
	p.send(ipcframe.Frame, msg("5", cameraDev))
	require.Contains(t, p.answer(), `"code":4006`, "a fault can make it answer")
	srv.Stop()
	p.ended()
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws), "not a word was said")
}

func TestArRPCSilentOnWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{Profile: ArRPC})
	_, err := post(t, srv, strings.Repeat(" ", maxMessage+1))
	require.Error(t, err)
	require.Empty(t, srv.Payloads())
}

func TestArRPCWebSocket(t *testing.T) {
	srv := launch(t, Options{Profile: ArRPC})
	const json = "v=1&encoding=json&client_id="
	for name, tc := range map[string]struct {
		address, origin string // the address from the path on
		ready           bool
	}{
		"any client id":  {"/?" + json + "x", "", true},
		"no client id":   {"/?" + json, "", true},
		"nothing said":   {"/", "", true},
		"any path":       {"/any/path?" + goodQuery, "", true},
		"own origin":     {"/?" + goodQuery, "https://ptb.discord.com", true},
		"other origin":   {"/?" + goodQuery, "https://acme.test", false},
		"other version":  {"/?v=2&encoding=json&client_id=" + clientID, "", false},
		"empty version":  {"/?v=&encoding=json&client_id=" + clientID, "", false},
		"other encoding": {"/?v=1&encoding=etf&client_id=" + clientID, "", false},
		"empty encoding": {"/?v=1&encoding=&client_id=" + clientID, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			if tc.origin != "" {
				header.Set("Origin", tc.origin)
			}
			url := fmt.Sprintf("ws://127.0.0.1:%d%s", srv.Port(), tc.address)
			ws, _, err := websocket.DefaultDialer.DialContext(deadline(t), url, header)
			require.NoError(t, err)
			defer ws.Close()
			require.NoError(t, ws.SetReadDeadline(time.Now().Add(patience)))
			if tc.ready {
				require.Equal(t, readyUserMessage, receive(t, ws))
				return
			}
			require.Equal(t, websocket.CloseNoStatusReceived, closeCode(t, ws))
		})
	}
}

func TestArRPCHandshake(t *testing.T) {
	srv := launchIPC(t, Options{Profile: ArRPC})
	for text, code := range map[string]int{
		handshake(1, "x"):          0,
		handshake("1", clientID):   0,
		`{"client_id":"x"}`:        0,
		handshake(2, clientID):     codeVersion,
		handshake("2", clientID):   codeVersion,
		handshake(1, ""):           codeClientID,
		`{"v":1}`:                  codeClientID,
		`{"v":1,"client_id":null}`: codeClientID,
		`{"v":1,`:                  codeBadJSON,
		``:                         codeBadJSON,
	} {
		p := dialIPC(t, srv)
		p.send(ipcframe.Handshake, text)
		if code == 0 {
			require.Equal(t, readyUserMessage, p.answer(), text)
			continue
		}
		require.Equal(t, code, p.closed().Code, text)
	}
}

// What cannot be read ends an IPC connection, whatever it is, and no other.
func TestArRPCUnreadable(t *testing.T) {
	srv := launchIPC(t, Options{Profile: ArRPC})
	other := greet(t, srv)
	large := msg("n") + strings.Repeat(" ", maxArRPC-len(msg("n")))
	for name, f := range map[string][]byte{
		"message is not JSON": ipcframe.Encode(ipcframe.Frame, []byte("{")),
		"message too large":   ipcframe.Encode(ipcframe.Frame, []byte(large+" ")),
		"far too large":       ipcframe.Encode(ipcframe.Frame, make([]byte, maxMessage+1))[:ipcframe.HeaderSize],
		"ping is not JSON":    ipcframe.Encode(ipcframe.Ping, []byte("x")),
		"ping is empty":       ipcframe.Encode(ipcframe.Ping, nil),
		"pong is not JSON":    ipcframe.Encode(ipcframe.Pong, []byte("x")),
		"close is not JSON":   ipcframe.Encode(ipcframe.Close, []byte("x")),
		"unknown opcode":      ipcframe.Encode(5, []byte("{}")),
	} {
		t.Run(name, func(t *testing.T) {
			p := greet(t, srv)
			_, err := p.Write(f)
			require.NoError(t, err)
			require.Equal(t, 1003, p.closed().Code)
		})
	}
	seen := srv.Stats().Payloads
	require.Equal(t, 3, seen, "messages are recorded")
	for _, text := range []string{large, "[]", "5"} {
		other.send(ipcframe.Frame, text)
		seen++
		require.EqualError(t, payload(t, srv, seen).Err, "profile arrpc: the command is never answered")
	}
}

func TestArRPCCrash(t *testing.T) {
	const crashed = "profile arrpc: the message ends the program"
	srv := launchIPC(t, Options{Profile: ArRPC})
	for n, text := range []string{"hello", "", " null "} {
		p, ws, other := greet(t, srv), dial(t, srv), dial(t, srv)
		require.Equal(t, readyUserMessage, receive(t, ws))
		require.Equal(t, readyUserMessage, receive(t, other))
		send(t, ws, text)
		require.EqualError(t, payload(t, srv, n+1).Err, crashed)
		require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws))
		require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, other), "every connection ends")
		p.ended()
	}
	p, other := greet(t, srv), greet(t, srv)
	p.send(ipcframe.Frame, "null")
	require.EqualError(t, payload(t, srv, 4).Err, crashed)
	p.ended()
	other.ended()
	stats(t, srv, func(s Stats) bool { return s.Connections == 0 })
	greet(t, srv)
}

func TestSquatterProfile(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Squatter})
	require.Empty(t, srv.IPCPath())
	html := httpReply{404, "text/html; charset=utf-8", squatterBody}
	got, err := do(t, newRequest(t, "GET", srv.URL(), ""))
	require.NoError(t, err)
	require.Equal(t, html, got)
	require.Equal(t, 1, srv.Stats().Probes)
	_, resp, err := dialQuery(t, srv, goodQuery, "")
	require.Error(t, err)
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, html, mustPost(t, srv, msg("n", cameraDev)))
	require.EqualError(t, payload(t, srv, 1).Err, "profile squatter: not taken", "what was given away is seen")
	require.Empty(t, srv.Devices())
}

func TestBlackhole(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Blackhole})
	silently(t, srv, newRequest(t, "GET", srv.URL(), ""), func() {
		stats(t, srv, func(s Stats) bool { return s.Probes == 1 })
	})
	silently(t, srv, newRequest(t, "POST", rpcURL(srv), msg("1", cameraDev)), func() {
		p := payload(t, srv, 1)
		require.EqualError(t, p.Err, "profile blackhole: not taken")
		require.Equal(t, HTTP, p.Transport)
		require.Equal(t, clientID, p.ClientID)
		require.Equal(t, []string{"cam"}, ids(p.Devices))
	})
	raw, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer raw.Close()
	_, err = raw.Write([]byte("this is no HTTP\r\n\r\n"))
	require.NoError(t, err)
	unanswered(t, raw)

	p := shake(t, srv)
	p.send(ipcframe.Ping, "")
	p.send(ipcframe.Frame, msg("2", cameraDev))
	got := payload(t, srv, 2)
	require.EqualError(t, got.Err, "profile blackhole: not taken")
	require.Equal(t, IPC, got.Transport)
	require.Equal(t, clientID, got.ClientID)
	require.Equal(t, 1, srv.Stats().Handshakes)
	p.send(99, strings.Repeat(" ", maxMessage+1))
	require.Empty(t, srv.Devices())
	srv.Stop()
	p.ended()
}

func TestTransportsOffOnDesktop(t *testing.T) {
	srv := launchIPC(t, Options{Profile: Desktop, NoHTTP: true, NoFingerprint: true, NoWebSocket: true})
	require.Equal(t, httpReply{404, "text/plain; charset=utf-8", "404 page not found\n"}, mustPost(t, srv, msg("n")))
	_, resp, err := dialQuery(t, srv, goodQuery, "")
	require.Error(t, err)
	require.Equal(t, 404, resp.StatusCode)
	require.Zero(t, srv.Stats().Spent)
	greet(t, srv)
}
