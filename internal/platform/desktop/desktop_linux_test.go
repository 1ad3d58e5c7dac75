package desktop

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

func home(t *testing.T) (Desktop, string) {
	t.Helper()
	folder := t.TempDir()
	return Desktop{func(name string) string { return map[string]string{"HOME": folder}[name] }}, folder
}

func TestSave(t *testing.T) {
	d, folder := home(t)
	for _, content := range []string{"x", "y"} {
		path, err := d.Save("a.html", []byte(content))
		require.NoError(t, err)
		require.Equal(t, filepath.Join(folder, "a.html"), path)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(data))
	}
}

func TestAutostart(t *testing.T) {
	d, folder := home(t)
	e := Entry{ID: "acme-tray", Name: "Acme", Command: []string{"/opt/a b/acme", "tray", `--x=100%$"`}}
	require.False(t, d.Autostarts(e))
	require.NoError(t, d.SetAutostart(e, false))
	require.NoError(t, d.SetAutostart(e, true))
	require.True(t, d.Autostarts(e))
	file, err := os.ReadFile(filepath.Join(folder, ".config/autostart/acme-tray.desktop"))
	require.NoError(t, err)
	require.Contains(t, string(file), `Exec="/opt/a b/acme" "tray" "--x=100%%\\$\\""`)
	require.NoError(t, d.SetAutostart(e, false))
	require.False(t, d.Autostarts(e))
}

func TestLacksTray(t *testing.T) {
	bus := testlab.StartBus(t)
	env := map[string]string{"XDG_RUNTIME_DIR": bus.Folder()}
	d := Desktop{func(name string) string { return env[name] }}
	require.False(t, d.LacksTray(t.Context()), "there is no desktop")
	env["DISPLAY"] = ":0"
	require.True(t, d.LacksTray(t.Context()))
	panel, err := dbus.Connect(bus.Address())
	require.NoError(t, err)
	defer panel.Close()
	_, err = panel.RequestName(TrayHost, dbus.NameFlagDoNotQueue)
	require.NoError(t, err)
	require.False(t, d.LacksTray(t.Context()))
	bus.Kill()
	require.False(t, d.LacksTray(t.Context()), "nobody knows")
}

// TestBusThatHangs has nobody wait for it for long.
func TestBusThatHangs(t *testing.T) {
	folder := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(folder, "bus"))
	require.NoError(t, err)
	defer l.Close()
	d := Desktop{func(name string) string { return map[string]string{"XDG_RUNTIME_DIR": folder, "DISPLAY": ":0"}[name] }}
	require.False(t, d.LacksTray(t.Context()), "nobody knows")
}
