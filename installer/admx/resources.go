package admx

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sidetone/internal/config"
)

// policyDefinitionResources is the root of an ADML file.
type policyDefinitionResources struct {
	XMLName       xml.Name        `xml:"policyDefinitionResources"`
	Schema        string          `xml:"xmlns,attr"`
	Revision      string          `xml:"revision,attr"`
	Version       string          `xml:"schemaVersion,attr"`
	Display       string          `xml:"displayName"`
	Description   string          `xml:"description"`
	Strings       []stringOf      `xml:"resources>stringTable>string"`
	Presentations []*presentation `xml:"resources>presentationTable>presentation"`
}

type stringOf struct {
	ID   string `xml:"id,attr"`
	Text string `xml:",chardata"`
}

type presentation struct {
	ID       string    `xml:"id,attr"`
	Dropdown *dropdown `xml:"dropdownList"`
	TextBox  *textBox  `xml:"textBox"`
}

type dropdown struct {
	Of     string `xml:"refId,attr"`
	NoSort bool   `xml:"noSort,attr"`
	Label  string `xml:",chardata"`
}

type textBox struct {
	Of    string `xml:"refId,attr"`
	Label string `xml:"label"`
}

func resourcesOf(p Program, settings []config.Key, w words) policyDefinitionResources {
	r := policyDefinitionResources{Schema: schema, Revision: "1.0", Version: "1.0", Display: p.Title, Description: p.Title}
	say := func(id, text string) { r.Strings = append(r.Strings, stringOf{id, text}) }
	say("supported", w.Supported)
	say("program", p.Title)
	for _, g := range groups(settings) {
		say("group_"+g, w.Groups[g])
	}
	var values []string
	for _, s := range settings {
		say(id(s.Path), s.Path)
		say(id(s.Path)+"_help", helpOf(s, w))
		p := &presentation{ID: id(s.Path)}
		switch {
		case isSwitch(s):
			continue
		case isChoice(s):
			p.Dropdown = &dropdown{id(s.Path), true, s.Path}
			for _, v := range s.Values {
				if !slices.Contains(values, v) {
					values = append(values, v)
					say("value_"+v, v)
				}
			}
		default:
			p.TextBox = &textBox{id(s.Path), s.Path}
		}
		r.Presentations = append(r.Presentations, p)
	}
	return r
}

// helpOf says what a setting does, how several values are written, and what holds without it.
func helpOf(s config.Key, w words) string {
	first, size := utf8.DecodeRuneInString(w.Help[s.Path])
	lines := []string{string(unicode.ToUpper(first)) + w.Help[s.Path][size:] + "."}
	if s.List {
		lines = append(lines, w.List)
		if s.Values != nil {
			lines = append(lines, strings.Join(s.Values, ", "))
		}
	}
	return strings.Join(append(lines, fmt.Sprintf(w.Default, cmp.Or(s.Default, w.None))), "\n")
}
