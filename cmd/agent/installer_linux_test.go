package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/fakeserver"
	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/installation"
)

// TestEndIsHeardDuringAnUpgrade: whoever removes a package while its newer program is tried, or ends the agent by a signal, leaves no list in
// any client.
func TestEndIsHeardDuringAnUpgrade(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, requests chan<- installation.Request, signal func()){
		"a removal": func(t *testing.T, requests chan<- installation.Request, _ func()) {
			select {
			case requests <- installation.End:
			case <-time.After(patience / 2):
				require.FailNow(t, "it is deaf")
			}
		},
		"a signal": func(_ *testing.T, _ chan<- installation.Request, signal func()) { signal() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testEndDuringAnUpgrade(t, end)
		})
	}
}

func testEndDuringAnUpgrade(t *testing.T, end func(t *testing.T, requests chan<- installation.Request, signal func())) {
	folder := t.TempDir()
	client, err := fakeserver.Start(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: folder, NoTCP: true})
	require.NoError(t, err)
	defer client.Close()
	acme, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(t, problems)
	c := config.Default()
	c.Sources = config.Sources{Files: []string{write(t, "endpoints.yaml", "endpoints: ["+microphone("Mic")+"]\n")}}
	c.RPC.Ports, c.RPC.IPCFolders = nil, []string{folder}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	tried := make(chan struct{})
	agent, err := app.New(app.Options{
		Settings: app.NewSettings(c, acme), Host: app.Host{Getenv: func(string) string { return folder }}, Log: log,
		Try: func(ctx context.Context) error {
			close(tried)
			<-ctx.Done()
			return ctx.Err()
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	running, signal := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- agent.Run(running) }()
	require.NoError(t, client.Wait(ctx, func(list []fakeserver.Device) bool { return len(list) == 1 }))

	requests := make(chan installation.Request)
	defer close(requests)
	go serveInstaller(requests, agent, log)
	requests <- installation.Upgrade
	<-tried
	end(t, requests, signal)
	require.NoError(t, <-ended)
	require.NoError(t, ctx.Err())
	require.Empty(t, client.Devices())
}
