package main

import (
	"context"
	"os"
	"path/filepath"
)

// fakeserverPackage is the name of the package for labs, which belongs to no vendor.
const fakeserverPackage = "sidetone-fakeserver"

// fakeserver writes the package of the stand-in for the client, with example scripts for certification labs.
func (o options) fakeserver(ctx context.Context, b *Brand, arch, folder string, own []byte) error {
	binary, err := os.ReadFile(filepath.Join(folder, "fakeserver"))
	if err != nil {
		return err
	}
	modules, err := modulesOf(ctx, binary)
	if err != nil {
		return err
	}
	pages, err := readFolder(filepath.Join(o.programs, "tools", "fakeserver-pages"))
	if err != nil {
		return err
	}
	scenarios, err := readFolder("examples/scenarios")
	if err != nil {
		return err
	}
	for _, f := range formats {
		var tree Tree
		tree.addProgram("/usr/bin/fakeserver", binary)
		for name, text := range pages {
			tree.add("/usr/share/man/man1/"+name+".gz", zipped(text))
		}
		for name, text := range scenarios {
			if filepath.Ext(name) == ".yaml" {
				tree.add("/usr/share/"+fakeserverPackage+"/scenarios/"+name, text)
			}
		}
		tree = append(tree, b.legal(f.name, fakeserverPackage, o.release, own, modules)...)
		err := o.write(ctx, Package{
			Format: f.name, Name: fakeserverPackage, Arch: arch, Summary: "Stand-in for the chat client, for labs that test device agents",
			Description: "Takes the place of the chat client's local server, shows what a device agent reports, " +
				"misbehaves on request and runs scripted tests.",
			Contact: b.Vendor.Contact, Publisher: b.Vendor.Publisher, URL: b.Vendor.URL, Tree: tree,
		}, modules)
		if err != nil {
			return err
		}
	}
	return nil
}
