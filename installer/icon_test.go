//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/strictyaml"
)

// problemsOfSVG are those of a picture with these elements, the first of which is in line 2.
func problemsOfSVG(t *testing.T, elements string) (list []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "icon.svg")
	text := "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' viewBox='0 0 24 24' width='128mm'>\n" +
		elements + "\n</svg>"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	problems, err := checkSVG(path)
	require.NoError(t, err)
	for _, p := range problems {
		list = append(list, strings.TrimPrefix(p.String(), path))
	}
	return list
}

// TestIconsThatWouldBeDrawnOtherwise: what the library passes over is told with its place.
func TestIconsThatWouldBeDrawnOtherwise(t *testing.T) {
	const gradient = "<defs><linearGradient id='a'><stop offset='0' stop-color='#fff'/></linearGradient></defs>"
	for elements, want := range map[string]string{
		"<defs>\n <filter id='f'><feBlend/></filter></defs>":                   ":3:2: an icon cannot have <filter>",
		"<rect width='1'/> <rect filter='url(#f)'/>":                           ":2:19: an icon cannot have filter: \"url(#f)\"",
		"<title>é</title><g style='fill:#fff; mask:url(#m)'/>":                 ":2:17: an icon cannot have mask",
		"<g clip-path='url(#c)'/>":                                             ":2:1: an icon cannot have clip-path",
		"<path d='M0 0h9z' fill-rule='evenodd'/>":                              ":2:1: an icon cannot have fill-rule",
		"<g display='none'/>":                                                  ":2:1: an icon cannot have display",
		"<path d='M0 0h9z' stroke-dasharray='2 1'/>":                           ":2:1: an icon cannot have stroke-dasharray",
		"<text>a</text>":                                                       ":2:1: an icon cannot have <text>",
		"<use href='#a'/>":                                                     ":2:1: an icon cannot have <use>",
		"<svg/>":                                                               ":2:1: an icon cannot have <svg>",
		"<path d='M0 0 L1'/>":                                                  ":2:1: the path cannot be drawn: ",
		"<rect width='50%'/>":                                                  ":2:1: width is no number: \"50%\" (numbers without units)",
		"<circle r='1mm'/>":                                                    ":2:1: r is no number",
		"<path d='M0 0h9z' fill='url(#a)'/>" + gradient:                        ":2:1: no gradient before it is url(#a) (put <defs> first)",
		gradient + "<g stroke='url(\"#a\")'/>":                                 ":2:90: no gradient before it",
		"<radialGradient><stop style='stop-color:#fff'/></radialGradient>":     ":2:17: the style of a <stop> is not read",
		"<radialGradient><stop stop-color='currentColor'/></radialGradient>":   ":2:17: no such colour: currentColor",
		gradient + "<linearGradient id='b' xlink:href='#a'/>":                  ":2:90: a gradient cannot take its stops from another one",
		"<g transform='translate(1) scale(2)'/>":                               ":2:1: scale with one number would draw nothing (scale(2, 2))",
		"<g transform='matrix(2 0 0 2 0 0)'/><path d='M0 0h9' stroke='#fff'/>": ":2:1: under this transform lines would keep their width",
		"<style>.a{fill:#fff;filter:url(#f)}</style>":                          ":2:1: an icon cannot have filter",
		"<style>.a, g .b {fill:#fff}</style>":                                  ":2:1: a style sheet can speak of classes alone: g .b",
		"<style>.a{fill:#fff} .b{stroke:none}</style><path class='a b'/>":      ":2:45: an icon cannot have two classes at one shape: \"a b\"",
		"<g style='fill:#fff !important'/>":                                    ":2:1: an icon cannot have fill: \"#fff !important\"",
		"<g transform-origin='8 8'/>":                                          ":2:1: an icon cannot have transform-origin",
		"<style>.a{fill:url(#b)}</style>" + gradient:                           ":2:1: no gradient before it is url(#b)",
	} {
		list := problemsOfSVG(t, elements)
		require.Len(t, list, 1, elements)
		require.Contains(t, list[0], want)
	}
	require.Empty(t, problemsOfSVG(t, "<style>.a{fill:url(#a)} .b, .c{stroke:none;filter:none}</style>"+gradient+
		"<title>x</title><g class='a' aria-label='Oh!' display='inline' transform='rotate(9) scale(1, 2)'><path d='M0 0h9e-1z'/><rect width='1px' height='.5' fill='url(#a)'/></g>"))
}

// TestIconIsChecked with the brand that names it.
func TestIconIsChecked(t *testing.T) {
	text, err := os.ReadFile("icon.svg")
	require.NoError(t, err)
	path := brandWithIcon(t, strings.Replace(string(text), "<circle ", "<circle filter='url(#f)' ", 1))
	_, err = LoadBrand(path)
	icon := filepath.Join(filepath.Dir(path), "another.svg")
	require.EqualError(t, err, icon+`:8:3: an icon cannot have filter: "url(#f)" (make plain shapes of it, or leave it out)`)

	path = brandWithIcon(t, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 9'><defs><rect width='9' height='9'/></defs></svg>")
	_, err = LoadBrand(path)
	require.EqualError(t, err, path+`:25:9: nothing of it would be seen: "another.svg" (a square SVG, relative to this file)`)
}

// brandWithIcon is the example with another picture.
func brandWithIcon(t *testing.T, picture string) (path string) {
	t.Helper()
	path = changed(t)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "another.svg"), []byte(picture), 0o600))
	whole, err := strictyaml.ReadFile(path)
	require.NoError(t, err)
	before, rest, _ := strings.Cut(string(whole), "  icon: ")
	_, after, _ := strings.Cut(rest, "\n")
	require.NoError(t, os.WriteFile(path, []byte(before+"  icon: another.svg\n"+after), 0o600))
	return path
}
