package main

import (
	"errors"
	"fmt"
	"image"
	"io/fs"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sidetone/internal/brand"
	"sidetone/internal/catalogue"
	"sidetone/internal/config"
	"sidetone/internal/strictyaml"
	"sidetone/internal/texts"
)

// makeGUID tells how to get a GUID. The other values are the example's.
const (
	makeGUID        = "make one with: tr a-f A-F </proc/sys/kernel/random/uuid"
	exampleGUID     = "6B2F6C0E-5D0B-4B0E-9C55-3B7B8C1C2A10"
	exampleClientID = "123456789012345678"
	exampleProgram  = "acme-agent"
)

var (
	programShape = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)+$`) // without a dash it may be somebody else's: /etc/pulse, PULSE_SERVER
	fileShape    = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	guidShape    = regexp.MustCompile(`^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$`)
)

// endings are the last words of the names of a product's other programs, after the agent's name.
var endings = []string{"tray", "service", "setup"}

const (
	maxProgram    = 32 // keeps the names of units, packages and files short
	maxName       = 64 // the limit of Windows Installer, in characters
	schemaVersion = 1  // of brand.yaml
)

func (b *Brand) add(path, message, hint string) {
	b.problems = append(b.problems, b.doc.Problem(path, message, hint))
}

func (b *Brand) addIf(wrong bool, path, message, hint string) {
	if wrong {
		b.add(path, message, hint)
	}
}

func (b *Brand) check() {
	if b.Schema != schemaVersion {
		b.add("$.schema", fmt.Sprintf("unknown schema version %d", b.Schema), fmt.Sprintf("want %d", schemaVersion))
		return
	}
	b.checkVendor()
	b.checkProduct()
	b.checkDollars()
	b.checkCatalogues()
	b.checkTexts()
	b.checkSettings("defaults", b.Defaults)
	b.checkSettings("policy", b.Policy)
	b.problems = append(b.problems, config.Unset(b.doc, "$.policy")...)
}

func (b *Brand) checkVendor() {
	v := b.Vendor
	if err := brand.CheckVendorID(v.ID); err != nil {
		b.add("$.vendor.id", err.Error(), "such as acme")
	}
	b.addIf(!brand.ValidClientID(v.ClientID), "$.vendor.client_id", "not 17 to 20 digits", `a snowflake such as "123456789012345678"`)
	b.addIf(v.ClientID == exampleClientID && b.Product.Program != exampleProgram, "$.vendor.client_id",
		"that of the example: of two vendors with one id the client keeps one list",
		"that of your application, here and in your catalogues")
	a, err := mail.ParseAddress(v.Contact)
	b.addIf(err != nil || a.Name == "", "$.vendor.contact", "not a name with an address", "such as Acme Audio <packages@acme.example>")
	b.checkLine("$.vendor.contact", v.Contact)
	b.checkLine("$.vendor.publisher", v.Publisher)
	b.checkURL("$.vendor.url", v.URL, "https", "http")
	b.checkURL("$.vendor.support", v.Support, "https", "http")
	b.checkURL("$.vendor.security", v.Security, "https", "http", "mailto")
}

func (b *Brand) checkProduct() {
	p := b.Product
	switch {
	case p.Program == brand.Unbranded || p.Program == "fakeserver":
		b.add("$.product.program", "the name is taken by a program without a brand", "such as "+b.Vendor.ID+"-agent")
	case !programShape.MatchString(p.Program):
		b.add("$.product.program", "not words of lower-case letters and digits with dashes between them, a letter first", "such as acme-agent")
	case slices.Contains(endings, p.Program[strings.LastIndexByte(p.Program, '-')+1:]):
		b.add("$.product.program", "another program's tray, service or set-up would be called so", "another last word")
	case len(p.Program) > maxProgram:
		b.add("$.product.program", fmt.Sprintf("longer than %d characters", maxProgram), "such as acme-agent")
	}
	b.checkLine("$.product.name", p.Name)
	b.addIf(utf8.RuneCountInString(p.Name) > maxName, "$.product.name",
		fmt.Sprintf("longer than %d characters", maxName), "such as Acme Headset Agent")
	b.checkLine("$.product.summary", p.Summary)
	b.addIf(strings.HasSuffix(p.Summary, "."), "$.product.summary",
		"ends with a full stop, which package managers do not want", "leave it out")
	b.addIf(strings.TrimSpace(p.Description) == "", "$.product.description", "is empty", "say in a paragraph what the agent is for")
	b.addIf(!guidShape.MatchString(p.UpgradeGUID), "$.product.upgrade_guid", "not a GUID in upper case", makeGUID)
	b.addIf(p.UpgradeGUID == exampleGUID && p.Program != exampleProgram, "$.product.upgrade_guid",
		"that of the example, whose package would be removed for yours", makeGUID)
	b.checkIcon(filepath.Join(b.folder, p.Icon))
}

// checkLine wants one line of text, since it goes into files of many formats. Windows Installer takes brackets for names of properties.
func (b *Brand) checkLine(path, text string) {
	b.addIf(strings.ContainsAny(text, "[]{}"), path, "has a bracket that is not round", "leave it out")
	control := func(r rune) bool { return r < ' ' }
	b.addIf(strings.TrimSpace(text) != text || text == "" || strings.ContainsFunc(text, control), path,
		"not one line of text without spaces around it", "")
}

// checkDollars refuses what nfpm would take for environment variables.
func (b *Brand) checkDollars() {
	v, p := b.Vendor, b.Product
	for path, text := range map[string]string{
		"$.vendor.contact": v.Contact, "$.vendor.publisher": v.Publisher, "$.vendor.url": v.URL, "$.vendor.support": v.Support,
		"$.vendor.security": v.Security, "$.product.summary": p.Summary, "$.product.description": p.Description,
	} {
		b.addIf(strings.Contains(text, "$"), path, "has a $", "leave it out")
	}
}

func (b *Brand) checkURL(path, text string, schemes ...string) {
	u, err := url.Parse(text)
	b.addIf(err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Opaque == "", path,
		"not an address", "such as https://acme.example/support")
}

// checkIcon checks that an icon for Windows can be drawn from a file.
func (b *Brand) checkIcon(path string) {
	problems, err := checkSVG(path)
	b.problems = append(b.problems, problems...)
	if len(problems) > 0 {
		return
	}
	var drawn *image.RGBA
	if err == nil {
		drawn, err = drawSVG(path, iconSizes[0])
	}
	if err == nil && !slices.ContainsFunc(drawn.Pix, func(b byte) bool { return b != 0 }) {
		b.add("$.product.icon", "nothing of it would be seen", "a square SVG, relative to this file")
	}
	message := "cannot be drawn"
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		message, err = "cannot be read", at.Err
	}
	if err != nil {
		b.add("$.product.icon", message+": "+err.Error(), "a square SVG, relative to this file")
	}
}

// checkCatalogues reads the catalogues as the agent would, all together.
func (b *Brand) checkCatalogues() {
	b.addIf(len(b.Catalogue) == 0, "$.catalogue", "names no catalogue", "yours, and folders of them, relative to this file")
	names := make(map[string]string)
	for i, path := range b.Catalogue {
		at := fmt.Sprintf("$.catalogue[%d]", i)
		files, err := catalogue.Files(filepath.Join(b.folder, path))
		if err != nil {
			b.add(at, err.Error(), "a catalogue, or a folder of them")
		}
		for _, file := range files {
			base := filepath.Base(file)
			folded := strings.ToLower(base) // Windows ignores the case of letters
			other, taken := names[folded]
			switch {
			case sameFile(file, b.path):
				b.add(at, base+" is this file, and no catalogue", "catalogues by their names, or a folder in which there is nothing else")
			case strings.HasPrefix(base, ".") || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(base)):
				b.add(at, base+" would not be read in a folder of catalogues", "a name that ends in .yaml, .yml or .json, without a dot first")
			case !fileShape.MatchString(base):
				b.add(at, fmt.Sprintf("%q is no name that every system takes", base), "up to 64 of a-z, A-Z, 0-9, dots, dashes and underscores")
			case taken:
				b.add(at, fmt.Sprintf("%s and %s have one name, and are to be in one folder", other, file), "rename one")
			default:
				names[folded] = file
				b.files = append(b.files, file)
			}
		}
	}
	if len(b.problems) > 0 {
		return
	}
	whole, wrong, err := catalogue.LoadFiles(b.files)
	b.problems = append(b.problems, wrong...)
	if err != nil {
		b.add("$.catalogue", err.Error(), "")
	}
	if whole == nil {
		return
	}
	b.whole = whole
	if v := whole.Vendor; v.ID != b.Vendor.ID {
		b.add("$.vendor.id", "the catalogue has vendor.id "+v.ID, "both must be the same")
	} else if v.ClientID != b.Vendor.ClientID {
		b.add("$.vendor.client_id", "the catalogue has vendor.client_id "+v.ClientID, "both must be the same")
	}
}

func sameFile(one, other string) bool {
	a, err := os.Stat(one)
	b, otherErr := os.Stat(other)
	return err == nil && otherErr == nil && os.SameFile(a, b)
}

func (b *Brand) checkTexts() {
	set, mistakes := texts.Shipped.With(b.Texts)
	for _, m := range mistakes {
		b.problems = append(b.problems, brand.Locate(b.doc, m))
	}
	if set == nil {
		return
	}
	for i, lang := range b.Languages {
		if known := set.Languages(); !slices.Contains(known, lang) {
			b.add(fmt.Sprintf("$.languages[%d]", i), "no such language", strictyaml.Suggest(lang, known))
		}
	}
}

// checkSettings checks settings as 'config check' would, and refuses those that the package itself sets.
func (b *Brand) checkSettings(layer string, c *config.Config) {
	for _, f := range append(c.Check(), c.CheckShipped()...) {
		b.add("$."+layer+"."+f.Path, f.Message, f.Hint)
	}
	for _, own := range []string{"catalogue", "vendor", "control.socket"} {
		path := "$." + layer + "." + own
		b.addIf(b.doc.Has(path), path, "the package says it itself", "leave it out")
	}
}
