package fakeserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver/internal/ipcframe"
)

// noPanic is a log in which net/http may not report the panic of a handler.
type noPanic struct {
	slog.Handler
	t *testing.T
}

func (h noPanic) Enabled(context.Context, slog.Level) bool { return true }

func (h noPanic) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "panic") {
		h.t.Error(r.Message)
	}
	return nil
}

// openings are what may have been said before the bytes that nobody foresaw.
var openings = []struct{ address, said string }{
	{memoryPort, ""},
	{memoryPort, "GET /?" + goodQuery + " HTTP/1.1\r\nHost: x\r\nOrigin: https://acme.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"},
	{memoryPort, postHead("v=1&client_id="+clientID, jsonType, 300)},
	{memoryPipe, ""},
	{memoryPipe, string(ipcframe.Encode(ipcframe.Handshake, []byte(`{"v":1,"client_id":"`+clientID+`"}`)))},
}

// FuzzServer: whatever a peer sends, over whatever transport, nothing crashes, what was recorded can be told, and the next peer
// is served.
func FuzzServer(f *testing.F) {
	profiles := []Profile{Desktop, DesktopFebruary2026, Documented, ArRPC, Squatter, Blackhole, Flaky}
	frame := func(op uint32, text string) []byte { return ipcframe.Encode(op, []byte(text)) }
	for profile := range profiles {
		for _, seed := range []struct {
			opening int
			data    []byte
		}{
			{0, []byte(wholePost(msg("n", mic)))},
			{0, []byte("GET /rpc?v=1 HTTP/1.1\r\nHost: x\r\n\r\nOPTIONS /rpc HTTP/1.1\r\nHost: x\r\n\r\n")},
			{1, []byte("\x81\x82\x00\x00\x00\x00{}\x88\x81\x00\x00\x00\x00a")},
			{2, []byte(msg("n", mic))},
			{3, frame(ipcframe.Handshake, `{"v":1,"client_id":"1"}`)},
			{4, frame(ipcframe.Frame, msg("n", mic, speaker))},
			{4, frame(ipcframe.Ping, "{}")},
			{4, frame(ipcframe.Close, "{}")},
			{4, frame(9, "null")},
		} {
			f.Add(uint8(profile), uint8(seed.opening), uint16(7), seed.data)
		}
	}
	f.Fuzz(func(t *testing.T, profile, opening uint8, cut uint16, data []byte) {
		opts := Options{Profile: profiles[int(profile)%len(profiles)], Bucket: -1, Origins: []string{"https://acme.test"}, Logger: slog.New(noPanic{t: t})}
		bubble(t, opts, func(t *testing.T, srv *Server, m *memory) {
			begin := openings[int(opening)%len(openings)]
			if opts.Profile == Squatter && begin.address == memoryPipe {
				t.Skip("it has no socket")
			}
			c, err := m.dial(begin.address)
			require.NoError(t, err)
			go func() { _, _ = io.Copy(io.Discard, c) }()
			at := min(int(cut), len(data))
			for _, part := range []string{begin.said, string(data[:at]), string(data[at:])} {
				_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
				_, _ = io.WriteString(c, part)
				synctest.Wait()
			}
			time.Sleep(time.Second) // late answers, and what the peer might wait for
			require.NoError(t, c.Close())
			synctest.Wait()
			for _, p := range srv.Payloads() {
				_, err := json.Marshal(p)
				require.NoError(t, err)
				require.NotPanics(t, func() { _ = Describe(p.Previous, p.Devices) })
			}
			for _, d := range srv.Devices() {
				require.NotEmpty(t, d.ID)
			}
			if p := opts.Profile; p != ArRPC && p != Blackhole && p != Flaky {
				served(t, m)
			}
		})
	})
}

// served asks as the next peer does.
func served(t *testing.T, m *memory) {
	c, err := m.dial(memoryPort)
	require.NoError(t, err)
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusNotFound, resp.StatusCode)
}
