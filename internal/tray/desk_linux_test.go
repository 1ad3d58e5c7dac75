package tray

import (
	"bytes"
	"fmt"
	"image"
	paint "image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
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
	env   []string
	panel *exec.Cmd
	kind  realPanel
}

func newDesk(t *testing.T, kind realPanel) *desk {
	d := &desk{session: newSession(t), kind: kind}
	d.bus.Start()
	for name, content := range kind.settings {
		path := filepath.Join(d.home, ".config", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	number, write, err := os.Pipe()
	require.NoError(t, err)
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", screenWidth, screenHeight), "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{write}
	d.run(x)
	require.NoError(t, write.Close())
	display := make([]byte, 8)
	n, err := number.Read(display)
	require.NoError(t, err)
	d.env = []string{
		"DISPLAY=:" + strings.TrimSpace(string(display[:n])), "HOME=" + d.home, "XDG_RUNTIME_DIR=" + d.bus.Folder(), "PATH=/usr/bin:/bin",
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

// do runs a program to its end, and returns what it prints.
func (d *desk) do(name string, args ...string) []byte {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = d.env
	out, err := cmd.Output()
	require.NoError(d.t, err, name)
	return out
}

// screen is what is on it.
func (d *desk) screen() *image.RGBA {
	d.t.Helper()
	picture, err := png.Decode(bytes.NewReader(d.do("import", "-window", "root", "png:-")))
	require.NoError(d.t, err)
	screen := image.NewRGBA(picture.Bounds())
	paint.Draw(screen, screen.Rect, picture, picture.Bounds().Min, paint.Src)
	return screen
}

// click presses a button of the mouse somewhere.
func (d *desk) click(at image.Point, button string) {
	d.t.Helper()
	d.do("xdotool", "mousemove", fmt.Sprint(at.X), fmt.Sprint(at.Y), "click", button)
}

// openMenu clicks on the icon, and returns the screen, and the part of it where the menu is. It leaves the mouse where nothing is: so no
// tooltip covers anything.
func (d *desk) openMenu() (shown *image.RGBA, menu image.Rectangle) {
	d.t.Helper()
	testlab.Eventually(d.t, "the menu is open", func() bool {
		d.click(centre(corner), "3")
		if !soon(func() bool { return !used(d.screen()).Empty() }) {
			return false
		}
		d.do("xdotool", "mousemove", "0", fmt.Sprint(screenHeight-1))
		return soon(func() bool {
			before := menu
			shown = d.screen()
			menu = used(shown)
			return !menu.Empty() && menu == before
		})
	})
	return shown, menu
}

func centre(of image.Rectangle) image.Point { return of.Min.Add(of.Size().Div(2)) }

// used is the part of the screen below the panel on which something is: the rest is black.
func used(screen *image.RGBA) (r image.Rectangle) {
	b := screen.Rect
	black := image.NewRGBA(b)
	paint.Draw(black, b, image.Black, image.Point{}, paint.Src)
	return differing(screen, black, image.Rect(b.Min.X, panelHeight+5, b.Max.X, b.Max.Y))
}

// differing is the part of a part of the screen where two pictures differ.
func differing(a, b *image.RGBA, in image.Rectangle) (r image.Rectangle) {
	in = in.Intersect(a.Rect)
	for y := in.Min.Y; y < in.Max.Y; y++ {
		from, to := a.PixOffset(in.Min.X, y), a.PixOffset(in.Max.X, y)
		if bytes.Equal(a.Pix[from:to], b.Pix[from:to]) {
			continue
		}
		for x := in.Min.X; x < in.Max.X; x++ {
			if a.RGBAAt(x, y) != b.RGBAAt(x, y) {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
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
