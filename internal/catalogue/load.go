package catalogue

import (
	_ "embed" // for the schema
	"slices"

	"sidetone/internal/strictyaml"
)

//go:generate go test -run TestSchemaIsCurrent -update .

// Schema is the JSON Schema of a catalogue, for editors and other programs. Load checks more than it
// can express.
//
//go:embed catalogue.schema.json
var Schema []byte

// Load reads a vendor's catalogue, in YAML or JSON, or all those of a folder as one. The error is set if a file cannot be read; the
// problems are those of its content, in order of position. The catalogue is nil if there is either.
func Load(path string) (*Catalogue, []strictyaml.Problem, error) {
	files, err := Files(path)
	if err != nil {
		return nil, nil, err
	}
	return LoadFiles(files)
}

func decode(file string, data []byte) (*Catalogue, *strictyaml.Document, []strictyaml.Problem) {
	cat := &Catalogue{}
	doc, problems := strictyaml.Decode(file, data, cat)
	// Of another schema version, report only that, not all its unknown keys. A catalogue that could not be
	// decoded is not checked further.
	if len(problems) == 0 || cat.Schema != 0 && cat.Schema != SchemaVersion {
		problems = located(doc, cat.Check())
	}
	if len(problems) > 0 {
		return nil, doc, problems
	}
	return cat, doc, nil
}

// Decode is Load for data in memory. file is its name in problems.
func Decode(file string, data []byte) (*Catalogue, []strictyaml.Problem) {
	cat, _, problems := decode(file, data)
	return cat, problems
}

// LoadWarnings returns what is worth a second look in a catalogue without problems, or in those of a folder, in order of position.
func LoadWarnings(path string) (warnings []strictyaml.Problem, err error) {
	files, err := Files(path)
	for _, file := range files {
		data, err := strictyaml.ReadFile(file)
		if err != nil {
			return nil, err
		}
		cat := &Catalogue{}
		if doc, problems := strictyaml.Decode(file, data, cat); len(problems) == 0 {
			warnings = append(warnings, located(doc, cat.warnings())...)
		}
	}
	return warnings, err
}

// located turns faults into problems with their position in the file.
func located(doc *strictyaml.Document, list []Fault) []strictyaml.Problem {
	var problems []strictyaml.Problem
	for _, f := range list {
		problems = append(problems, doc.Problem(f.Path, f.Message, f.Hint))
	}
	slices.SortStableFunc(problems, strictyaml.Compare)
	return problems
}
