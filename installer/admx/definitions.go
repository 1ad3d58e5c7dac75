package admx

import (
	"encoding/xml"
	"slices"

	"sidetone/internal/config"
)

const schema = "http://schemas.microsoft.com/GroupPolicy/2006/07/PolicyDefinitions"

// policyDefinitions is the root of an ADMX file.
type policyDefinitions struct {
	XMLName    xml.Name `xml:"policyDefinitions"`
	Schema     string   `xml:"xmlns,attr"`
	Revision   string   `xml:"revision,attr"`
	Version    string   `xml:"schemaVersion,attr"`
	Namespaces struct {
		Target namespace `xml:"target"`
	} `xml:"policyNamespaces"`
	Resources struct {
		Revision string `xml:"minRequiredRevision,attr"`
	} `xml:"resources"`
	Supported  []named    `xml:"supportedOn>definitions>definition"`
	Categories []category `xml:"categories>category"`
	Policies   []policy   `xml:"policies>policy"`
}

type namespace struct {
	Prefix string `xml:"prefix,attr"`
	Name   string `xml:"namespace,attr"`
}

type named struct {
	Name    string `xml:"name,attr"`
	Display string `xml:"displayName,attr"`
}

type category struct {
	named
	Parent *reference `xml:"parentCategory"`
}

type reference struct {
	To string `xml:"ref,attr"`
}

type policy struct {
	Name         string    `xml:"name,attr"`
	Class        string    `xml:"class,attr"`
	Display      string    `xml:"displayName,attr"`
	Explain      string    `xml:"explainText,attr"`
	Presentation string    `xml:"presentation,attr,omitempty"`
	Key          string    `xml:"key,attr"`
	Value        string    `xml:"valueName,attr,omitempty"` // of a switch
	Parent       reference `xml:"parentCategory"`
	Supported    reference `xml:"supportedOn"`
	Enabled      *value    `xml:"enabledValue"`
	Disabled     *value    `xml:"disabledValue"`
	Elements     *elements `xml:"elements"`
}

type value struct {
	Text string `xml:"string"`
}

type elements struct {
	Choice *element `xml:"enum"`
	Text   *element `xml:"text"`
}

type element struct {
	ID       string `xml:"id,attr"`
	Value    string `xml:"valueName,attr"`
	Required bool   `xml:"required,attr"`
	Items    []item `xml:"item"` // of a choice
}

type item struct {
	Display string `xml:"displayName,attr"`
	Value   value  `xml:"value"`
}

func definitionsOf(p Program, settings []config.Key) policyDefinitions {
	d := policyDefinitions{Schema: schema, Revision: "1.0", Version: "1.0"}
	d.Namespaces.Target = namespace{"agent", p.Namespace}
	d.Resources.Revision = "1.0"
	d.Supported = []named{{"supported", stringRef("supported")}}
	d.Categories = []category{{named: named{"program", stringRef("program")}}}
	for _, g := range groups(settings) {
		d.Categories = append(d.Categories, category{named{"group_" + g, stringRef("group_" + g)}, &reference{"program"}})
	}
	for _, s := range settings {
		d.Policies = append(d.Policies, policyOf(p, s))
	}
	return d
}

func policyOf(p Program, s config.Key) policy {
	out := policy{
		Name: id(s.Path), Class: "Machine", Display: stringRef(id(s.Path)), Explain: stringRef(id(s.Path) + "_help"), Key: p.Key,
		Parent: reference{"group_" + group(s.Path)}, Supported: reference{"supported"},
	}
	if isSwitch(s) {
		out.Value, out.Enabled, out.Disabled = s.Path, &value{"true"}, &value{"false"}
		return out
	}
	out.Presentation = "$(presentation." + id(s.Path) + ")"
	e := &element{ID: id(s.Path), Value: s.Path, Required: true}
	if !isChoice(s) {
		out.Elements = &elements{Text: e}
		return out
	}
	for _, v := range s.Values {
		e.Items = append(e.Items, item{stringRef("value_" + v), value{v}})
	}
	out.Elements = &elements{Choice: e}
	return out
}

// groups are the groups of the settings, in the order of the settings.
func groups(settings []config.Key) (all []string) {
	for _, s := range settings {
		if g := group(s.Path); !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

func stringRef(id string) string { return "$(string." + id + ")" }
