package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// sbom returns a reproducible list of what is in a package (CycloneDX): the modules of its programs, and its files.
func sbom(file, name, publisher string, r Release, tree Tree, modules []Module) ([]byte, error) {
	bom := cdx.NewBOM()
	root := cdx.Component{
		BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: r.Version,
		PackageURL: "pkg:generic/" + name + "@" + r.Version, Supplier: &cdx.OrganizationalEntity{Name: publisher},
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
	}
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.Time.UTC().Format(time.RFC3339), Component: &root,
		Properties: &[]cdx.Property{{Name: "file", Value: file}, {Name: "build", Value: r.Build}, {Name: "commit", Value: r.Commit}},
	}
	var components []cdx.Component
	var refs []string
	for _, m := range modules {
		c := cdx.Component{Type: cdx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: m.URL}
		if m.URL == "" {
			c.PackageURL = "pkg:golang/" + m.Path + "@" + m.Version
		}
		c.BOMRef = c.PackageURL
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}} // of the module, as go.sum has it
		}
		var licences cdx.Licenses
		for _, id := range m.Licences {
			licences = append(licences, cdx.LicenseChoice{License: &cdx.License{Name: id}})
		}
		c.Licenses = &licences
		components, refs = append(components, c), append(refs, c.BOMRef)
	}
	for _, f := range tree {
		if f.Target == "" {
			components = append(components, cdx.Component{
				Type: cdx.ComponentTypeFile, Name: f.Path, Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: checksum(f.Data)}},
			})
		}
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: name, Dependencies: &refs}}
	write := func() ([]byte, error) {
		var b bytes.Buffer
		err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
		return b.Bytes(), err
	}
	text, err := write()
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = "urn:uuid:" + strings.ToLower(strings.Trim(guidOf(string(text)), "{}"))
	return write()
}

func checksum(data []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(data))
}
