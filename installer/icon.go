package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/srwiley/oksvg"
	"github.com/srwiley/rasterx"
	"github.com/tc-hib/winres"

	"sidetone/internal/strictyaml"
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

// svgElements are the elements that the library draws. It refuses others, except within <defs>, where it ignores filters and clip paths.
var svgElements = []string{
	"svg", "g", "defs", "style", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon",
	"linearGradient", "radialGradient", "stop",
}

// svgNumbers are attributes of shapes and stops. The library silently leaves out a shape if it cannot read one of them.
var svgNumbers = []string{"x", "y", "width", "height", "rx", "ry", "cx", "cy", "r", "x1", "y1", "x2", "y2", "stop-opacity"}

// svgIgnored are properties that the library ignores although they change the picture, with the values that would not.
var svgIgnored = map[string][]string{
	"filter": {"none"}, "clip-path": {"none"}, "mask": {"none"}, "display": {"inline", "block"}, "visibility": {"visible"},
	"fill-rule": {"nonzero"}, "mix-blend-mode": {"normal"}, "stroke-dasharray": {"none"},
	"transform-origin": nil, "marker": {"none"}, "marker-start": {"none"}, "marker-mid": {"none"}, "marker-end": {"none"},
}

var (
	flatScale = regexp.MustCompile(`scale\(\s*[^\s,()]+\s*\)`)
	widening  = regexp.MustCompile(`scale|matrix|skew`)
)

// svgCheck finds what the library would draw differently from a browser.
type svgCheck struct {
	file      string
	data      []byte
	at        int64           // where the current element begins
	lines     bool            // the picture has strokes
	scaled    []int64         // where elements begin that scale the width of strokes
	gradients map[string]bool // those before the current element: the library does not find later ones
	problems  []strictyaml.Problem
}

// svgSheet is the text of a <style> element, and where that begins.
type svgSheet struct {
	at   int64
	text string
}

func checkSVG(path string) ([]strictyaml.Problem, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := svgCheck{file: path, data: data, gradients: make(map[string]bool)}
	decoder := xml.NewDecoder(bytes.NewReader(data))
	var sheets []svgSheet
	style, whole := false, false
	for {
		start := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			for _, s := range sheets { // last: they may name gradients that come after them
				c.at = s.at
				c.rules(s.text)
			}
			for _, c.at = range c.scaled {
				c.addIf(c.lines, "under this transform lines would keep their width", "apply it to the shapes")
			}
			return c.problems, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			c.at, style = start, t.Name.Local == "style"
			if !slices.Contains(svgElements, t.Name.Local) || whole && t.Name.Local == "svg" {
				c.add("an icon cannot have <"+t.Name.Local+">", "make plain shapes of it, or leave it out")
				if err := decoder.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			whole = true
			c.element(t)
		case xml.EndElement:
			style = false
		case xml.CharData:
			if style {
				sheets = append(sheets, svgSheet{c.at, string(t)})
			}
		}
	}
}

func (c *svgCheck) add(message, hint string) {
	before := c.data[:c.at]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	c.problems = append(c.problems, strictyaml.Problem{
		File: c.file, Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1, Message: message, Hint: hint,
	})
}

func (c *svgCheck) addIf(wrong bool, message, hint string) {
	if wrong {
		c.add(message, hint)
	}
}

func (c *svgCheck) element(e xml.StartElement) {
	name := e.Name.Local
	gradient := strings.HasSuffix(name, "Gradient")
	for _, a := range e.Attr {
		key, value := a.Name.Local, strings.TrimSpace(a.Value)
		switch {
		case key == "style" && name == "stop":
			c.add("the style of a <stop> is not read", "write stop-color and stop-opacity as attributes")
		case key == "style":
			c.properties(value)
		case key == "class" && len(strings.Fields(value)) > 1: // of which the library knows none
			c.add(fmt.Sprintf("an icon cannot have two classes at one shape: %q", value), "write the properties as attributes")
		case key == "id" && gradient:
			c.gradients[value] = true
		case key == "href" && gradient:
			c.add("a gradient cannot take its stops from another one", "give it its own")
		case key == "d":
			if err := (&oksvg.PathCursor{ErrorMode: oksvg.StrictErrorMode}).CompilePath(value); err != nil {
				c.add("the path cannot be drawn: "+err.Error(), "")
			}
		case key == "stop-color":
			if _, err := oksvg.ParseSVGColor(value); err != nil {
				c.add("no such colour: "+value, "such as #3a4a8c")
			}
		case slices.Contains(svgNumbers, key) && !gradient && name != "svg":
			if _, err := strconv.ParseFloat(strings.TrimSuffix(value, "px"), 64); err != nil {
				c.add(fmt.Sprintf("%s is no number: %q", key, value), "numbers without units")
			}
		default:
			c.property(key, value)
		}
	}
}

func (c *svgCheck) rules(sheet string) {
	for rule := range strings.SplitSeq(sheet, "}") {
		selectors, body, _ := strings.Cut(rule, "{")
		if strings.TrimSpace(selectors) == "" {
			continue
		}
		for selector := range strings.SplitSeq(selectors, ",") {
			s := strings.TrimSpace(selector)
			c.addIf(!strings.HasPrefix(s, ".") || strings.ContainsAny(s[1:], " .:>+~#[*"),
				"a style sheet can speak of classes alone: "+s, "write the properties as attributes")
		}
		c.properties(body)
	}
}

func (c *svgCheck) properties(text string) {
	for property := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(property, ":")
		c.property(strings.TrimSpace(key), strings.TrimSpace(value))
	}
}

func (c *svgCheck) property(key, value string) {
	means, ignored := svgIgnored[key]
	c.addIf(ignored && !slices.Contains(means, value) || strings.HasSuffix(value, "!important"),
		fmt.Sprintf("an icon cannot have %s: %q", key, value), "make plain shapes of it, or leave it out")
	c.addIf(key == "transform" && flatScale.MatchString(value), "scale with one number would draw nothing", "scale(2, 2)")
	if key == "transform" && widening.MatchString(value) {
		c.scaled = append(c.scaled, c.at)
	}
	c.lines = c.lines || key == "stroke" && value != "none"
	id := strings.TrimSuffix(strings.TrimPrefix(value, "url(#"), ")")
	c.addIf(strings.HasPrefix(value, "url(") && (key == "fill" || key == "stroke") && !c.gradients[id],
		"no gradient before it is "+value, "put <defs> first")
}
