package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"regexp"
	"slices"
	"strings"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"
)

// states are the columns of the source, named as in internal/tray/icon.
var states = []string{"reporting", "muted", "noclient", "trouble", "down"}

const columnWidth = 24 // in the source

// shades are the colours of the icons, for dark and for light panels.
var shades = map[string]string{"light": "#f2f2f2", "dark": "#3a3a3a"}

// Sizes in pixels: of the one picture for the panels of Linux, and of those in a file for Windows.
const pngSize = 44

var icoSizes = []int{16, 20, 24, 32, 40, 48, 64, 256}

// programColour is the colour of the tile behind the program's icon, which appears on backgrounds of any colour.
const (
	programColour = "#1f6f6b"
	tileSource    = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d">` +
		`<rect width="%[2]d" height="%[2]d" rx="5" ry="5" fill="%[3]s"/></svg>`
)

// drawAll returns every file, by its path below the source's folder.
func drawAll(source string) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for column, state := range states {
		for shade, colour := range shades {
			pictures := make(map[int][]byte)
			for _, size := range slices.Concat([]int{pngSize}, icoSizes) {
				picture, err := drawOne(source, column, size, colour)
				if err != nil {
					return nil, fmt.Errorf("%s at %d pixels: %w", state, size, err)
				}
				pictures[size] = encode(picture)
			}
			files[fmt.Sprintf("files/%s-%s-%d.png", state, shade, pngSize)] = pictures[pngSize]
			files[fmt.Sprintf("files/%s-%s.ico", state, shade)] = ico(pictures)
		}
	}
	program, err := drawProgram(source)
	files["program.ico"] = program
	return files, err
}

// drawProgram returns the program's icon: the first state, light on a tile, at three quarters of its size.
func drawProgram(source string) ([]byte, error) {
	pictures := make(map[int][]byte)
	for _, size := range icoSizes {
		tile, err := rasterise(fmt.Sprintf(tileSource, columnWidth*len(states), columnWidth, programColour), 0, size)
		if err != nil {
			return nil, err
		}
		headset, err := drawOne(source, 0, size*3/4, shades["light"])
		if err != nil {
			return nil, err
		}
		at := (size - headset.Bounds().Dx()) / 2
		draw.Draw(tile, headset.Bounds().Add(image.Pt(at, at)), headset, image.Point{}, draw.Over)
		pictures[size] = encode(tile)
	}
	return ico(pictures), nil
}

func encode(picture image.Image) []byte {
	var file bytes.Buffer
	_ = png.Encode(&file, picture) // into memory, which does not fail
	return file.Bytes()
}

// layer begins a part of the source that draws or erases.
var layer = regexp.MustCompile(`<!-- (draw|erase) -->`)

func drawOne(source string, column, size int, colour string) (*image.RGBA, error) {
	source = strings.ReplaceAll(source, "currentColor", colour)
	whole := image.NewRGBA(image.Rect(0, 0, size, size))
	begins := layer.FindAllStringSubmatchIndex(source, -1)
	if len(begins) == 0 {
		return nil, fmt.Errorf("the source has no layers")
	}
	open, closing := source[:begins[0][0]], "</svg>"
	for i, at := range begins {
		end := strings.LastIndex(source, closing)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		drawn, err := rasterise(open+source[at[1]:end]+closing, column, size)
		if err != nil {
			return nil, err
		}
		if source[at[2]:at[3]] == "draw" {
			draw.Draw(whole, whole.Bounds(), drawn, image.Point{}, draw.Over)
		} else {
			erase(whole, drawn)
		}
	}
	return whole, nil
}

func rasterise(svg string, column, size int) (*image.RGBA, error) {
	icon, err := oksvg.ReadIconStream(strings.NewReader(svg), oksvg.StrictErrorMode)
	if err != nil {
		return nil, err
	}
	icon.SetTarget(float64(-column*size), 0, float64(len(states)*size), float64(size))
	for i := range icon.SVGPaths {
		icon.SVGPaths[i].LineWidth *= float64(size) / columnWidth // which the library does not scale
	}
	drawn := image.NewRGBA(image.Rect(0, 0, size, size))
	icon.Draw(rasterx.NewDasher(size, size, rasterx.NewScannerGV(size, size, drawn, drawn.Bounds())), 1)
	return drawn, nil
}

func erase(from, mask *image.RGBA) {
	for i := 0; i < len(from.Pix); i += 4 {
		left := 255 - int(mask.Pix[i+3])
		for c := range 4 {
			from.Pix[i+c] = byte(int(from.Pix[i+c]) * left / 255)
		}
	}
}

// ico returns a file of several sizes for Windows, which reads PNG pictures in it since Vista.
func ico(pictures map[int][]byte) []byte {
	const header, entry = 6, 16
	var file, body bytes.Buffer
	_ = binary.Write(&file, binary.LittleEndian, []uint16{0, 1, uint16(len(icoSizes))})
	for _, size := range icoSizes {
		side := byte(size) // 256 is written as 0
		file.Write([]byte{side, side, 0, 0})
		_ = binary.Write(&file, binary.LittleEndian, []uint16{1, 32})
		offset := header + entry*len(icoSizes) + body.Len()
		_ = binary.Write(&file, binary.LittleEndian, []uint32{uint32(len(pictures[size])), uint32(offset)})
		body.Write(pictures[size])
	}
	file.Write(body.Bytes())
	return file.Bytes()
}
