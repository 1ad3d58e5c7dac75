package tray

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/texts"
)

// chooser is a host whose user is the test.
type chooser struct {
	queue
	chosen chan action
}

func (chooser) notify(string) {}

func (c chooser) run(ctx context.Context, on events) error {
	for {
		select {
		case a := <-c.chosen:
			on.chosen(a)
		case <-ctx.Done():
			return nil
		}
	}
}

// awaits waits until a row says a text.
func (c chooser) awaits(t *testing.T, text string) {
	t.Helper()
	testlab.Eventually(t, text, func() bool {
		select {
		case f := <-c.queue:
			return strings.Contains(draw(f.items, ""), text)
		default:
			return false
		}
	})
}

// TestWhatRowsDoOnWindows: at the agent, in the registry, in the folder of downloads, and when an agent does not start.
func TestWhatRowsDoOnWindows(t *testing.T) {
	a := newAgent(t, ipctest.Folder(t))
	user := chooser{newQueue(), make(chan action)}
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(startEnv, self)
	const program = "sidetone-rows-test"
	entry := desktop.Entry{ID: program, Name: "Sidetone", Command: []string{self}}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- run(ctx, Options{
			Address: a.address, Program: program, Version: "1", Vendor: "Acme Audio", Say: texts.For(texts.English), Getenv: os.Getenv,
			Agent: self, Autostart: entry, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Diagnostics: func(context.Context) ([]byte, error) { return []byte("all is well\n"), nil },
		}, user)
	}()
	user.awaits(t, "> Start\n")
	user.chosen <- actionStart
	user.awaits(t, "no catalogue")
	a.start()
	user.awaits(t, "> For 1 hour\n")
	user.chosen <- actionPauseHour
	user.awaits(t, "> Resume reporting\n")
	user.chosen <- actionResume
	user.awaits(t, "> For 1 hour\n")
	user.chosen <- actionCopy
	user.awaits(t, "copied")
	user.chosen <- actionAutostart
	user.awaits(t, "[x] Start at login\n")
	require.True(t, desktop.RunOfUser.Starts(program))
	user.chosen <- actionAutostart
	user.awaits(t, "[ ] Start at login\n")
	require.False(t, desktop.RunOfUser.Starts(program))

	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	require.NoError(t, err)
	page := filepath.Join(folder, program+"-report.html")
	user.chosen <- actionDetails
	testlab.Eventually(t, "the report is there", func() bool { return os.Remove(page) == nil })
	user.chosen <- actionQuit
	require.NoError(t, <-ended)
	end()
}
