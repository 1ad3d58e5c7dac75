// Package brand says whose agent this is. Several vendors ship this agent, and one user may own
// devices of two; what each has for itself, a local API and a place in the client, goes by its
// identity.
package brand

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"sidetone/internal/strictyaml"
	"sidetone/internal/texts"
)

// Identity tells the agents of two vendors apart. It is the same for all catalogues of a brand, and
// for as long as an agent runs.
type Identity struct {
	ID       string `yaml:"id"`        // vendor.id, by which the agent is found; "": not known
	ClientID string `yaml:"client_id"` // vendor.client_id, by which the client keeps the list; "": not known
}

// File is what a brand file says.
type File struct {
	Path   string   `yaml:"-"`
	Vendor Identity `yaml:"vendor"`
	// Texts are messages in the vendor's words, or in languages that do not ship, by BCP 47 tag and key.
	Texts map[string]texts.Messages `yaml:"texts,omitempty"`

	languages *texts.Set
}

// Languages are those that the agent speaks: the ones that ship, and in front of them the vendor's Texts. f may be nil.
func (f *File) Languages() *texts.Set {
	if f == nil {
		return texts.Shipped
	}
	return f.languages
}

// DesktopLanguage is what --lang asks for to get the language of the desktop.
const DesktopLanguage = "auto"

// Printer speaks the language that --lang asks for; "" and "auto": the first of those preferred that there is. f may be nil.
func (f *File) Printer(asked string, preferred []string) (texts.Printer, error) {
	set := f.Languages()
	if asked == "" || asked == DesktopLanguage {
		return set.For(set.Match(preferred...)), nil
	}
	say := set.For(asked)
	if say.Lang() != asked {
		return say, fmt.Errorf("--lang: no language %q: want one of auto, %s", asked, strings.Join(set.Languages(), ", "))
	}
	return say, nil
}

// suffix ends the name of a brand file. What comes before is the binary's name, so that the
// binaries of two brands may share a folder.
const suffix = ".brand.yaml"

// Path is where the brand file of a binary is: beside it.
func Path(executable string) string {
	return strings.TrimSuffix(executable, windowsEnding) + suffix
}

// Load reads a brand file. nil without an error means that there is none: the binary is nobody's in
// particular.
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
	f.languages, mistakes = texts.Shipped.With(f.Texts)
	for _, m := range mistakes {
		problems = append(problems, placed(doc, m))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("brand file: %s", problems[0])
	}
	if err := CheckVendorID(f.Vendor.ID); err != nil {
		return nil, fmt.Errorf("brand file %s: vendor.id: %w", path, err)
	}
	if !ValidClientID(f.Vendor.ClientID) {
		return nil, fmt.Errorf("brand file %s: vendor.client_id is not 17 to 20 digits", path)
	}
	return f, nil
}

// placed is the mistake with its place in the file.
func placed(doc *strictyaml.Document, m texts.Mistake) strictyaml.Problem {
	path := fmt.Sprintf("$.texts[%q]", m.Language)
	if m.Key == "" {
		return doc.Problem(path, "language "+m.Language+": "+m.Message, "")
	}
	p := doc.Problem(fmt.Sprintf("%s[%q]", path, m.Key), m.Key+": "+m.Message, strictyaml.Suggest(m.Key, m.Valid))
	p.Text = "" // the message shows what is wrong with it
	return p
}

// Resolve says whose agent it is: the asked-for vendor's (""  = none was asked for), else the brand
// file's (nil: there is none), else the catalogue's (nil: none is given). What contradicts is an error: an agent
// under a wrong name would be found by another vendor's software, or take another's list away.
func Resolve(asked string, file *File, catalogue *Identity) (Identity, error) {
	who := Identity{ID: asked}
	if file != nil {
		if asked != "" && asked != file.Vendor.ID {
			return who, fmt.Errorf("this program is of vendor %s (%s) and speaks for no other: %s has its own",
				file.Vendor.ID, filepath.Base(file.Path), asked)
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

// Stays says what keeps an agent that runs from becoming another: its address and the client's list
// go by its identity.
func (i Identity) Stays(next Identity) error {
	if i == next {
		return nil
	}
	return fmt.Errorf("vendor.id and vendor.client_id cannot change while an agent runs (%s and %s, now %s and %s): stop it and start it anew",
		i.ID, i.ClientID, next.ID, next.ClientID)
}
