package catalogue

import (
	_ "embed" // for the schema

	"sidetone/internal/stable"
	"sidetone/internal/strictyaml"
)

//go:generate go test -run TestSchemaIsCurrent -update .

// Schema is the JSON Schema of a catalogue, for editors and for other programs. It
// says less than Load checks.
//
//go:embed catalogue.schema.json
var Schema []byte

// Load reads a vendor's catalogue, in YAML or JSON. The error says that the file
// cannot be read; the problems say what is wrong in it, in order of position. There is a
// catalogue only if there is neither.
func Load(path string) (*Catalogue, []strictyaml.Problem, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	cat, problems := Decode(path, data)
	return cat, problems, nil
}

// Decode is Load for a file that has been read. file is its name in problems.
func Decode(file string, data []byte) (*Catalogue, []strictyaml.Problem) {
	cat := &Catalogue{}
	doc, problems := strictyaml.Decode(file, data, cat)
	// Keys that a later version knows would all be unknown; the version says it better. What
	// the other checks would say of values that could not be read is not worth saying.
	if len(problems) == 0 || cat.Schema != 0 && cat.Schema != SchemaVersion {
		problems = placed(doc, cat.Check())
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return cat, nil
}

// LoadWarnings returns what is worth a second look in a catalogue that has no problems, in order of position.
func LoadWarnings(path string) ([]strictyaml.Problem, error) {
	data, err := strictyaml.ReadFile(path)
	if err != nil {
		return nil, err
	}
	cat := &Catalogue{}
	doc, problems := strictyaml.Decode(path, data, cat)
	if len(problems) > 0 {
		return nil, nil
	}
	return placed(doc, cat.Warnings()), nil
}

// placed says where in the file faults are.
func placed(doc *strictyaml.Document, list []Fault) []strictyaml.Problem {
	var problems []strictyaml.Problem
	for _, f := range list {
		problems = append(problems, doc.Problem(f.Path, f.Message, f.Hint))
	}
	stable.Sort(problems, strictyaml.Compare)
	return problems
}
