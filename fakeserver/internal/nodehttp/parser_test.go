package nodehttp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recording is a request, one byte a character, and what Node.js 24.21 made of it.
type recording struct {
	Name, Request string
	Answer        string // served, waits (for more), closed (without an answer), or a status
}

func (r recording) bytes() (raw []byte) {
	for _, c := range r.Request {
		raw = append(raw, byte(c))
	}
	return raw
}

func recordings(tb testing.TB) (all []recording) {
	tb.Helper()
	data, err := os.ReadFile("testdata/node.json")
	require.NoError(tb, err)
	require.NoError(tb, json.Unmarshal(data, &all))
	return all
}

func TestAsNodeDoes(t *testing.T) {
	for _, r := range recordings(t) {
		out, refusal := New().Feed(r.bytes())
		switch {
		case refusal == nil:
			want := map[bool]string{true: "waits", false: "served"}[served(t, out) == 0]
			if r.Answer != "417" { // net/http refuses by itself what it is expected to do
				require.Equal(t, want, r.Answer, r.Name)
			}
		case refusal.Answer == "":
			require.Equal(t, "closed", r.Answer, r.Name)
		default:
			require.Equal(t, r.Answer, strings.Fields(refusal.Answer)[1], "%s: %s", r.Name, refusal.Reason)
		}
	}
}

// served counts the requests that net/http reads, and requires that it takes them all.
func served(tb testing.TB, out []byte) (n int) {
	tb.Helper()
	in := bufio.NewReader(bytes.NewReader(out))
	for {
		req, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n
		}
		require.NoError(tb, err, "%q", out)
		if req.Header["Upgrade"] != nil {
			return n + 1
		}
		if _, err := io.Copy(io.Discard, req.Body); errors.Is(err, io.ErrUnexpectedEOF) {
			return n
		}
		require.NoError(tb, err, "%q", out)
		n++
	}
}

// TestEndsOfValues: a tab is not cut off as a space is, which Node.js 20 does not do either.
func TestEndsOfValues(t *testing.T) {
	for field, want := range map[string]int{ // requests served; -1: refused
		"Content-Length: 2  ":                      2,
		"Content-Length: 2\t":                      -1,
		"Transfer-Encoding: chunked\t":             -1,
		"Content-Length: 2\r\nConnection: close\t": 2,
		"Content-Length: 2\r\nConnection: close  ": -1,
	} {
		request := "POST / HTTP/1.1\r\nHost: x\r\n" + field + "\r\n\r\n{}"
		out, refusal := New().Feed([]byte(request + request))
		require.Equal(t, want < 0, refusal != nil, "%q", field)
		if want > 0 {
			require.Equal(t, want, served(t, out), "%q", field)
		}
	}
}

func TestLimitsOfTheHead(t *testing.T) {
	for size, refused := range map[int]bool{16383 - len("/Hostx") - len("X"): false, 16384 - len("/Hostx") - len("X"): true} {
		_, refusal := New().Feed([]byte("GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", size) + "\r\n\r\n"))
		require.Equal(t, refused, refusal != nil && refusal.Answer == TooLarge, size)
	}
	for fields, refused := range map[int]bool{999: false, 1000: true} {
		_, refusal := New().Feed([]byte("GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("a:\r\n", fields) + "\r\n"))
		require.Equal(t, refused, refusal != nil && refusal.Answer == TooLarge, fields)
	}
}

// A close of one byte becomes one of a bad code. Everything else on a WebSocket is passed on.
func TestFrames(t *testing.T) {
	const upgrade = "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	long := "\x82\xfe\x01\x00mask" + strings.Repeat("x", 256)
	longer := "\x82\xff\x00\x00\x00\x00\x00\x01\x00\x00mask" + strings.Repeat("y", 65536)
	for in, want := range map[string]string{
		"\x88\x81\x01\x02\x03\x04a":                            "\x88\x82\x01\x02\x03\x04\x01\x02",
		"\x81\x82mask{}\x88\x80mask":                           "\x81\x82mask{}\x88\x80mask",
		"\x88\x01a\x89\x00":                                    "\x88\x01a\x89\x00",
		long + "\x88\x81\x00\x00\x00\x00a":                     long + "\x88\x82\x00\x00\x00\x00\x00\x00",
		longer + longer:                                        longer + longer,
		"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffmask\x88\x81": "\x81\xff\xff\xff\xff\xff\xff\xff\xff\xffmask\x88\x81",
	} {
		p := New()
		_, refusal := p.Feed([]byte(upgrade))
		require.Nil(t, refusal)
		out, refusal := p.Feed([]byte(in))
		require.Nil(t, refusal)
		require.Equal(t, want, string(out), "%.20q", in)
	}
}

// FuzzFeed: nothing crashes the parser; what it passes on is no riddle to net/http; and it does not matter how the bytes came.
func FuzzFeed(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, refusal := New().Feed(data)
		all = slices.Clone(all)
		if refusal == nil {
			served(t, all)
		}
		p := New()
		var single []byte
		for _, b := range data {
			out, again := p.Feed([]byte{b})
			if again != nil {
				require.Equal(t, refusal, again)
				return
			}
			single = append(single, out...)
		}
		require.Nil(t, refusal)
		require.Equal(t, string(all), string(single))
	})
}
