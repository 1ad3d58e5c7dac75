package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/config"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
	"sidetone/internal/testlab/ipctest"
)

const headset = `endpoints: [{id: mic, type: audioinput, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A1}]`

// sessionDesk is an agent that has one device, its client, and whether a list was empty when the agent had its process end.
func sessionDesk(t *testing.T) (a *App, client *fakeserver.Server, ended chan bool) {
	pipes := ipctest.Folder(t)
	client, err := fakeserver.Start(fakeserver.Options{Profile: fakeserver.Desktop, IPCDir: pipes, NoTCP: true})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	file := filepath.Join(t.TempDir(), "endpoints.yaml")
	require.NoError(t, os.WriteFile(file, []byte(headset), 0o600))
	set := bareSettings(t)
	set.Config.Sources, set.Config.RPC.IPCFolders = config.Sources{Files: []string{file}}, []string{pipes}
	set.Config.Control.Socket = ipctest.Folder(t)
	ended = make(chan bool, 1)
	a = startApp(t, Options{
		Settings: set, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), EndProcess: func() { ended <- len(client.Devices()) == 0 },
	})
	return a, client, ended
}

// Windows tells of sleep, locks and the end of the session by messages, and may end a process as soon as it has answered the last of them.
// The agent does so itself before: its end is one in order, then, whatever is left to do.
func TestWhatWindowsTellsOfTheSession(t *testing.T) {
	a, client, ended := sessionDesk(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lists := func(n int) {
		t.Helper()
		require.NoError(t, client.Wait(ctx, func(list []fakeserver.Device) bool { return len(client.Payloads()) >= n && len(list) == 1 }))
	}
	tell := func(id uint32, what uintptr) (answer uintptr, took time.Duration) {
		return broadcasttest.Send(t, os.Getpid(), id, what, 0)
	}
	lists(1)
	const unlocked, resumed = 8, 0x12
	tell(broadcast.SessionChange, unlocked)
	lists(2)
	tell(broadcast.PowerBroadcast, resumed)
	lists(3)

	answer, _ := tell(broadcast.QueryEndSession, 0)
	require.EqualValues(t, 1, answer, "it keeps nobody in the session")
	tell(broadcast.EndSession, 0)
	require.Len(t, client.Devices(), 1, "another program has kept the session from its end")
	_, took := tell(broadcast.EndSession, 1)
	t.Log("answered after", took)
	require.Empty(t, client.Devices(), "told before Windows has its answer")
	select {
	case <-a.farewell:
	default:
		t.Fatal("the agent goes on")
	}
	select {
	case empty := <-ended:
		require.True(t, empty, "the list goes before the process")
	default:
		t.Fatal("its process is left to Windows")
	}
}

// TestTheRestartManagerEndsTheAgent: the session goes on, so the agent ends as ever.
func TestTheRestartManagerEndsTheAgent(t *testing.T) {
	a, client, ended := sessionDesk(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, client.Wait(ctx, func(list []fakeserver.Device) bool { return len(list) == 1 }))
	const closeApp = 1
	answer, _ := broadcasttest.Send(t, os.Getpid(), broadcast.QueryEndSession, 0, closeApp)
	require.EqualValues(t, 1, answer)
	broadcasttest.Send(t, os.Getpid(), broadcast.EndSession, 1, closeApp)
	require.Empty(t, client.Devices())
	<-a.farewell
	require.Empty(t, ended)
}
