package main

import (
	"fmt"
	"image"
	"os"
	"path/filepath"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"
	"github.com/tc-hib/winres"
)

// iconSizes are the sizes that Windows shows, in pixels.
var iconSizes = []int{16, 20, 24, 32, 40, 48, 64, 256}

// icon returns the product's icon as Windows wants it: in pixels.
func (b *Brand) icon() (*winres.Icon, error) {
	var pictures []image.Image
	for _, size := range iconSizes {
		picture, err := drawSVG(filepath.Join(b.folder, b.Product.Icon), size)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, picture)
	}
	return winres.NewIconFromImages(pictures)
}

// drawSVG draws a square picture of that many pixels. An element that the library does not know is an error: half an icon is none.
func drawSVG(path string, size int) (*image.RGBA, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	svg, err := oksvg.ReadIconStream(file, oksvg.StrictErrorMode)
	if err != nil {
		return nil, err
	}
	if svg.ViewBox.W <= 0 || svg.ViewBox.W != svg.ViewBox.H {
		return nil, fmt.Errorf("its viewBox is %g by %g", svg.ViewBox.W, svg.ViewBox.H)
	}
	svg.SetTarget(0, 0, float64(size), float64(size))
	for i := range svg.SVGPaths {
		svg.SVGPaths[i].LineWidth *= float64(size) / svg.ViewBox.W // which the library does not scale
	}
	drawn := image.NewRGBA(image.Rect(0, 0, size, size))
	svg.Draw(rasterx.NewDasher(size, size, rasterx.NewScannerGV(size, size, drawn, drawn.Bounds())), 1)
	return drawn, nil
}
