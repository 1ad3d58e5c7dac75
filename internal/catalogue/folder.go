package catalogue

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sidetone/internal/strictyaml"
)

// part is one catalogue of a folder.
type part struct {
	*Catalogue
	doc   *strictyaml.Document
	first int // index of its first product in the whole
}

// Files returns the catalogues at path: itself, or those of a folder, in the order of their names.
func Files(path string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, nil // an error is reported when the file is read
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, &strictyaml.ReadError{Path: path, Err: err}
	}
	var files []string
	formats := []string{".yaml", ".yml", ".json"}
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains(formats, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, &strictyaml.ReadError{Path: path, Err: fmt.Errorf("no catalogue is in this folder, no file that ends in .yaml or .json")}
	}
	return files, nil
}

// LoadFiles reads catalogues of one vendor as one. Each must be valid by itself, and together they must not contradict each other.
func LoadFiles(files []string) (*Catalogue, []strictyaml.Problem, error) {
	var parts []part
	var problems []strictyaml.Problem
	whole := &Catalogue{}
	for _, file := range files {
		data, err := strictyaml.ReadFile(file)
		if err != nil {
			return nil, nil, err
		}
		cat, doc, wrong := decode(file, data)
		problems = append(problems, wrong...)
		if cat == nil {
			continue
		}
		if len(parts) == 0 {
			whole.Schema, whole.Vendor = cat.Schema, cat.Vendor
		} else if cat.Vendor != whole.Vendor {
			problems = append(problems, doc.Problem("$.vendor", "not the same as in "+filepath.Base(parts[0].doc.File()),
				"all catalogues of a folder have the same vendor, word for word"))
		}
		parts = append(parts, part{cat, doc, len(whole.Products)})
		whole.Products = append(whole.Products, cat.Products...)
	}
	if len(problems) == 0 && len(parts) > 1 {
		for _, f := range whole.Check() {
			problems = append(problems, locatedIn(parts, f))
		}
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	return whole, nil, nil
}

// locatedIn turns a fault of the whole into a problem of the catalogue that has the product.
func locatedIn(parts []part, f Fault) strictyaml.Problem {
	var i int
	if _, err := fmt.Sscanf(f.Path, "$.products[%d]", &i); err != nil {
		return parts[0].doc.Problem(f.Path, f.Message, f.Hint)
	}
	p := parts[0]
	for _, next := range parts {
		if next.first <= i {
			p = next
		}
	}
	_, rest, _ := strings.Cut(f.Path, "]")
	return p.doc.Problem(fmt.Sprintf("$.products[%d]%s", i-p.first, rest), f.Message, f.Hint)
}
