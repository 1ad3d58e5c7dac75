// Package screen provides private screens for tests, which can look at them, click and type.
package screen

import (
	"bufio"
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
)

// A Screen is an X server without a monitor. It ends with the test.
type Screen struct {
	tb    testing.TB
	frame string // the file into which the server maps what it shows
	// Display names it, for DISPLAY.
	Display string
}

// New starts a screen of a size in pixels.
func New(tb testing.TB, width, height int) *Screen {
	tb.Helper()
	number, write, err := os.Pipe()
	require.NoError(tb, err)
	defer number.Close()
	folder, size := tb.TempDir(), fmt.Sprintf("%dx%dx24", width, height)
	args := []string{"-displayfd", "3", "-screen", "0", size, "-fbdir", folder, "-nocursor", "-nolisten", "tcp", "-noreset"}
	x := exec.Command("Xvfb", args...) //nolint:noctx // it ends with the test
	x.ExtraFiles = []*os.File{write}
	require.NoError(tb, x.Start(), "run 'make deps'")
	tb.Cleanup(func() {
		_ = x.Process.Kill()
		_ = x.Wait() // it was killed
	})
	require.NoError(tb, write.Close())
	display, err := bufio.NewReader(number).ReadString('\n')
	require.NoError(tb, err)
	return &Screen{tb, filepath.Join(folder, "Xvfb_screen0"), ":" + strings.TrimSpace(display)}
}

func (s *Screen) do(name string, args ...string) []byte {
	s.tb.Helper()
	cmd := exec.Command(name, args...) //nolint:noctx // it takes no time
	cmd.Env = []string{"DISPLAY=" + s.Display, "PATH=/usr/bin:/bin"}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	require.NoError(s.tb, err, "%s: %s", name, &complaint)
	return out
}

// Picture returns what the screen shows once nothing has been drawn for a moment, or after a second.
func (s *Screen) Picture() image.Image {
	s.tb.Helper()
	var frame, before []byte
	for range 10 {
		var err error
		before = frame
		frame, err = os.ReadFile(s.frame)
		require.NoError(s.tb, err)
		if bytes.Equal(frame, before) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	picture, err := decodeXWD(frame)
	require.NoError(s.tb, err)
	return picture
}

// pixels returns a part of a picture, or the whole picture if it is an RGBA image already.
func pixels(picture image.Image, in image.Rectangle) *image.RGBA {
	if already, is := picture.(*image.RGBA); is {
		return already
	}
	p := image.NewRGBA(in)
	paint.Draw(p, in, picture, in.Min, paint.Src)
	return p
}

// Move moves the mouse.
func (s *Screen) Move(to image.Point) {
	s.tb.Helper()
	s.do("xdotool", "mousemove", fmt.Sprint(to.X), fmt.Sprint(to.Y))
}

// Click clicks a mouse button at a point.
func (s *Screen) Click(at image.Point, button string) {
	s.tb.Helper()
	s.do("xdotool", "mousemove", fmt.Sprint(at.X), fmt.Sprint(at.Y), "click", button)
}

// Press presses keys, one after the other.
func (s *Screen) Press(keys ...string) {
	s.tb.Helper()
	s.do("xdotool", append([]string{"key"}, keys...)...)
}

// Differing returns the smallest rectangle that holds all differences of two pictures in a part of them.
// It looks at each pixel, for which the race detector is too slow.
//
//go:norace
func Differing(a, b image.Image, in image.Rectangle) (r image.Rectangle) {
	in = in.Intersect(a.Bounds()).Intersect(b.Bounds())
	p, q := pixels(a, in), pixels(b, in)
	for y := in.Min.Y; y < in.Max.Y; y++ {
		if bytes.Equal(p.Pix[p.PixOffset(in.Min.X, y):p.PixOffset(in.Max.X, y)], q.Pix[q.PixOffset(in.Min.X, y):q.PixOffset(in.Max.X, y)]) {
			continue
		}
		for x := in.Min.X; x < in.Max.X; x++ {
			if p.RGBAAt(x, y) != q.RGBAAt(x, y) {
				r = r.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return r
}

// Save writes a part of a picture into a PNG file.
func Save(tb testing.TB, path string, picture image.Image, part image.Rectangle) {
	tb.Helper()
	cut := image.NewRGBA(image.Rectangle{Max: part.Size()})
	paint.Draw(cut, cut.Bounds(), picture, part.Min, paint.Src)
	file, err := os.Create(path)
	require.NoError(tb, err)
	require.NoError(tb, png.Encode(file, cut))
	require.NoError(tb, file.Close())
}
