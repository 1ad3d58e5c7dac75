package main

import (
	"bytes"
	"context"
	_ "embed" // for the manifest
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tc-hib/winres"
	"github.com/tc-hib/winres/version"

	"sidetone/internal/brand"
)

// The manifest tells Windows what the programs support. tools/windows links it, too.
//
//go:embed windows/program.manifest
var manifestOfPrograms []byte

// windows writes the packages and the archive for Windows on one architecture.
func (o options) windows(ctx context.Context, b *Brand, arch string, own []byte) error {
	built, err := readPrograms(filepath.Join(o.programs, "windows-"+arch),
		"sidetone.exe", "sidetonew.exe", "sidetone-service.exe", "sidetone-setup.exe")
	if err != nil {
		return err
	}
	modules, err := modulesOf(ctx, built...)
	if err != nil {
		return err
	}
	tree, err := b.base(programs{built[0], built[1]}, ".exe", "w")
	if err != nil {
		return err
	}
	tree.addProgram(brand.ServiceOf(b.Product.Program), built[2])
	tree.add("licences.txt", licenceTexts(own, modules))
	tree.addProgram(b.Product.Program+"-setup.exe", built[3]) // is in packages, but not among what they install
	icon, err := b.icon()
	if err != nil {
		return err
	}
	if err := o.finishPrograms(ctx, b, tree, icon); err != nil {
		return err
	}
	tree, installs := tree[:len(tree)-1], tree[len(tree)-1]
	if o.format == "" {
		if err := o.portableWindows(b, arch, tree, modules); err != nil {
			return err
		}
	}
	return o.msi(ctx, b, arch, tree, installs, modules, icon)
}

// finishPrograms puts the vendor's resources into the programs of a tree, and signs them.
func (o options) finishPrograms(ctx context.Context, b *Brand, tree Tree, icon *winres.Icon) error {
	work, err := os.MkdirTemp("", "programs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for i, f := range tree {
		if filepath.Ext(f.Path) != ".exe" {
			continue
		}
		program, err := b.withResources(f.Path, f.Data, icon, o.release)
		if err != nil {
			return fmt.Errorf("resources of %s: %w", f.Path, err)
		}
		path := filepath.Join(work, f.Path)
		if err := os.WriteFile(path, program, 0o700); err != nil {
			return err
		}
		if err := o.signFile(ctx, b, path); err != nil {
			return err
		}
		if tree[i].Data, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	return nil
}

// withResources returns a program with the vendor's icon, the version, and the manifest. Companies allow programs by rules for publisher
// (of the signature), product, file name and version.
func (b *Brand) withResources(file string, program []byte, icon *winres.Icon, r Release) ([]byte, error) {
	name := strings.TrimSuffix(file, ".exe")
	parts := map[string]string{"w": " (tray)", "-service": " (service)", "-setup": " (setup)"}
	about := b.Product.Name + parts[strings.TrimPrefix(name, b.Product.Program)]
	var info version.Info
	for key, value := range map[string]string{
		version.CompanyName: b.Vendor.Publisher, version.ProductName: b.Product.Name, version.FileDescription: about,
		version.InternalName: name, version.OriginalFilename: file,
		version.LegalCopyright: fmt.Sprintf("© %d %s and the authors of Sidetone", r.Time.Year(), b.Vendor.Publisher),
	} {
		if err := info.Set(version.LangDefault, key, value); err != nil {
			return nil, err
		}
	}
	info.SetFileVersion(r.Version)
	info.SetProductVersion(r.Version)
	var resources winres.ResourceSet
	resources.SetVersionInfo(info)
	var out bytes.Buffer
	err := errors.Join(resources.SetIcon(winres.ID(1), icon),
		resources.Set(winres.RT_MANIFEST, winres.ID(1), version.LangDefault, manifestOfPrograms),
		resources.WriteToEXE(&out, bytes.NewReader(program)))
	return out.Bytes(), err
}

// portableWindows writes an archive that needs no installer. Each user registers its programs.
func (o options) portableWindows(b *Brand, arch string, tree Tree, modules []Module) error {
	policies, err := b.policies()
	if err != nil {
		return err
	}
	tree = slices.Concat(tree, policies.below("policies"))
	readme := fmt.Sprintf(windowsReadme, b.Product.Name, o.release.Version, b.Product.Program, b.Vendor.Support, b.Vendor.Security)
	tree.add("README.txt", []byte(strings.ReplaceAll(readme, "\n", "\r\n")))
	return o.archive(b, "windows-"+arch, ".zip", tree, modules, zipArchive)
}

const windowsReadme = `%s %s

Put this folder where it may stay, and run in it, as yourself:

    .\%[3]s.exe service install
    .\%[3]s.exe service start

For all users of this machine put it into Program Files, and run as an administrator:

    .\%[3]s.exe service install --global

An update, while the agent runs: rename the files that end in .exe, remove the folder catalogue and the files that end in
.yaml, put the new files here, and run .\%[3]s.exe upgrade. If that was interrupted, do it again.
To remove it, and before a package for Windows Installer takes its place: .\%[3]s.exe stop --empty;
.\%[3]s.exe service uninstall (with --global if it was installed so); end the tray by its menu; remove this folder.

policies has the templates for group policies.
Help: %[4]s
Vulnerabilities: %[5]s
`
