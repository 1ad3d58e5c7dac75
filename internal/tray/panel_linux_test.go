package tray

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
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
			empty := d.screen()
			tray := d.tray()
			testlab.Eventually(t, "the icon is drawn", func() bool { return differing(empty, d.screen(), corner).Dx() > panelHeight/3 })
			require.True(t, used(d.screen()).Empty(), "a menu is open")

			before, open := d.openMenu()
			muted := viewOf(products(headset(1, "Acme Headset 700", devices.True)), conditions(defaultInput))
			d.agent.say(muted)
			var after *image.RGBA
			testlab.Eventually(t, "a row of the open menu has changed", func() bool {
				after = d.screen()
				return !differing(before, after, open).Empty() && !differing(before, after, corner).Empty()
			})
			require.Equal(t, open, used(after), "the menu has been closed, or built anew")

			d.do("xdotool", "key", "Up")
			var last image.Rectangle
			testlab.Eventually(t, "the last row is chosen", func() bool {
				last = differing(after, d.screen(), open)
				return last.Dx() > open.Dx()/2
			})
			rows := strings.Count(expected(muted), "\n") - strings.Count(expected(muted), "\n  ") - strings.Count(expected(muted), "---\n")
			require.InDelta(t, open.Dy(), rows*last.Dy(), float64(2*last.Dy()), "not all rows are there: %d", rows)

			// Five rows and a separator above.
			pauses := centre(last).Sub(image.Pt(0, last.Dy()*54/10))
			if name != "xfce" { // there a row on the way may open a menu of its own, which takes the next key
				d.do("xdotool", "key", "Up", "Up", "Up", "Up", "Up", "Right")
			}
			beside := image.Rect(0, 0, open.Min.X, screenHeight)
			testlab.Eventually(t, "the three rows of its menu are beside the one that pauses", func() bool {
				if name == "xfce" { // GTK takes the first move after a key for none of the user's
					pauses.X ^= 1
					d.do("xdotool", "mousemove", fmt.Sprint(pauses.X), fmt.Sprint(pauses.Y))
				}
				return differing(after, d.screen(), beside).Dy() >= 3*last.Dy()*9/10
			})
			d.click(centre(last).Sub(image.Pt(0, 2*last.Dy())), "1")
			d.do("xdotool", "mousemove", "0", fmt.Sprint(screenHeight-1))
			testlab.Eventually(t, "it starts at login", func() bool {
				_, err := os.Stat(filepath.Join(d.home, ".config/autostart/sidetone-tray.desktop"))
				return err == nil
			})
			testlab.Eventually(t, "the menu is closed", func() bool { return used(d.screen()).Empty() })
			checked, again := d.openMenu()
			require.Equal(t, open, again)
			mark := differing(after, checked, open)
			require.Less(t, mark.Dx(), last.Dy(), "more than a mark is new")
			require.Positive(t, mark.Dx(), "it is not drawn as checked")
			d.do("xdotool", "key", "Escape")
			testlab.Eventually(t, "the menu is closed", func() bool { return used(d.screen()).Empty() })

			before = d.screen()
			require.NoError(t, d.panel.Process.Kill())
			_ = d.panel.Wait() // it was killed
			testlab.Eventually(t, "the panel is gone", func() bool { return !differing(before, d.screen(), corner).Empty() })
			d.startPanel()
			testlab.Eventually(t, "all looks as before", func() bool { return differing(before, d.screen(), corner).Empty() })

			d.openMenu()
			d.do("xdotool", "key", "Up", "Return")
			require.Zero(t, tray.end())
		})
	}
}
