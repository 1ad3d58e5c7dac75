package tray

import (
	"flag"
	"image"
	"path/filepath"
	"testing"

	"sidetone/internal/devices"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/screen"
	"sidetone/internal/texts"
)

var pictures = flag.String("pictures", "", "folder for pictures of the menus on real panels, to be looked at")

// TestPictures makes those of docs/tray.md, and with -pictures those of each view, and of two in each language.
func TestPictures(t *testing.T) {
	if !*update && *pictures == "" {
		t.Skip("pictures are made with -update or -pictures")
	}
	muted := viewOf(products(headset(1, "Acme Headset 700", devices.True)), conditions(defaultInput))
	trouble := views["trouble"]
	for name, kind := range realPanels {
		if *update {
			takePicture(t, kind, muted, texts.English, map[string]string{
				"xfce": "../../docs/images/tray.png",
				"lxqt": "../../docs/images/tray-lxqt.png",
			}[name])
		}
		if *pictures == "" {
			continue
		}
		for which, v := range views {
			takePicture(t, kind, v, texts.English, filepath.Join(*pictures, name+"-"+which+".png"))
		}
		for _, lang := range texts.Shipped.Languages() {
			takePicture(t, kind, muted, lang, filepath.Join(*pictures, name+"-lang-"+lang+"-muted.png"))
			takePicture(t, kind, trouble, lang, filepath.Join(*pictures, name+"-lang-"+lang+"-trouble.png"))
		}
	}
}

// takePicture writes one of a menu and the icon above it.
func takePicture(t *testing.T, kind realPanel, v view, lang, path string) {
	t.Run(filepath.Base(path), func(t *testing.T) {
		d := newDesk(t, kind)
		if v.Agent == agentUp {
			d.agent.start()
			d.agent.say(v)
		}
		empty := d.screen.Picture()
		d.tray(langEnv+"="+lang, shadeEnv+"="+string(kind.shade))
		testlab.Eventually(t, "the icon is drawn", func() bool { return screen.Differing(empty, d.screen.Picture(), corner).Dx() > panelHeight/3 })
		shown, menu := d.openMenu()
		screen.Save(t, path, shown, image.Rect(menu.Min.X, 0, screenWidth, menu.Max.Y))
	})
}
