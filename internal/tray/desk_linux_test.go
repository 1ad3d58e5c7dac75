package tray

import (
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/screen"
	"sidetone/internal/tray/icon"
)

const (
	screenWidth  = 900
	screenHeight = 620
	panelHeight  = 30
)

// corner is the part of the screen where a panel has its only icon.
var corner = image.Rect(screenWidth-panelHeight, 0, screenWidth, panelHeight)

// realPanel is how a desktop's own panel comes to the top of the screen, with its icons at the right.
type realPanel struct {
	settings map[string]string // files below ~/.config
	service  string            // pattern of the path of a program that the panel needs, and its name on the bus
	owns     string
	panel    []string
	shade    icon.Shade // that shows on it
}

// realPanels are made of different libraries throughout: of Xfce with GTK and libdbusmenu, of LXQt with Qt and libdbusmenu-qt.
var realPanels = map[string]realPanel{
	"xfce": {
		settings: map[string]string{"xfce4/xfconf/xfce-perchannel-xml/xfce4-panel.xml": xfceSettings},
		service:  "/usr/lib/*/xfce4/xfconf/xfconfd", owns: "org.xfce.Xfconf",
		panel: []string{"xfce4-panel", "--disable-wm-check"}, shade: icon.Light,
	},
	"lxqt": {
		settings: map[string]string{"lxqt/panel.conf": lxqtSettings, "lxqt/lxqt.conf": "[General]\ntheme=light\n"},
		panel:    []string{"lxqt-panel"}, shade: icon.Dark,
	},
}

const xfceSettings = `<?xml version="1.0" encoding="UTF-8"?>
<channel name="xfce4-panel" version="1.0">
  <property name="configver" type="int" value="2"/>
  <property name="panels" type="array">
    <value type="int" value="1"/>
    <property name="panel-1" type="empty">
      <property name="position" type="string" value="p=6;x=0;y=0"/>
      <property name="length" type="uint" value="100"/>
      <property name="position-locked" type="bool" value="true"/>
      <property name="size" type="uint" value="30"/>
      <property name="plugin-ids" type="array"><value type="int" value="1"/><value type="int" value="2"/></property>
    </property>
  </property>
  <property name="plugins" type="empty">
    <property name="plugin-1" type="string" value="separator"><property name="expand" type="bool" value="true"/></property>
    <property name="plugin-2" type="string" value="systray"/>
  </property>
</channel>
`

const lxqtSettings = `[General]
__userfile__=true
panels=panel1
[panel1]
plugins=icons
position=Top
panelSize=30
iconSize=22
width=100
width-percent=true
lockPanel=true
[icons]
type=statusnotifier
alignment=Right
`

// desk is a session with a screen and a real panel.
type desk struct {
	*session
	screen *screen.Screen
	env    []string
	panel  *exec.Cmd
	kind   realPanel
}

func newDesk(t *testing.T, kind realPanel) *desk {
	d := &desk{session: newSession(t), kind: kind}
	for name, content := range kind.settings {
		path := filepath.Join(d.home, ".config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	d.screen = screen.New(t, screenWidth, screenHeight)
	d.env = []string{
		"DISPLAY=" + d.screen.Display, "HOME=" + d.home, "XDG_RUNTIME_DIR=" + d.bus.Folder(), "PATH=/usr/bin:/bin",
		"DBUS_SESSION_BUS_ADDRESS=" + d.bus.Address(), "NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory", "LC_ALL=C.UTF-8",
		"GTK_THEME=Adwaita:dark",
	}
	if kind.service != "" {
		found, err := filepath.Glob(kind.service)
		require.NoError(t, err)
		require.NotEmpty(t, found, "%s is not installed: run 'make deps'", kind.service)
		d.run(exec.Command(found[0]))
		d.owned(kind.owns)
	}
	d.startPanel()
	return d
}

func (d *desk) startPanel() {
	d.panel = exec.Command(d.kind.panel[0], d.kind.panel[1:]...)
	d.run(d.panel)
	d.owned(desktop.TrayHost)
}

// run starts a program that ends with the test.
func (d *desk) run(cmd *exec.Cmd) {
	d.t.Helper()
	cmd.Env = append(cmd.Env, d.env...)
	require.NoError(d.t, cmd.Start(), "run 'make deps'")
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // a second time it says only that it was called before
	})
}

// eventually waits for what is to be seen on the screen. In vain, it keeps a picture of what is there.
func (d *desk) eventually(what string, holds func() bool) {
	d.t.Helper()
	testlab.Eventually(keepsPicture{d.t, d.screen}, what, holds)
}

type keepsPicture struct {
	testing.TB
	screen *screen.Screen
}

func (k keepsPicture) Fatalf(format string, args ...any) {
	k.Helper()
	if folder, err := os.MkdirTemp("", "panel"); err == nil {
		path := filepath.Join(folder, "screen.png")
		screen.Save(k, path, k.screen.Picture(), image.Rect(0, 0, screenWidth, screenHeight))
		k.Log("the screen is in", path)
	}
	k.TB.Fatalf(format, args...)
}

// owned waits until somebody has a name on the bus.
func (d *desk) owned(name string) {
	d.t.Helper()
	conn := d.connect()
	testlab.Eventually(d.t, name+" is on the bus", func() bool {
		var has bool
		err := conn.BusObject().Call("org.freedesktop.DBus.NameHasOwner", 0, name).Store(&has)
		return err == nil && has
	})
}

// openMenu clicks on the icon, and returns the screen, and the part of it where the menu is. It leaves the mouse where nothing is: so no
// tooltip covers anything.
func (d *desk) openMenu() (shown image.Image, menu image.Rectangle) {
	d.t.Helper()
	d.eventually("the menu is open", func() bool {
		d.screen.Click(centre(corner), "3")
		if !soon(func() bool { return !used(d.screen.Picture()).Empty() }) {
			return false
		}
		d.screen.Move(image.Pt(0, screenHeight-1))
		return soon(func() bool {
			before := menu
			shown = d.screen.Picture()
			menu = used(shown)
			return !menu.Empty() && menu == before
		})
	})
	return shown, menu
}

func centre(of image.Rectangle) image.Point { return of.Min.Add(of.Size().Div(2)) }

// used is the part of the screen below the panel on which something is: the rest is black.
func used(shown image.Image) image.Rectangle {
	return screen.Differing(shown, image.Black, image.Rect(0, panelHeight+5, screenWidth, screenHeight))
}

// soon gives what was just caused some time to show: a click may have been lost, before a panel was ready.
func soon(shows func() bool) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if shows() {
			return true
		}
	}
	return false
}
