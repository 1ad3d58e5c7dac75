package tray

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/testlab"
)

// panelSettings put a tray, and nothing else, to the right of a panel at the top of the screen.
const panelSettings = `<?xml version="1.0" encoding="UTF-8"?>
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

const panelHeight = 30

// desk is a session with a screen and a real panel.
type desk struct {
	*session
	env []string
}

func newDesk(t *testing.T) *desk {
	d := &desk{session: newSession(t)}
	d.bus.Start()
	settings := filepath.Join(d.home, ".config/xfce4/xfconf/xfce-perchannel-xml")
	require.NoError(t, os.MkdirAll(settings, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(settings, "xfce4-panel.xml"), []byte(panelSettings), 0o600))
	number, write, err := os.Pipe()
	require.NoError(t, err)
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "900x620x24", "-nolisten", "tcp")
	x.ExtraFiles = []*os.File{write}
	d.run(x)
	require.NoError(t, write.Close())
	display := make([]byte, 8)
	n, err := number.Read(display)
	require.NoError(t, err)
	d.env = []string{
		"DISPLAY=:" + strings.TrimSpace(string(display[:n])), "HOME=" + d.home, "XDG_RUNTIME_DIR=" + d.bus.Folder(), "PATH=/usr/bin:/bin",
		"DBUS_SESSION_BUS_ADDRESS=" + d.bus.Address(), "NO_AT_BRIDGE=1", "GSETTINGS_BACKEND=memory", "LC_ALL=C.UTF-8",
	}
	found, err := filepath.Glob("/usr/lib/*/xfce4/xfconf/xfconfd")
	require.NoError(t, err)
	require.NotEmpty(t, found, "xfconf is not installed: run 'make deps'")
	d.run(exec.Command(found[0]))
	conn := d.connect()
	d.owned(conn, "org.xfce.Xfconf")
	d.run(exec.Command("xfce4-panel", "--disable-wm-check"))
	d.owned(conn, desktop.TrayHost)
	return d
}

// run starts a program that ends with the test.
func (d *desk) run(cmd *exec.Cmd) {
	d.t.Helper()
	cmd.Env = append(cmd.Env, d.env...)
	require.NoError(d.t, cmd.Start(), "run 'make deps'")
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// owned waits until somebody has a name on the bus.
func (d *desk) owned(conn *dbus.Conn, name string) {
	d.t.Helper()
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
func (d *desk) screen() image.Image {
	d.t.Helper()
	picture, err := png.Decode(bytes.NewReader(d.do("import", "-window", "root", "png:-")))
	require.NoError(d.t, err)
	return picture
}

// used is the part of the screen below the panel on which something is: the rest is black.
func used(screen image.Image) (r image.Rectangle) {
	b := screen.Bounds()
	for y := panelHeight + 5; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if red, green, blue, _ := screen.At(x, y).RGBA(); red+green+blue > 0 {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}

// differing is how many pixels of a part of the screen differ.
func differing(a, b image.Image, in image.Rectangle) (n int) {
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			if a.At(x, y) != b.At(x, y) {
				n++
			}
		}
	}
	return n
}

// TestOnARealPanel: the icon is drawn, and drawn anew for a mute; a menu that is open stays open while a row of it changes; a real
// click and real keys choose its last row.
func TestOnARealPanel(t *testing.T) {
	d := newDesk(t)
	d.agent.start()
	calm := views["default_input"]
	d.agent.say(calm)
	corner := image.Rect(900-panelHeight, 0, 900, panelHeight)
	empty := d.screen()
	tray := d.tray()
	var before, after image.Image
	testlab.Eventually(t, "the icon is drawn", func() bool {
		before = d.screen()
		return differing(empty, before, corner) > 30
	})
	require.True(t, used(before).Empty(), "a menu is open")

	testlab.Eventually(t, "the menu is open", func() bool {
		d.do("xdotool", "mousemove", fmt.Sprint(900-panelHeight/2), fmt.Sprint(panelHeight/2), "click", "3")
		soon(func() bool {
			before = d.screen()
			return !used(before).Empty()
		})
		return !used(before).Empty()
	})
	open := used(before)

	muted := view(products(headset(1, "Acme Headset 700", devices.True)), conditions(defaultInput))
	d.agent.say(muted)
	testlab.Eventually(t, "a row of the open menu has changed", func() bool {
		after = d.screen()
		return differing(before, after, open) > 30 && differing(before, after, corner) > 30
	})
	require.Equal(t, open, used(after), "the menu has been closed, or built anew")

	d.do("xdotool", "key", "Up", "Return")
	require.Zero(t, tray.end())
}

// soon gives what was just caused a few looks to show.
func soon(shows func() bool) {
	for range 20 {
		if shows() {
			return
		}
	}
}
