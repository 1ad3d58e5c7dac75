package tray

import (
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab/screen"
)

// TestOnARealPanel: the icon is drawn; a real click opens the menu, with all its rows, and keys a menu of one of them; a menu that is
// open stays open while a mute changes a row of it, and the icon; a click sets a check; the icon is there again after the panel has
// restarted; keys choose the last row.
func TestOnARealPanel(t *testing.T) {
	for name, kind := range realPanels {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, kind)
			d.agent.start()
			d.agent.say(views["default_input"])
			empty := d.screen.Picture()
			tray := d.tray()
			d.eventually("the icon is drawn", func() bool { return screen.Differing(empty, d.screen.Picture(), corner).Dx() > panelHeight/3 })
			require.True(t, used(d.screen.Picture()).Empty(), "a menu is open")

			before, open := d.openMenu()
			muted := viewOf(products(headset(1, "Acme Headset 700", devices.True)), conditions(defaultInput))
			d.agent.say(muted)
			var after image.Image
			d.eventually("a row of the open menu has changed", func() bool {
				after = d.screen.Picture()
				return !screen.Differing(before, after, open).Empty() && !screen.Differing(before, after, corner).Empty()
			})
			require.Equal(t, open, used(after), "the menu has been closed, or built anew")

			d.screen.Press("Up")
			var last image.Rectangle
			d.eventually("the last row is chosen", func() bool {
				last = screen.Differing(after, d.screen.Picture(), open)
				return last.Dx() > open.Dx()/2
			})
			rows := strings.Count(expected(muted), "\n") - strings.Count(expected(muted), "\n  ") - strings.Count(expected(muted), "---\n")
			require.InDelta(t, open.Dy(), rows*last.Dy(), float64(2*last.Dy()), "not all rows are there: %d", rows)

			// Five rows and a separator above.
			pauses := centre(last).Sub(image.Pt(0, last.Dy()*54/10))
			if name != "xfce" { // there a row on the way may open a menu of its own, which takes the next key
				d.screen.Press("Up", "Up", "Up", "Up", "Up", "Right")
			}
			beside := image.Rect(0, 0, open.Min.X, screenHeight)
			d.eventually("the two rows of its menu are beside the one that pauses", func() bool {
				if name == "xfce" { // GTK takes the first move after a key for none of the user's
					pauses.X ^= 1
					d.screen.Move(pauses)
				}
				return screen.Differing(after, d.screen.Picture(), beside).Dy() >= 2*last.Dy()*9/10
			})
			d.screen.Click(centre(last).Sub(image.Pt(0, 2*last.Dy())), "1")
			d.screen.Move(image.Pt(0, screenHeight-1))
			d.eventually("it starts at login", func() bool {
				_, err := os.Stat(filepath.Join(d.home, ".config/autostart/sidetone-tray.desktop"))
				return err == nil
			})
			d.eventually("the menu is closed", func() bool { return used(d.screen.Picture()).Empty() })
			checked, again := d.openMenu()
			require.Equal(t, open, again)
			mark := screen.Differing(after, checked, open)
			require.Less(t, mark.Dx(), last.Dy(), "more than a mark is new")
			require.Positive(t, mark.Dx(), "it is not drawn as checked")
			d.screen.Press("Escape")
			d.eventually("the menu is closed", func() bool { return used(d.screen.Picture()).Empty() })

			before = d.screen.Picture()
			require.NoError(t, d.panel.Process.Kill())
			_ = d.panel.Wait() // it was killed
			d.eventually("the panel is gone", func() bool { return !screen.Differing(before, d.screen.Picture(), corner).Empty() })
			d.startPanel()
			d.eventually("all looks as before", func() bool { return screen.Differing(before, d.screen.Picture(), corner).Empty() })

			d.openMenu()
			d.screen.Press("Up", "Return")
			require.Zero(t, tray.end())
		})
	}
}
