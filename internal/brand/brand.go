// Package brand determines which vendor's agent this is. Several vendors ship this agent, and one user
// may own devices of two: each agent's local API and its list in the client are keyed by its identity.
package brand

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"sidetone/internal/strictyaml"
	"sidetone/internal/texts"
)

// Identity distinguishes the agents of different vendors. It is the same in all catalogues of a brand,
// and does not change while an agent runs.
type Identity struct {
	ID       string `yaml:"id"`        // vendor.id, by which the agent is found; "": unknown
	ClientID string `yaml:"client_id"` // vendor.client_id, under which the client stores the list; "": unknown
}

// File is the content of a brand file.
type File struct {
	Path   string   `yaml:"-"`
	Vendor Identity `yaml:"vendor"`
	// Languages are the languages offered to users besides English. A user whose desktop has none of them gets the first. Empty: all
	// are offered, and such a user gets English.
	Languages []string `yaml:"languages,omitempty"`
	// Texts are messages that replace shipped ones, or add languages, by BCP 47 tag and key.
	Texts map[string]texts.Messages `yaml:"texts,omitempty"`

	set *texts.Set
}

// Set returns the messages: the vendor's Texts over the shipped ones. f may be nil.
func (f *File) Set() *texts.Set {
	if f == nil {
		return texts.Shipped
	}
	return f.set
}

// DesktopLanguage is the value of --lang that selects the language of the desktop.
const DesktopLanguage = "auto"

// Printer returns a Printer for the language requested by --lang; "" and "auto" select the first available one of preferred.
// f may be nil.
func (f *File) Printer(requested string, preferred []string) (texts.Printer, error) {
	set := f.Set()
	if requested == "" || requested == DesktopLanguage {
		if f != nil && len(f.Languages) > 0 {
			preferred = append(slices.Clone(preferred), f.Languages[0])
		}
		return f.printer(set.Match(preferred...)), nil
	}
	say := f.printer(requested)
	if say.Lang() != requested {
		return say, fmt.Errorf("--lang: no language %q: want one of auto, %s", requested, strings.Join(set.Languages(), ", "))
	}
	return say, nil
}

// printer returns the Printer of a language, which calls the program by its name. f may be nil.
func (f *File) printer(lang string) texts.Printer {
	say := f.Set().For(lang)
	if f == nil {
		return say
	}
	program := strings.TrimSuffix(filepath.Base(f.Path), suffix)
	return say.Rewritten(func(text string) string { return RenameCommands(text, program) })
}

// suffix follows the binary's name in the name of a brand file, so that the binaries of two brands may
// share a folder.
const suffix = ".brand.yaml"

// Path returns the path of a binary's brand file, in the same folder.
func Path(executable string) string {
	return strings.TrimSuffix(executable, exeSuffix) + suffix
}

// Load reads a brand file. It returns nil without an error if there is none: the binary is unbranded.
func Load(path string) (*File, error) {
	data, err := strictyaml.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("brand file: %w", err)
	}
	f := &File{Path: path}
	doc, problems := strictyaml.Decode(path, data, f)
	var mistakes []texts.Mistake
	f.set, mistakes = texts.Shipped.With(f.Texts)
	for _, m := range mistakes {
		problems = append(problems, Locate(doc, m))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("brand file: %s", problems[0])
	}
	if len(f.Languages) > 0 {
		f.set = f.set.Only(f.Languages)
	}
	if err := CheckVendorID(f.Vendor.ID); err != nil {
		return nil, fmt.Errorf("brand file %s: vendor.id: %w", path, err)
	}
	if !ValidClientID(f.Vendor.ClientID) {
		return nil, fmt.Errorf("brand file %s: vendor.client_id is not 17 to 20 digits", path)
	}
	return f, nil
}

// Locate turns a mistake into a problem with its position in the file.
func Locate(doc *strictyaml.Document, m texts.Mistake) strictyaml.Problem {
	path := fmt.Sprintf("$.texts[%q]", m.Language)
	if m.Key == "" {
		return doc.Problem(path, "language "+m.Language+": "+m.Message, "")
	}
	p := doc.Problem(fmt.Sprintf("%s[%q]", path, m.Key), m.Key+": "+m.Message, strictyaml.Suggest(m.Key, m.Valid))
	p.Text = "" // the message contains it already
	return p
}

// Resolve determines the agent's identity: the requested vendor ("": none), else that of the brand
// file (nil: none), else that of the catalogue (nil: none). A contradiction is an error: an agent with a
// wrong identity would be found by another vendor's software, or overwrite another vendor's list.
func Resolve(requested string, file *File, catalogue *Identity) (Identity, error) {
	who := Identity{ID: requested}
	if file != nil {
		if requested != "" && requested != file.Vendor.ID {
			return who, fmt.Errorf("this program is of vendor %s (%s) and speaks for no other: %s has its own",
				file.Vendor.ID, filepath.Base(file.Path), requested)
		}
		who = file.Vendor
	}
	if catalogue == nil {
		return who, nil
	}
	switch {
	case who.ID == "":
		who.ID = catalogue.ID
	case who.ID != catalogue.ID:
		return who, fmt.Errorf("the catalogue is of vendor %s, and this agent of vendor %s: give it a catalogue with vendor.id %s",
			catalogue.ID, who.ID, who.ID)
	}
	switch {
	case who.ClientID == "":
		who.ClientID = catalogue.ClientID
	case who.ClientID != catalogue.ClientID:
		return who, fmt.Errorf("the catalogue has vendor.client_id %s, and %s has %s: all catalogues of a brand have the brand's",
			catalogue.ClientID, filepath.Base(file.Path), who.ClientID)
	}
	return who, nil
}

// CheckUnchanged returns an error if next differs: the running agent's address and its list in the client
// are keyed by its identity.
func (i Identity) CheckUnchanged(next Identity) error {
	if i == next {
		return nil
	}
	return fmt.Errorf("vendor.id and vendor.client_id cannot change while an agent runs (%s and %s, now %s and %s): restart it",
		i.ID, i.ClientID, next.ID, next.ClientID)
}
