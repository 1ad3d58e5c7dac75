package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
	"sidetone/internal/texts"
)

// watching is a GET /v1/watch under way.
type watching struct {
	t    *testing.T
	scan *bufio.Scanner
	conn net.Conn
}

func (s *stand) watching(path string) *watching {
	s.t.Helper()
	c := s.raw()
	_, err := c.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: sidetone\r\n\r\n"))
	require.NoError(s.t, err)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(s.t, err)
	require.Equal(s.t, 200, answer.StatusCode)
	require.Equal(s.t, "application/x-ndjson", answer.Header.Get("Content-Type"))
	w := &watching{s.t.(*testing.T), bufio.NewScanner(answer.Body), c}
	w.scan.Buffer(nil, maxAnswer)
	return w
}

func (w *watching) next() Change {
	w.t.Helper()
	require.True(w.t, w.scan.Scan(), "the watch has ended: %v", w.scan.Err())
	require.NoError(w.t, valid(w.t, "/components/schemas/Change", w.scan.Bytes()))
	var c Change
	require.NoError(w.t, json.Unmarshal(w.scan.Bytes(), &c))
	return c
}

func TestWatch(t *testing.T) {
	s := serve(t, nil)
	w := s.watching("/v1/watch")
	first := w.next()
	require.Equal(t, s.backend.status, first.Status, "the full state first")
	require.Empty(t, first.What)

	s.backend.set(func(st *Status) { st.Products = []Product{headset(devices.True)} })
	c := w.next()
	require.Equal(t, "Acme 700: hardware_mute is true, from push (suite)", c.What)
	require.Equal(t, uint64(8), c.Generation)

	s.backend.set(func(st *Status) { st.Clients.State = "searching" })
	c = w.next()
	require.Empty(t, c.What)
	require.Equal(t, "searching", c.Clients.State)

	s.stop()
	require.False(t, w.scan.Scan())
	require.NoError(t, w.scan.Err(), "it ends in good order")
}

func TestWatchSince(t *testing.T) {
	s := serve(t, nil)
	for _, path := range []string{"/v1/watch?since=6", "/v1/watch?since=0", "/v1/watch?since=8", "/v1/watch?other=7"} {
		require.Equal(t, uint64(7), s.watching(path).next().Generation, path)
	}
	w := s.watching("/v1/watch?since=7")
	// Its head was answered, so it is waiting: the next line is this change.
	s.backend.set(func(st *Status) { st.Vendor = "changed" })
	require.Equal(t, "changed", w.next().Vendor)

	for _, query := range []string{"since=", "since=-1", "since=x", "since=1.0", "since=1&since=1", "since=18446744073709551616", "%zz"} {
		answer, body := s.ask("GET", "/v1/watch?"+query, "")
		require.Equal(t, 400, answer.StatusCode, query)
		require.Equal(t, CodeInvalid, problemIn(t, body).Code)
	}
}

func TestDifference(t *testing.T) {
	other := headset(devices.False)
	other.Unit, other.Name = "second", "Acme 900"
	with := func(p ...Product) Status { return Status{Products: p} }
	for _, c := range []struct {
		before, after Status
		want          string
	}{
		{with(), with(), ""},
		{with(headset(devices.True)), with(headset(devices.True)), ""},
		{with(), with(headset(devices.True)), "Acme 700 plugged in; Acme 700: hardware_mute is true, from push (suite)"},
		{with(headset(devices.True)), with(), "Acme 700 unplugged"},
		{with(headset(devices.True)), with(other), "Acme 700 unplugged; Acme 900 plugged in; Acme 900: hardware_mute is false, from push (suite)"},
		{with(headset(devices.True), other), with(other, headset(devices.Unknown)), "Acme 700: hardware_mute is unknown"},
		{with(Product{ID: "acme-700", Unit: "acme-700 usb-1-2"}), with(headset(devices.False)), "Acme 700: hardware_mute is false, from push (suite)"},
	} {
		require.Equal(t, c.want, strings.Join(Difference(texts.For(texts.English), c.before, c.after), "; "))
	}
}

// TestSlowWatcher has the state change while a watcher does not read: when it does, it gets to
// the newest one without all those between.
func TestSlowWatcher(t *testing.T) {
	s := serve(t, func(l *limits) { l.write = time.Hour })
	w := s.watching("/v1/watch")
	w.next()
	big := strings.Repeat("x", 100_000)
	const changes = 200
	for i := range changes {
		s.backend.set(func(st *Status) { st.PID, st.Catalogue = 10_000+i, big })
	}
	lines := 1
	for w.next().PID != 10_000+changes-1 {
		lines++
	}
	require.Less(t, lines, changes, "20 MB do not fit into a socket: some were passed over")
}

func TestWatcherThatNeverReads(t *testing.T) {
	s := serve(t, func(l *limits) { l.write = 2 * time.Second })
	w := s.watching("/v1/watch")
	w.next()
	honest := s.watching("/v1/watch")
	honest.next()
	big := strings.Repeat("x", 1<<20)
	s.backend.set(func(st *Status) { st.Catalogue = big })
	require.Equal(t, big, honest.next().Catalogue)
	testlab.Eventually(t, "the one that does not read is cut off", func() bool { return s.served() == 1 })
	s.backend.set(func(st *Status) { st.Catalogue = "small" })
	require.Equal(t, "small", honest.next().Catalogue, "the other is not")
}

func TestWatcherThatGoes(t *testing.T) {
	s := serve(t, nil)
	for _, last := range []string{"", "x", "GET /v1/status HTTP/1.1\r\nHost: sidetone\r\n\r\n"} {
		c := s.raw()
		_, err := c.Write([]byte("GET /v1/watch HTTP/1.1\r\nHost: sidetone\r\n\r\n"))
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.NoError(t, err)
		_, err = c.Write([]byte(last))
		require.NoError(t, err)
		if last == "" {
			c.Close()
		}
		testlab.Eventually(t, "it is let go though nothing changes", func() bool { return s.served() == 0 })
	}
}

func TestClientWatch(t *testing.T) {
	s := serve(t, nil)
	var got []Change
	enough := errors.New("enough")
	err := s.client().Watch(t.Context(), func(c Change) error {
		got = append(got, c)
		if len(got) == 3 {
			return enough
		}
		s.backend.set(func(st *Status) { st.PID++ })
		return nil
	})
	require.Equal(t, enough, err)
	require.Equal(t, []int{4711, 4712, 4713}, []int{got[0].PID, got[1].PID, got[2].PID})

	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, s.client().Watch(ctx, func(Change) error { cancel(); return nil }), context.Canceled)
	require.ErrorIs(t, s.client().Watch(t.Context(), func(Change) error { go s.stop(); return nil }), ErrEnded)
	s.stop()
	require.ErrorIs(t, s.client().Watch(t.Context(), func(Change) error { return nil }), ErrNotRunning)
}
