package endtoend

import (
	"flag"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/testlab/screen"
)

var (
	update   = flag.Bool("update", false, "take the picture of docs/tray.md anew")
	pictures = flag.String("pictures", "", "folder for pictures of the menus on Wine's desktop, to be looked at")
)

const (
	screenWidth  = 1024
	screenHeight = 768
	barHeight    = 20
)

// corner is where the taskbar has its nth icon.
func corner(n int) image.Rectangle {
	return image.Rect(screenWidth-barHeight, screenHeight-barHeight, screenWidth, screenHeight).Sub(image.Pt(n*barHeight, 0))
}

// desktop is Wine's desktop, with a taskbar. It is there from the first program that has a window.
type desktop struct {
	prefix
	screen *screen.Screen
}

// themes are what a user's registry says of the taskbar's colour, and the colours themselves: Wine has its own.
var themes = map[string]string{
	"light": `
[Software\\Microsoft\\Windows\\CurrentVersion\\Themes\\Personalize]
"SystemUsesLightTheme"=dword:00000001

[Control Panel\\Colors]
"GrayText"="109 109 109"
`,
	"dark": `
[Software\\Microsoft\\Windows\\CurrentVersion\\Themes\\Personalize]
"SystemUsesLightTheme"=dword:00000000

[Control Panel\\Colors]
"ButtonFace"="32 32 32"
"ButtonHilight"="43 43 43"
"ButtonText"="255 255 255"
"GrayText"="160 160 160"
"Menu"="43 43 43"
"MenuText"="255 255 255"
`,
}

// desktopOfAll has every program show its windows on the one desktop.
const desktopOfAll = `
[Software\\Wine\\Explorer]
"Desktop"="shell"

[Software\\Wine\\Fonts\\Replacements]
"Tahoma"="DejaVu Sans"

[Software\\Wine\\Explorer\\Desktops]
"shell"="1024x768"
`

// fallbackFont has what Wine's own fonts have not.
const fallbackFont = `
[Software\\Microsoft\\Windows NT\\CurrentVersion\\FontLink\\SystemLink]
"DejaVu Sans"=str(7):"DroidSansFallbackFull.ttf,Droid Sans Fallback\0"
`

// fallbackFonts are files for languages that Wine's own fonts have not.
func fallbackFonts(t *testing.T) []string {
	files, err := filepath.Glob("/usr/share/fonts/truetype/droid/DroidSansFallback*.ttf")
	require.NoError(t, err)
	return files
}

// resolution is what a user's registry says of it.
func resolution(dpi int) string {
	return fmt.Sprintf("\n[Control Panel\\\\Desktop]\n\"LogPixels\"=dword:%08x\n", dpi)
}

func newDesktop(t *testing.T, theme string, dpi int) desktop {
	s := screen.New(t, screenWidth, screenHeight)
	d := desktop{newPrefix(t, "/nonexistent"), s}
	d.env = append(d.env, "SIDETONE_WINE_DISPLAY="+s.Display)
	for _, font := range fallbackFonts(t) {
		data, err := os.ReadFile(font)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(d.folder, "drive_c/windows/Fonts", filepath.Base(font)), data, 0o600))
	}
	for file, text := range map[string]string{"user.reg": desktopOfAll + themes[theme] + resolution(dpi), "system.reg": fallbackFont} {
		registry, err := os.OpenFile(filepath.Join(d.folder, file), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = registry.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, registry.Close())
	}
	return d
}

// TestTheTrayOnTheDesktop has the programs as they ship: the icon comes, a click opens the menu, which stays open while a mute that another
// process says changes a row of it, and the icon; a click on the last row ends it.
func TestTheTrayOnTheDesktop(t *testing.T) {
	d := newDesktop(t, "dark", 96)
	d.agent("sidetone.exe", "acme", 0)
	d.start("sidetonew.exe", "--vendor=acme")
	d.waitForIcon()

	before, menu := d.openMenu()
	out, code := d.run("sidetone.exe", "push", "acme-headset-700", "hardware_mute=true", "--ttl", "10m")
	require.Zero(t, code, out)
	var after image.Image
	testlab.Eventually(t, "the icon and a row of the open menu have changed", func() bool {
		after = d.screen.Picture()
		return !screen.Differing(before, after, menu).Empty() && !screen.Differing(before, after, corner(0)).Empty()
	})
	require.Equal(t, menu, used(after), "the menu has been closed, or built anew")
	d.screen.Click(image.Pt(menu.Min.X+30, menu.Max.Y-10), "1")
	testlab.Eventually(t, "menu and icon are gone", func() bool {
		shown := d.screen.Picture()
		return used(shown).Empty() && icon(shown, corner(0)).Empty()
	})
}

// TestTheIconHasTheSizeOfTheScreen: what is drawn of one of 24 or 32 pixels is wider than the next smaller one is whole.
func TestTheIconHasTheSizeOfTheScreen(t *testing.T) {
	for dpi, pixels := range map[int]int{144: 24, 192: 32} {
		t.Run(strconv.Itoa(dpi), func(t *testing.T) {
			d := newDesktop(t, "light", dpi)
			d.start("sidetonew.exe", "--vendor=acme")
			lowerRight := image.Rect(screenWidth-2*pixels, screenHeight-pixels, screenWidth, screenHeight)
			d.eventually("the icon is drawn", func() bool {
				drawn := icon(d.screen.Picture(), lowerRight).Dx()
				return drawn > pixels*3/4 && drawn <= pixels
			})
		})
	}
}

// TestTraysOfTwoBrands: each is a program of its own and shows its own agent in its own words. There is one of each, though two are started
// at once, and the end of one leaves the other.
func TestTraysOfTwoBrands(t *testing.T) {
	d := newDesktop(t, "light", 96)
	folder := t.TempDir()
	brands := []string{"acme", "beta"}
	for n, brand := range brands {
		for from, to := range map[string]string{"sidetone.exe": brand + ".exe", "sidetonew.exe": brand + "w.exe"} {
			require.NoError(t, os.Link(filepath.Join(*programs, from), filepath.Join(folder, to)))
		}
		require.NoError(t, os.WriteFile(filepath.Join(folder, brand+".brand.yaml"), fmt.Appendf(nil,
			"vendor: {id: %[1]s, client_id: \"12345678901234567%[2]d\"}\ntexts:\n  en:\n    tray.quit: Leave %[1]s\n", brand, n), 0o600))
		d.agent(filepath.Join(folder, brand+".exe"), brand, n)
		for range 2 {
			d.start(filepath.Join(folder, brand+"w.exe"))
		}
		log := filepath.Join(d.folder, "drive_c/users/root/AppData/Local", brand, "tray.log")
		d.eventually("one is told that there is one", func() bool {
			text, _ := os.ReadFile(log)
			return strings.Count(string(text), "has a tray icon of this agent already") == 1
		})
	}
	shown := func() (n int) {
		for picture := d.screen.Picture(); !icon(picture, corner(n)).Empty(); n++ {
		}
		return n
	}
	d.eventually("there are two icons", func() bool { return shown() == 2 })
	for n := len(brands) - 1; n >= 0; n-- {
		picture, menu := d.openMenuOf(corner(n))
		if *pictures != "" {
			screen.Save(t, filepath.Join(*pictures, fmt.Sprint("brand-", n, ".png")), picture, menu)
		}
		d.screen.Click(image.Pt(menu.Min.X+30, menu.Max.Y-10), "1")
		d.eventually("it has left, and the other is there", func() bool { return shown() == n })
	}
}

// agent has an agent run in front of a client of its own, with one microphone, which it reports, and its log in a file.
func (d desktop) agent(program, vendor string, client int) {
	d.t.Helper()
	folder := d.t.TempDir()
	catalogue, endpoints := filepath.Join(folder, "catalogue.yaml"), filepath.Join(folder, "endpoints.yaml")
	text := strings.Replace(string(examples.Acme), "id: acme ", "id: "+vendor+" ", 1)
	text = strings.Replace(text, "123456789012345678", fmt.Sprint("12345678901234567", client), 1)
	require.NoError(d.t, os.WriteFile(catalogue, []byte(text), 0o600))
	require.NoError(d.t, os.WriteFile(endpoints, []byte(
		`endpoints: [{id: mic, name: Mic, type: audioinput, bus: usb, vid: "1209", pid: "0700", serial: "1"}]`+"\n"), 0o600))
	kept, pipes := filepath.Join(folder, "kept.json"), `\\.\pipe\sidetone-test-`+vendor
	d.start("fakeserver.exe", "--no-tcp", "--ipc", pipes, "--state", kept)
	d.start(program, "run", "--catalogue", catalogue, "--sources-files", endpoints, "--sources-audio=false", "--sources-camera=false",
		"--sources-hid=false", "--rpc-transports=ipc", "--rpc-ports", strconv.Itoa(ipctest.Port(d.t)), "--rpc-ipc-folders", pipes)
	testlab.Eventually(d.t, "the headset is reported", func() bool { return len(keptBy(kept)) == 1 })
}

// TestPictures takes that of docs/tray.md, and with -pictures many.
func TestPictures(t *testing.T) {
	if !*update && *pictures == "" {
		t.Skip("pictures are made with -update or -pictures")
	}
	program := filepath.Join(t.TempDir(), "tray.test.exe")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "sidetone/internal/tray")
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	if *update {
		takePicture(t, program, "muted", "en", "dark", "../../../docs/images/tray-windows.png")
	}
	if *pictures == "" {
		return
	}
	require.NotEmpty(t, fallbackFonts(t), "Japanese needs a font: install the package fonts-droid-fallback")
	for _, lang := range []string{"en", "de", "ja"} {
		for _, view := range []string{"muted", "trouble"} {
			for theme := range themes {
				takePicture(t, program, view, lang, theme, filepath.Join(*pictures, lang+"-"+view+"-"+theme+".png"))
			}
		}
	}
}

// takePicture takes one of a menu and the icon below it.
func takePicture(t *testing.T, program, view, lang, theme, path string) {
	t.Run(view+" "+lang+" "+theme, func(t *testing.T) {
		d := newDesktop(t, theme, 96)
		d.start(program, "-test.run=^TestShow$", "-view="+view, "-lang="+lang)
		d.waitForIcon()
		shown, menu := d.openMenu()
		screen.Save(t, path, shown, image.Rect(menu.Min.X, menu.Min.Y, screenWidth, screenHeight))
	})
}

func (d desktop) waitForIcon() {
	d.t.Helper()
	testlab.Eventually(d.t, "the icon is drawn", func() bool { return !icon(d.screen.Picture(), corner(0)).Empty() })
}

// openMenu clicks on the icon, and returns the screen, and the part of it where the menu is, which is above the mouse.
func (d desktop) openMenu() (shown image.Image, menu image.Rectangle) { return d.openMenuOf(corner(0)) }

func (d desktop) openMenuOf(corner image.Rectangle) (shown image.Image, menu image.Rectangle) {
	d.t.Helper()
	d.screen.Click(image.Pt(corner.Min.X+barHeight/2, corner.Min.Y+1), "3")
	d.screen.Move(image.Pt(0, screenHeight/2)) // where nothing is: so no tooltip covers anything
	testlab.Eventually(d.t, "the menu is open", func() bool {
		before := menu
		shown = d.screen.Picture()
		menu = used(shown)
		return !menu.Empty() && menu == before
	})
	return shown, menu
}

// used is the part of the screen above the taskbar on which something is.
func used(shown image.Image) image.Rectangle {
	return screen.Differing(shown, image.NewUniform(shown.At(0, 0)), image.Rect(0, 0, screenWidth, screenHeight-barHeight))
}

// icon is the part of a corner on which something is, where there is a taskbar.
func icon(shown image.Image, corner image.Rectangle) image.Rectangle {
	bar := shown.At(screenWidth/2, screenHeight-barHeight/2)
	if bar == shown.At(0, 0) {
		return image.Rectangle{}
	}
	return screen.Differing(shown, image.NewUniform(bar), corner)
}
