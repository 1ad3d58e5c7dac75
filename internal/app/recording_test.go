package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/rpcclient"
	"sidetone/internal/rpcclient/session"
)

// tell pushes a state that is another each time.
func tell(t *testing.T, a *App, n int) {
	t.Helper()
	_, err := a.engine.Push(engine.Push{
		Product: "acme-headset-700", Owner: "suite", At: time.Now(), TTL: engine.Span(time.Hour), State: map[devices.Field]devices.Tri{devices.HardwareMute: devices.Of(n%2 == 0)},
	})
	require.NoError(t, err)
}

// collector gets the lines of a recording.
type collector struct {
	mu    sync.Mutex
	lines []string
}

func (c *collector) write(lines []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for line := range strings.Lines(string(lines)) {
		c.lines = append(c.lines, line)
	}
	return nil
}

// TestSlowRecording takes nothing while more happens than is kept. The Engine does not wait, and
// the recording says that it ends early.
func TestSlowRecording(t *testing.T) {
	t.Parallel()
	a := startApp(t, Options{Settings: bareSettings(t)})
	var got collector
	begun, release := make(chan struct{}), make(chan struct{})
	block := sync.OnceFunc(func() { close(begun); <-release })
	ended := make(chan error, 1)
	go func() {
		ended <- a.Record(t.Context(), func(lines []byte) error {
			block()
			return got.write(lines)
		})
	}()
	<-begun
	for n := range maxWaiting + 100 {
		tell(t, a, n) // it would wait for ever if the Engine did
	}
	a.report.delivered(rpcclient.Delivery{To: rpcclient.Address{Transport: rpcclient.IPC}}) // comes too late, like all that follows
	close(release)
	require.ErrorIs(t, <-ended, errLost)
	last := got.lines[len(got.lines)-1]
	require.Contains(t, last, `"end":{"error":"`+errLost.Error()+`"}`)
	require.Less(t, len(got.lines), maxWaiting+50)
	require.Equal(t, 1, strings.Count(strings.Join(got.lines, ""), `"end"`))

	player := engine.NewPlayer(engine.Settings{}, false)
	for _, line := range got.lines {
		var r engine.Record
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.NoError(t, player.Play(r))
	}
	replayed, err := player.Result()
	require.NoError(t, err)
	require.Equal(t, errLost.Error(), replayed.Cut)
	require.Empty(t, replayed.Differences())
}

// TestRecordingEnds in order, with all that came before.
func TestRecordingEnds(t *testing.T) {
	a := startApp(t, Options{Settings: bareSettings(t)})
	ctx, cancel := context.WithCancel(t.Context())
	var got collector
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	ended := make(chan error, 1)
	go func() {
		ended <- a.Record(ctx, func(lines []byte) error { begin(); return got.write(lines) })
	}()
	<-begun
	for n := range 1000 {
		tell(t, a, n)
	}
	a.report.delivered(rpcclient.Delivery{To: rpcclient.Address{Transport: rpcclient.IPC, Socket: "/s", Name: "Client", PID: 7}, Delivery: session.Delivery{RoundTrip: time.Second}})
	cancel()
	require.NoError(t, <-ended)
	a.report.delivered(rpcclient.Delivery{To: rpcclient.Address{Transport: rpcclient.IPC}}) // nobody is there any more
	require.Empty(t, a.report.hub.buffers)
	require.Contains(t, got.lines[len(got.lines)-1], `"end":{}`)
	require.Equal(t, 1000, strings.Count(strings.Join(got.lines, ""), `"push":`))
	var r engine.Record
	require.NoError(t, json.Unmarshal([]byte(got.lines[len(got.lines)-2]), &r))
	require.Equal(t, &engine.Client{Event: "delivered", To: "Client (pid 7) over ipc /s", RoundTrip: engine.Span(time.Second)}, r.Client)
}

// TestRecordingOfSessions writes what has changed, and nothing twice.
func TestRecordingOfSessions(t *testing.T) { synctest.Test(t, testRecordingOfSessions) }

func testRecordingOfSessions(t *testing.T) {
	r := newRecordBuffer()
	r.put(engine.Record{Header: &engine.Header{}})
	time.Sleep(time.Millisecond) // a real clock is so coarse that nothing might have passed
	a := rpcclient.Session{State: rpcclient.Connecting, Address: rpcclient.Address{Port: 6463}}
	r.sessions([]rpcclient.Session{a})
	a.Generation = 7
	r.sessions([]rpcclient.Session{a})
	a.State, a.Error = rpcclient.Refused, "no"
	r.sessions([]rpcclient.Session{a})
	r.sessions(nil)
	r.put(engine.Record{End: &engine.End{}})
	r.sessions([]rpcclient.Session{a})
	var got collector
	require.NoError(t, r.drain(got.write))
	var events []string
	for _, line := range got.lines[1:] {
		var rec engine.Record
		require.NoError(t, json.Unmarshal([]byte(line), &rec))
		if rec.Client != nil {
			events = append(events, fmt.Sprint(rec.Client.Event, rec.Client.Error))
			require.Positive(t, rec.T)
		} else {
			events = append(events, "end")
		}
	}
	require.Equal(t, []string{"connecting", "refusedno", "gone", "end"}, events)
	full := fmt.Errorf("full")
	r.put(engine.Record{})
	require.NoError(t, r.drain(func([]byte) error { return full }), "there is nothing behind the end")
}
