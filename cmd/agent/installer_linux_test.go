package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
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

// TestEndIsHeardDuringAnUpgrade: whoever removes a package while its upgrade is still waited for, or ends the agent by a signal, leaves no
// list in any client, and the program that was to go on does not.
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
	said, says, err := os.Pipe()
	require.NoError(t, err)
	defer said.Close()
	logged := newLines()
	log := slog.New(slog.NewTextHandler(io.MultiWriter(t.Output(), logged), nil))
	agent, err := app.New(app.Options{
		Settings: app.NewSettings(c, acme), Host: app.Host{Getenv: func(string) string { return folder }}, Log: log,
		Successor: func() (*exec.Cmd, error) {
			hangs := exec.Command("sh", "-c", "echo begins; exec sleep 600")
			hangs.Stdout = says
			return hangs, nil
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
	successor := bufio.NewReader(said)
	_, err = successor.ReadString('\n')
	require.NoError(t, err)
	started := func(line string) bool { return strings.Contains(line, "started anew") }
	for lines, more := logged.snapshot(); !slices.ContainsFunc(lines, started); lines, more = logged.snapshot() {
		<-more // the agent has done with says, too, which is closed below
	}
	end(t, requests, signal)
	require.NoError(t, <-ended)
	require.NoError(t, ctx.Err())
	require.Empty(t, client.Devices())
	require.NoError(t, says.Close())
	require.NoError(t, said.SetReadDeadline(time.Now().Add(patience/2)))
	_, err = successor.ReadByte()
	require.ErrorIs(t, err, io.EOF, "the program that was to go on has ended")
}
