package tray

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/texts"
	"sidetone/internal/tray/icon"
)

// addressEnv makes this test binary a tray, of the agent at that address.
const addressEnv = "TRAY_TEST_ADDRESS"

// langEnv and shadeEnv are its language and its icon's shade, if not the usual ones.
const (
	langEnv  = "TRAY_TEST_LANG"
	shadeEnv = "TRAY_TEST_SHADE"
)

// startEnv is the program that such a tray starts as its agent.
const startEnv = "TRAY_TEST_START"

func TestMain(m *testing.M) {
	if address := os.Getenv(addressEnv); address != "" {
		os.Exit(runTray(address))
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "8") // tests wait for other processes most of the time
	goleak.VerifyTestMain(ending{m}, ipctest.Kept)
}

// afterTests ends what tests share.
var afterTests = func() {}

// ending runs the tests, and then that.
type ending struct{ *testing.M }

func (m ending) Run() int {
	code := m.M.Run()
	afterTests()
	return code
}

func runTray(address string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	err := Run(ctx, Options{
		Address: address,
		Program: "Sidetone", Version: "1.4.0", Vendor: "Acme Audio", Say: texts.For(cmp.Or(os.Getenv(langEnv), texts.English)),
		Shade: icon.Shade(os.Getenv(shadeEnv)), Getenv: os.Getenv,
		Agent: os.Getenv(startEnv), Flags: []string{"--vendor=acme"},
		Autostart:   desktop.Entry{ID: "sidetone-tray", Name: "Sidetone", Command: []string{"sidetone", "tray"}},
		Diagnostics: func(context.Context) ([]byte, error) { return []byte("all is well\n"), nil },
		Log:         log,
	})
	if err != nil {
		log.Error(err.Error())
		return 1
	}
	return 0
}

// fakeAgent answers as an agent does, with the statuses that it is told.
type fakeAgent struct {
	t       *testing.T
	address string
	server  *http.Server
	mu      sync.Mutex
	status  control.Status
	changed chan struct{}
}

// newAgent prepares an agent in a runtime folder. It is not there before start.
func newAgent(t *testing.T, folder string) *fakeAgent {
	address := filepath.Join(folder, "sidetone", "acme", "agent.sock")
	return &fakeAgent{t: t, address: address, status: view().Status, changed: make(chan struct{})}
}

func (a *fakeAgent) start() {
	a.t.Helper()
	require.NoError(a.t, os.MkdirAll(filepath.Dir(a.address), 0o700))
	l, err := ipc.ListenControl(a.address)
	require.NoError(a.t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/watch", a.watch)
	mux.HandleFunc("GET /v1/status", func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		_ = json.NewEncoder(w).Encode(a.status)
	})
	mux.HandleFunc("GET /v1/timeline", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("POST /v1/pause", func(w http.ResponseWriter, _ *http.Request) {
		a.say(views["paused"])
		_, _ = w.Write([]byte("{}"))
	})
	mux.HandleFunc("POST /v1/resume", func(http.ResponseWriter, *http.Request) { a.say(view()) })
	a.server = &http.Server{Handler: mux}
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

func (a *fakeAgent) stop() { _ = a.server.Close() }

// say has the agent say that all is as in v.
func (a *fakeAgent) say(v View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = v.Status
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *fakeAgent) watch(w http.ResponseWriter, r *http.Request) {
	for {
		a.mu.Lock()
		status, changed := a.status, a.changed
		a.mu.Unlock()
		if json.NewEncoder(w).Encode(control.Change{Status: status}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
