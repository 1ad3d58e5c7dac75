package tray

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control/controltest"
	"sidetone/internal/platform/ipc"
)

// fakeAgent answers as an agent does, with the statuses that it is told.
type fakeAgent struct {
	t       *testing.T
	address string
	server  *http.Server
	watch   *controltest.Watch
}

// newAgent prepares an agent at an address. It is not there before start.
func newAgent(t *testing.T, address string) *fakeAgent {
	return &fakeAgent{t: t, address: address, watch: controltest.NewWatch(viewOf().Status)}
}

func (a *fakeAgent) start() {
	a.t.Helper()
	if runtime.GOOS != "windows" {
		require.NoError(a.t, os.MkdirAll(filepath.Dir(a.address), 0o700))
	}
	l, err := ipc.ListenControl(a.address)
	require.NoError(a.t, err)
	a.prepare()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.server.Serve(l)
	}()
	a.t.Cleanup(func() {
		a.stop()
		<-ended
	})
}

func (a *fakeAgent) prepare() {
	mux := http.NewServeMux()
	mux.Handle("GET /v1/watch", a.watch)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(a.watch.Status())
	})
	mux.HandleFunc("GET /v1/timeline", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("POST /v1/pause", func(w http.ResponseWriter, _ *http.Request) {
		a.say(views["paused"])
		_, _ = w.Write([]byte("{}"))
	})
	mux.HandleFunc("POST /v1/resume", func(http.ResponseWriter, *http.Request) { a.say(viewOf()) })
	mux.HandleFunc("POST /v1/stop", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, _ = w.Write([]byte("{}"))
		_ = http.NewResponseController(w).Flush()
		a.stop()
	})
	a.server = &http.Server{Handler: mux}
}

// runAgent is one that a tray has started, until it is told to stop.
func runAgent(address, log string) int {
	a := newAgent(nil, address)
	a.say(viewOf(func(v *view) { v.Status.LogFile = log }))
	l, err := ipc.ListenControl(address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a.prepare()
	_ = a.server.Serve(l)
	return 0
}

func (a *fakeAgent) stop() { _ = a.server.Close() }

// say has the agent say that all is as in v.
func (a *fakeAgent) say(v view) { a.watch.Say(v.Status) }
