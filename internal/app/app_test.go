package app

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/examples"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/testlab/ipctest"
)

// patience is how long a test waits for what must happen. It is no claim about speed.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, ipctest.Kept) }

// bareSettings are those of an agent with the example catalogue that reads no sources and looks for no clients.
func bareSettings(t *testing.T) *Settings {
	t.Helper()
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(t, problems)
	c := config.Default()
	c.Sources, c.RPC.Ports, c.RPC.IPCFolders = config.Sources{}, nil, []string{t.TempDir()}
	return NewSettings(c, cat)
}

// newApp is an agent in folders of the test's own that does not run yet, and holds the locks of its identity.
func newApp(t *testing.T, o Options) *App {
	t.Helper()
	folder := t.TempDir()
	o.Host.Getenv = func(string) string { return folder }
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a, err := New(o)
	require.NoError(t, err)
	return a
}

// startApp runs such an agent until the test ends.
func startApp(t *testing.T, o Options) *App {
	t.Helper()
	a := newApp(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = a.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return a
}
