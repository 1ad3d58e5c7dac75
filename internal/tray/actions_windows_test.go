package tray

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
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

// closed waits for a window of that title, and closes it.
func closed(t *testing.T, title string) {
	t.Helper()
	title16, err := windows.UTF16PtrFromString(title)
	require.NoError(t, err)
	testlab.Eventually(t, "the window "+title, func() bool {
		window, _, _ := findWindow.Call(0, uintptr(unsafe.Pointer(title16)))
		if window == 0 {
			return false
		}
		const wmClose = 0x10
		ok, _, _ := postMessage.Call(window, wmClose, 0, 0)
		return ok != 0
	})
}

// TestWhatRowsDoOnWindows: at the agent, which it starts or not, in the registry, in the Explorer, and in the folder of downloads.
func TestWhatRowsDoOnWindows(t *testing.T) {
	address, logs := ipctest.Folder(t), filepath.Join(t.TempDir(), "logs-"+rand.Text())
	require.NoError(t, os.Mkdir(logs, 0o700))
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
			Address: address, Program: program, Version: "1", Vendor: "Acme Audio", Say: texts.For(texts.English), Getenv: os.Getenv,
			Agent: self, Flags: []string{address}, Autostart: entry, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
			Diagnostics: func(context.Context) ([]byte, error) { return []byte("all is well\n"), nil },
		}, user)
	}()
	user.awaits(t, "> Start\n")
	user.chosen <- actionStart
	user.awaits(t, "no catalogue")
	t.Setenv(logEnv, filepath.Join(logs, "agent.log"))
	user.chosen <- actionStart
	user.awaits(t, "> For 1 hour\n")
	agent := control.NewClient(func(ctx context.Context) (net.Conn, error) { return ipc.DialControl(ctx, address) })
	defer func() { require.NoError(t, agent.Stop(context.Background())) }()
	user.chosen <- actionLogs
	closed(t, filepath.Base(logs))
	user.chosen <- actionPauseHour
	user.awaits(t, "> Resume reporting\n")
	user.chosen <- actionResume
	user.awaits(t, "> For 1 hour\n")
	user.chosen <- actionCopy
	user.awaits(t, "copied")
	user.chosen <- actionAutostart
	user.awaits(t, "[x] Start at login\n")
	require.True(t, desktop.RunOfUser.Starts(program, self))
	user.chosen <- actionAutostart
	user.awaits(t, "[ ] Start at login\n")
	require.False(t, desktop.RunOfUser.Starts(program, self))

	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	require.NoError(t, err)
	page := filepath.Join(folder, program+"-report.html")
	user.chosen <- actionDetails
	testlab.Eventually(t, "the report is there", func() bool { return os.Remove(page) == nil })
	user.chosen <- actionQuit
	require.NoError(t, <-ended)
	end()
}
