package main

import (
	_ "embed" // for the schema
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/strictyaml"
	"sidetone/internal/texts"
)

//go:generate go test -run TestSchemaIsCurrent -update .

// brandSchema is the JSON Schema of brand.yaml, for editors. LoadBrand checks more than it can express.
//
//go:embed brand.schema.json
var brandSchema []byte

// Brand is a vendor's brand.yaml: how its agent is called, and what it is made of. It names everything on a machine but the addresses by
// which a vendor's own software finds the agent.
type Brand struct {
	Schema    int                       `yaml:"schema" json:"schema" jsonschema:"enum=1" jsonschema_description:"Version of this format. 1."`
	Vendor    Vendor                    `yaml:"vendor" json:"vendor" jsonschema_description:"Who ships the agent."`
	Product   Product                   `yaml:"product" json:"product" jsonschema_description:"What the agent is called."`
	Catalogue []string                  `yaml:"catalogue" json:"catalogue" jsonschema:"minItems=1" jsonschema_description:"Catalogues, and folders of them, relative to this file. All are of this vendor."`
	Languages []string                  `yaml:"languages,omitempty" json:"languages,omitempty" jsonschema_description:"Languages that users may have, as BCP 47 tags; the first is for users whose desktop uses none of them. If left out: all that ship, English first. English is always one."`
	Texts     map[string]texts.Messages `yaml:"texts,omitempty" json:"texts,omitempty" jsonschema_description:"Messages in your own words, by language and key."`
	Defaults  *config.Config            `yaml:"defaults,omitempty" json:"defaults,omitempty" jsonschema_description:"Settings that apply if neither user nor administrator sets them."`
	Policy    *config.Config            `yaml:"policy,omitempty" json:"policy,omitempty" jsonschema_description:"Settings that no user can change. An administrator can."`

	path     string               // of the file
	folder   string               // in which that is
	doc      *strictyaml.Document // for positions
	settings struct {             // as they are written
		Texts    yaml.Node            `yaml:"texts"`
		Defaults map[string]yaml.Node `yaml:"defaults"`
		Policy   map[string]yaml.Node `yaml:"policy"`
	}
	whole    *catalogue.Catalogue // of all files
	files    []string             // the catalogues
	problems []strictyaml.Problem
}

type Vendor struct {
	ID        string `yaml:"id" json:"id" jsonschema_description:"vendor.id of the catalogues."`
	ClientID  string `yaml:"client_id" json:"client_id" jsonschema_description:"vendor.client_id of the catalogues."`
	Publisher string `yaml:"publisher" json:"publisher" jsonschema_description:"Legal name, as in the certificate that signs the packages."`
	Contact   string `yaml:"contact" json:"contact" jsonschema_description:"Name and address of the packages' maintainer: Acme Audio <packages@acme.example>."`
	URL       string `yaml:"url" json:"url" jsonschema_description:"The vendor's page."`
	Support   string `yaml:"support" json:"support" jsonschema_description:"Page where users get help."`
	Security  string `yaml:"security" json:"security" jsonschema_description:"Page or address (mailto:) for reports of vulnerabilities."`
}

type Product struct {
	Name        string `yaml:"name" json:"name" jsonschema_description:"For people, such as Acme Headset Agent."`
	Program     string `yaml:"program" json:"program" jsonschema_description:"Name of the binary, the packages, the unit and everything else on the machine: lower-case letters, digits and dashes."`
	Summary     string `yaml:"summary" json:"summary" jsonschema_description:"One line, without a full stop."`
	Description string `yaml:"description" json:"description" jsonschema_description:"One paragraph."`
	Icon        string `yaml:"icon" json:"icon" jsonschema_description:"A square SVG, relative to this file."`
	UpgradeGUID string `yaml:"upgrade_guid" json:"upgrade_guid" jsonschema_description:"Identifies the product to Windows Installer, in upper case. Generate it once; never change it."`
}

// LoadBrand reads a vendor's brand.yaml and everything it names. The error holds every problem, one in a line.
func LoadBrand(path string) (*Brand, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	b := &Brand{path: path, folder: filepath.Dir(path), Defaults: config.Default(), Policy: config.Default()}
	b.doc, b.problems = strictyaml.Decode(path, data, b)
	config.ExplainGone(b.problems, "$.defaults")
	config.ExplainGone(b.problems, "$.policy")
	if len(b.problems) == 0 {
		if err := yaml.Unmarshal(data, &b.settings); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		b.check()
	}
	if len(b.problems) > 0 {
		list := make([]error, len(b.problems))
		slices.SortStableFunc(b.problems, strictyaml.Compare)
		for i, p := range b.problems {
			list[i] = errors.New(p.String())
		}
		return nil, errors.Join(list...)
	}
	return b, nil
}
