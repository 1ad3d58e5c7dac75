package control

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"sidetone/internal/testlab"

	"github.com/stretchr/testify/require"
)

const lastLine = `{"end":{}}`

func TestClientRecord(t *testing.T) {
	s := serve(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	go func() { s.backend.lines <- "one" }()
	err := s.client().Record(ctx, func(line []byte) error {
		got = append(got, string(line))
		if len(got) == 1 {
			s.backend.lines <- "two"
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, []string{"one", "two", lastLine}, got, "what is on its way still comes, and the last line")
	s.fine()

	enough := errors.New("the disk is full")
	go func() { s.backend.lines <- "one" }()
	require.Equal(t, enough, s.client().Record(t.Context(), func([]byte) error { return enough }))
	s.fine()

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.client().Record(ctx, func([]byte) error { return nil }), context.Canceled)

	got = nil
	go func() { s.backend.lines <- "one"; s.stop() }()
	require.ErrorIs(t, s.client().Record(t.Context(), func(line []byte) error {
		got = append(got, string(line))
		return nil
	}), ErrEnded)
	require.Equal(t, []string{"one", lastLine}, got, "an agent that ends says so")
	s.stop()
	require.ErrorIs(t, s.client().Record(t.Context(), func([]byte) error { return nil }), ErrNotRunning)
}

// TestClientRecordTorn breaks the connection within a line.
func TestClientRecordTorn(t *testing.T) {
	var got []string
	torn := io.MultiReader(strings.NewReader("one\ntwo\nthr"), iotest.ErrReader(io.ErrUnexpectedEOF))
	err := eachLine(t.Context(), torn, maxAnswer, func(line []byte) error {
		got = append(got, string(line))
		return nil
	})
	require.ErrorIs(t, err, ErrEnded)
	require.Equal(t, []string{"one", "two"}, got, "half a line is none")
}

func TestRecordings(t *testing.T) {
	s := serve(t, nil)
	var all []*watching
	for range cap(s.server.recordings) {
		all = append(all, s.watching("/v1/record"))
	}
	answer, body := s.ask("GET", "/v1/record", "")
	require.Equal(t, 503, answer.StatusCode)
	require.Equal(t, CodeBusy, problemIn(t, body).Code)
	require.Contains(t, body, "end one of them")
	answer, _ = s.ask("GET", "/v1/record", "{}")
	require.Equal(t, 400, answer.StatusCode)

	close(s.backend.lines)
	for _, w := range all {
		require.False(t, w.scan.Scan())
		require.NoError(t, w.scan.Err())
	}
	testlab.Eventually(t, "there is room again", func() bool { return len(s.server.recordings) == 0 })
	s.watching("/v1/record")
}

// TestRecordEndedByPeer sends something behind the request.
func TestRecordEndedByPeer(t *testing.T) {
	s := serve(t, nil)
	c := s.raw()
	_, err := io.WriteString(c, "GET /v1/record HTTP/1.1\r\nHost: sidetone\r\n\r\n")
	require.NoError(t, err)
	s.backend.lines <- "one"
	_, err = io.WriteString(c, "\n")
	require.NoError(t, err)
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Contains(t, string(got), "one\n")
	require.Contains(t, string(got), lastLine, "in order, although the peer has said that it wants no more")
	s.fine()
}

// TestRecorderThatNeverReads takes nothing: it is cut off, and the others are not.
func TestRecorderThatNeverReads(t *testing.T) {
	s := serve(t, func(l *limits) { l.write = time.Second })
	s.watching("/v1/record")
	big := strings.Repeat("x", 1<<20)
	s.backend.lines <- big
	_, err := s.client().Status(t.Context())
	require.NoError(t, err)
	testlab.Eventually(t, "it is cut off", func() bool { return s.served() == 0 && len(s.server.recordings) == 0 })
	s.backend.mu.Lock()
	require.Equal(t, 1, s.backend.calls["record broke"], "the Backend hears of it")
	s.backend.mu.Unlock()
	s.fine()
}

func TestRecorderThatGoes(t *testing.T) {
	s := serve(t, nil)
	c := s.raw()
	_, err := io.WriteString(c, "GET /v1/record HTTP/1.1\r\nHost: sidetone\r\n\r\n")
	require.NoError(t, err)
	_, err = c.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, c.Close())
	testlab.Eventually(t, "it is let go though nothing happens", func() bool { return s.served() == 0 && len(s.server.recordings) == 0 })
}
