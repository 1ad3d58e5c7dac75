package fakeserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sidetone/internal/wine"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// faultTests show every fault from the other side of the connection.
var faultTests = map[FaultKind]func(*testing.T){
	FaultRefuse:     testRefuse,
	FaultHang:       testHang,
	FaultCloseAfter: testCloseAfter,
	FaultDie:        testDie,
	FaultReadyLate:  testReadyLate,
	FaultReadyNever: testReadyNever,
	FaultCloseCode:  testCloseCode,
	FaultNoAnswer:   testNoAnswer,
	FaultAnswerLate: testAnswerLate,
	FaultWrongNonce: testWrongNonce,
	FaultBadJSON:    testBadJSON,
	FaultError:      testError,
	FaultHTTPError:  testHTTPError,
	FaultSquatter:   testSquatter,
}

// TestFaults shows the faults over HTTP and WebSocket. Some are shown together
// with IPC, see [TestIPCFaults].
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, s := range faultSpecs {
		if faultTests[s.kind] == nil && ipcFaultTests[s.kind] != nil {
			continue
		}
		t.Run(string(s.kind), func(t *testing.T) {
			require.Contains(t, faultTests, s.kind, "every fault has a test")
			faultTests[s.kind](t)
		})
	}
}

func TestFaultsMeetOversizedRequests(t *testing.T) {
	t.Parallel()
	srv, body := launch(t, Options{}), strings.Repeat(" ", maxMessage+1)
	setFault(t, srv, "squatter")
	require.Equal(t, http.StatusNotFound, mustPost(t, srv, body).status)
	setFault(t, srv, "http/hang")
	_, err := post(t, srv, body)
	require.Error(t, err, "the connection is closed without an answer")
}

func testRefuse(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	setFault(t, srv, "refuse")
	address := fmt.Sprintf("127.0.0.1:%d", srv.Port())
	_, err := net.Dial("tcp", address)
	require.Error(t, err)
	send(t, ws, msg("n"))
	require.Equal(t, success("n"), receive(t, ws), "an existing connection goes on")

	setFault(t, srv, "none")
	require.Equal(t, address, fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	connect(t, srv)

	setFault(t, srv, "refuse")
	taken, err := net.Listen("tcp4", address)
	require.NoError(t, err, "the port is free meanwhile")
	require.ErrorContains(t, srv.SetFault(Fault{}), address)
	require.NoError(t, taken.Close())
	require.NoError(t, srv.SetFault(Fault{Kind: FaultRefuse}))
	require.NoError(t, srv.SetFault(Fault{}))
	connect(t, srv)
}

func testHang(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	kept, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer kept.Close()
	require.NoError(t, newRequest(t, "GET", srv.URL(), "").Write(kept))
	require.Equal(t, notFoundReply, readResponse(t, kept))

	setFault(t, srv, "hang")
	silently(t, srv, newRequest(t, "GET", srv.URL(), ""), func() {
		require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Faults == 1 }))
	})

	require.NoError(t, newRequest(t, "POST", rpcURL(srv), msg("n-1", cameraDev)).Write(kept))
	p := payload(t, srv, 1)
	require.EqualError(t, p.Err, "fault hang: not taken")
	require.Equal(t, FaultHang, p.Fault)
	unanswered(t, kept)

	send(t, ws, msg("n-2", cameraDev))
	require.EqualError(t, payload(t, srv, 2).Err, "fault hang: not taken")
	setFault(t, srv, "none")
	send(t, ws, msg("n-3"))
	require.Equal(t, success("n-3"), receive(t, ws), "n-2 stays unanswered")
}

// A hanging server notices peers that go away, whatever they asked.
func TestHangDoesNotLeak(t *testing.T) {
	srv := launch(t, Options{Fault: Fault{Kind: FaultHang, Transport: HTTP}})
	for _, req := range []*http.Request{
		newRequest(t, "GET", srv.URL(), ""),
		newRequest(t, "PUT", srv.URL(), "body"),
		newRequest(t, "POST", rpcURL(srv), msg("n")),
	} {
		before := srv.Stats().Faults
		silently(t, srv, req, func() {
			require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Faults == before+1 }))
		})
	}
	require.NoError(t, srv.WaitStats(deadline(t), func(s Stats) bool { return s.Connections == 0 }))
	connect(t, srv)
}

func testCloseAfter(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "close-after=2")
	ws := connect(t, srv)
	send(t, ws, msg("n-1", cameraDev))
	require.Equal(t, success("n-1"), receive(t, ws))
	send(t, ws, msg("n-2"))
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws), "no closing handshake")
	require.Equal(t, []string{"cam"}, ids(srv.Devices()), "the second is not taken")

	require.Equal(t, success("n-3"), mustPost(t, srv, msg("n-3")).body)
	_, err := post(t, srv, msg("n-4"))
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, 2, srv.Stats().Faults)
}

func testDie(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	setFault(t, srv, "2*die")
	send(t, ws, msg("n"))
	_, _, err := ws.ReadMessage()
	requireReset(t, err)

	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", srv.Port()))
	require.NoError(t, err)
	defer c.Close()
	body := msg("n", cameraDev)
	_, err = fmt.Fprintf(c, "POST /rpc?v=1&client_id=%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		clientID, len(body), body[:len(body)/2])
	require.NoError(t, err)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err = c.Read(make([]byte, 1))
	requireReset(t, err)

	require.Empty(t, srv.Payloads())
	require.Equal(t, success("n"), mustPost(t, srv, msg("n")).body, "twice is over")
}

// requireReset wants the error of a connection that was reset. Wine ends it first, which is what a reader may see.
func requireReset(t *testing.T, err error) {
	t.Helper()
	if wine.Is() && (errors.Is(err, io.EOF) || websocket.IsCloseError(err, websocket.CloseAbnormalClosure)) {
		return
	}
	var reset *net.OpError
	require.ErrorAs(t, err, &reset, "a reset, not an end")
	require.False(t, reset.Timeout())
}

func testReadyLate(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "1*ready-late=1h")
	ws := dial(t, srv)
	send(t, ws, msg("n", cameraDev))
	require.EqualError(t, payload(t, srv, 1).Err, "message: sent before READY, lost")
	require.Empty(t, srv.Devices())
	srv.DropConnections()
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws), "not a word was said")

	setFault(t, srv, "1*ready-late=1ms")
	ws = connect(t, srv)
	send(t, ws, msg("n"))
	require.Equal(t, success("n"), receive(t, ws))
}

func testReadyNever(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "ready-never")
	ws := dial(t, srv)
	send(t, ws, msg("n"))
	require.EqualError(t, payload(t, srv, 1).Err, "message: sent before READY, lost")
	srv.Stop()
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws))
	require.NoError(t, srv.Resume())
	require.Equal(t, success("n"), mustPost(t, srv, msg("n")).body, "HTTP knows no READY")
}

func testCloseCode(t *testing.T) {
	srv := launch(t, Options{})
	for _, code := range []int{1003, 4000, 4001, 4002, 4003, 4004, 4005, 4006} {
		setFault(t, srv, fmt.Sprintf("1*close-code=%d", code))
		require.Equal(t, code, closeCode(t, dial(t, srv)))
	}
	connect(t, srv)
}

func testNoAnswer(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	setFault(t, srv, "1*no-answer")
	send(t, ws, msg("n-1", cameraDev))
	require.EqualError(t, payload(t, srv, 1).Err, "fault no-answer: not taken")
	send(t, ws, msg("n-2"))
	require.Equal(t, success("n-2"), receive(t, ws), "n-1 stays unanswered")

	setFault(t, srv, "no-answer")
	silently(t, srv, newRequest(t, "POST", rpcURL(srv), msg("n-3", cameraDev)), func() { payload(t, srv, 3) })
	require.Empty(t, srv.Devices())

	setFault(t, srv, "websocket/no-answer")
	require.Equal(t, success("n-4"), mustPost(t, srv, msg("n-4")).body, "limited to the other transport")
}

func testAnswerLate(t *testing.T) {
	srv := launch(t, Options{})
	ws := connect(t, srv)
	setFault(t, srv, "answer-late=1h")
	send(t, ws, msg("n-1", cameraDev))
	p := payload(t, srv, 1)
	require.NoError(t, p.Err)
	require.Equal(t, FaultAnswerLate, p.Fault)
	require.Equal(t, []string{"cam"}, ids(srv.Devices()), "taken at once")
	srv.DropConnections()
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws), "not answered yet")
	silently(t, srv, newRequest(t, "POST", rpcURL(srv), msg("n-2")), func() { payload(t, srv, 2) })

	setFault(t, srv, "answer-late=1ms")
	require.Equal(t, success("n-3"), mustPost(t, srv, msg("n-3")).body)
	ws = connect(t, srv)
	send(t, ws, msg("n-4"))
	send(t, ws, msg("n-5"))
	require.Equal(t, success("n-4"), receive(t, ws))
	require.Equal(t, success("n-5"), receive(t, ws))
}

func testWrongNonce(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "wrong-nonce")
	ws := connect(t, srv)
	send(t, ws, msg("n", cameraDev))
	require.Equal(t, success("another nonce"), receive(t, ws))
	require.Equal(t, success("another nonce"), mustPost(t, srv, msg("n", cameraDev)).body)
	require.Equal(t, []string{"cam"}, ids(srv.Devices()))
}

func testBadJSON(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "bad-json")
	ws := connect(t, srv)
	send(t, ws, msg("n"))
	require.Equal(t, cutOffAnswer, receive(t, ws))
	require.Equal(t, httpReply{200, "application/json", cutOffAnswer}, mustPost(t, srv, msg("n")))
}

func testError(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "error=4006:Not authenticated")
	const want = `{"cmd":"SET_CERTIFIED_DEVICES","data":{"code":4006,"message":"Not authenticated"},"evt":"ERROR","nonce":"n"}`
	ws := connect(t, srv)
	send(t, ws, msg("n", cameraDev))
	require.Equal(t, want, receive(t, ws))
	require.Equal(t, httpReply{200, "application/json", want}, mustPost(t, srv, msg("n", cameraDev)))
	require.Empty(t, srv.Devices())
}

func testHTTPError(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "1*http-error=4000:Invalid Client ID")
	ws := connect(t, srv)
	send(t, ws, msg("n-1"))
	require.Equal(t, success("n-1"), receive(t, ws))
	require.Equal(t, httpReply{400, "application/json", `{"code":4000,"message":"Invalid Client ID"}`}, mustPost(t, srv, msg("n-2")))
	require.Equal(t, 200, mustPost(t, srv, msg("n-3")).status)
}

func testSquatter(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "squatter")
	html := httpReply{404, "text/html; charset=utf-8", squatterBody}
	for _, path := range []string{"/", "/rpc"} {
		got, err := do(t, newRequest(t, "GET", srv.URL()+path, ""))
		require.NoError(t, err)
		require.Equal(t, html, got)
	}
	_, resp, err := dialQuery(t, srv, goodQuery, "")
	require.ErrorIs(t, err, websocket.ErrBadHandshake)
	require.Equal(t, 404, resp.StatusCode)
	require.Empty(t, srv.Payloads())

	require.Equal(t, html, mustPost(t, srv, msg("n", cameraDev)))
	require.EqualError(t, payload(t, srv, 1).Err, "fault squatter: not taken", "what was given away is seen")
	require.Empty(t, srv.Devices())
}

func TestFaultTimes(t *testing.T) {
	srv := launch(t, Options{Fault: Fault{Kind: FaultError, Code: 5, Times: 2}})
	require.Equal(t, 2, srv.Fault().Times)
	require.Contains(t, mustPost(t, srv, msg("n")).body, "ERROR")
	require.Equal(t, "1*error=5", srv.Fault().String())
	require.Contains(t, mustPost(t, srv, msg("n")).body, "ERROR")
	require.Equal(t, success("n"), mustPost(t, srv, msg("n")).body)
	require.Equal(t, Fault{}, srv.Fault())
}

func TestFaultText(t *testing.T) {
	for text, want := range map[string]Fault{
		"none":                           {},
		"refuse":                         {Kind: FaultRefuse},
		"3*http/answer-late=2s":          {Kind: FaultAnswerLate, Transport: HTTP, Times: 3, Delay: 2 * time.Second},
		"close-after=4":                  {Kind: FaultCloseAfter, Count: 4},
		"close-code=4001":                {Kind: FaultCloseCode, Code: 4001},
		"error=4006:a:b*c/d=e":           {Kind: FaultError, Code: 4006, Message: "a:b*c/d=e"},
		"http-error=4000":                {Kind: FaultHTTPError, Code: 4000},
		"websocket/ready-late=1m0s":      {Kind: FaultReadyLate, Transport: WebSocket, Delay: time.Minute},
		"ipc/refuse":                     {Kind: FaultRefuse, Transport: IPC},
		"2*ipc/half":                     {Kind: FaultHalf, Transport: IPC, Times: 2},
		"offline":                        {Kind: FaultOffline},
		"1*websocket/error=1:no nonsens": {Kind: FaultError, Transport: WebSocket, Times: 1, Code: 1, Message: "no nonsens"},
	} {
		got, err := ParseFault(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		again, err := ParseFault(got.String())
		require.NoError(t, err, got.String())
		require.Equal(t, want, again)
	}
}

func TestFaultMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "the name is missing",
		"3*":                     "the name is missing",
		"anser-late=2s":          `unknown fault "anser-late", did you mean "answer-late"?`,
		"non":                    `unknown fault "non", did you mean "none"?`,
		"foo":                    `unknown fault "foo", want one of refuse, `,
		"Squatter":               `did you mean "squatter"?`,
		"0*hang":                 `"0" is not a number of times`,
		"x*hang":                 `"x" is not a number of times`,
		"pipe/hang":              `unknown transport "pipe", want websocket, http or ipc`,
		"http/ready-never":       "only ever meets websocket and ipc, not http",
		"http/login":             "only ever meets ipc, not http",
		"http/twice":             "only ever meets websocket and ipc, not http",
		"ipc/squatter":           "only ever meets websocket and http, not ipc",
		"websocket/http-error=1": "only ever meets http, not websocket",
		"2*refuse":               "neither a number of times nor a transport other than ipc is possible",
		"http/refuse":            "neither a number of times nor a transport other than ipc is possible",
		"hang=3":                 "write it hang",
		"answer-late":            "write it answer-late=DURATION",
		"answer-late=2":          `cannot read "2", write it answer-late=DURATION`,
		"answer-late=-2s":        "needs a delay above zero",
		"close-after=0":          "needs a count above zero",
		"close-after=x":          `cannot read "x"`,
		"close-code=1005":        "no close code a server may send",
		"close-code=200":         "no close code a server may send",
		"error=x:y":              `cannot read "x:y"`,
		"error=0":                "needs a code above zero",
		"2*none":                 "unknown fault",
	} {
		_, err := ParseFault(text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "\n")
	}
	srv := launch(t, Options{})
	require.ErrorContains(t, srv.SetFault(Fault{Kind: "nonsense"}), "unknown fault")
	require.ErrorContains(t, srv.SetFault(Fault{Kind: FaultHang, Times: -1}), "cannot apply -1 times")
}

func TestFaultHelpNamesEveryFault(t *testing.T) {
	for _, name := range faultNames() {
		require.Regexp(t, `(?m)^  `+name+`\b`, FaultHelp())
	}
	require.Equal(t, len(faultSpecs), strings.Count(FaultHelp(), "\n"))
}

func FuzzParseFault(f *testing.F) {
	for _, seed := range []string{"none", "3*http/answer-late=2s", "error=1:x", "close-after=2", "websocket/close-code=4000", "/", "*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			return
		}
		again, err := ParseFault(fault.String())
		require.NoError(t, err)
		require.Equal(t, fault, again)
	})
}

// What the client never answers, it does not answer wrongly.
func TestFaultsLeaveWhatIsLostAlone(t *testing.T) {
	srv := launch(t, Options{})
	setFault(t, srv, "ready-never")
	ws := dial(t, srv)
	stats(t, srv, func(s Stats) bool { return s.Faults == 1 })
	for n, fault := range []string{"wrong-nonce", "huge", "error=1", "offline"} {
		setFault(t, srv, fault)
		send(t, ws, msg("n"))
		require.EqualError(t, payload(t, srv, 2*n+1).Err, "message: sent before READY, lost")
		req := newRequest(t, "POST", rpcURL(srv), msg("n"))
		req.Header.Del("Content-Type")
		silently(t, srv, req, func() { payload(t, srv, 2*n+2) })
	}
	require.Equal(t, 1, srv.Stats().Faults)
	srv.Stop()
	require.Equal(t, websocket.CloseAbnormalClosure, closeCode(t, ws))
}

func TestListsOfDislikedContentAreRefused(t *testing.T) {
	t.Parallel()
	srv := launch(t, Options{Refuse: func(list []Device) string {
		if len(list) > 0 {
			return "no device is liked"
		}
		return ""
	}})
	reply := mustPost(t, srv, msg("1", mic))
	require.Contains(t, reply.body, `"code":4000`)
	require.Contains(t, payload(t, srv, 1).Err.Error(), "devices: no device is liked")
	require.Contains(t, mustPost(t, srv, msg("2")).body, success("2"))
}
