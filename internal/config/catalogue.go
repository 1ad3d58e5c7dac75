package config

import (
	_ "embed" // for the schema
	"slices"

	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

//go:generate go test -run TestSchemaIsCurrent -update .

// CatalogueSchema is the JSON Schema of a catalogue, for editors and for other programs. It
// says less than LoadCatalogue checks.
//
//go:embed catalogue.schema.json
var CatalogueSchema []byte

// LoadCatalogue reads a vendor's catalogue, in YAML or JSON. The error says that the file
// cannot be read; the problems say what is wrong in it, in order of position. There is a
// catalogue only if there is neither.
func LoadCatalogue(path string) (*devices.Catalogue, []strictyaml.Problem, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	cat, problems := DecodeCatalogue(path, data)
	return cat, problems, nil
}

// DecodeCatalogue is LoadCatalogue for a file that has been read. file is its name in problems.
func DecodeCatalogue(file string, data []byte) (*devices.Catalogue, []strictyaml.Problem) {
	cat := &devices.Catalogue{}
	doc, problems := strictyaml.Decode(file, data, cat)
	// Keys that a later version knows would all be unknown; the version says it better. What
	// the other checks would say of values that could not be read is not worth saying.
	if len(problems) == 0 || cat.Schema != 0 && cat.Schema != devices.SchemaVersion {
		problems = faults(doc, cat)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return cat, nil
}

// CatalogueWarnings returns what is worth a second look in a catalogue that has no problems, in order of position.
func CatalogueWarnings(path string) ([]strictyaml.Problem, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cat := &devices.Catalogue{}
	doc, problems := strictyaml.Decode(path, data, cat)
	if len(problems) > 0 {
		return nil, nil
	}
	return placed(doc, cat.Warnings()), nil
}

func faults(doc *strictyaml.Document, cat *devices.Catalogue) []strictyaml.Problem {
	return placed(doc, cat.Check())
}

// placed says where in the file faults are.
func placed(doc *strictyaml.Document, list []devices.Fault) []strictyaml.Problem {
	var problems []strictyaml.Problem
	for _, f := range list {
		problems = append(problems, doc.Problem(f.Path, f.Message, f.Hint))
	}
	slices.SortStableFunc(problems, strictyaml.Compare)
	return problems
}
