// Command installer makes a vendor's packages from the programs of a release. 'make packages' builds the programs and runs it. See
// docs/packaging.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sidetone/installer/admx"
	"sidetone/internal/platform/paths"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.brand, "brand", "installer/brand.yaml", "the vendor's brand.yaml")
	flag.StringVar(&o.programs, "programs", "", "folder of the programs, with one folder for each system")
	flag.StringVar(&o.out, "out", "", "folder for the packages, which is made anew")
	flag.StringVar(&o.sign, "sign", "", "command that signs the file whose path is put behind it")
	flag.StringVar(&o.release.Version, "version", "", "version for package managers: numbers with dots")
	flag.StringVar(&o.release.Build, "build", "", "what the programs say that they are")
	flag.StringVar(&o.release.Commit, "commit", "", "commit of the sources")
	epoch := flag.Int64("epoch", 0, "time of the commit, in seconds since 1970")
	only := flag.String("only", "", "one format and architecture, such as deb/amd64; left out: all")
	flag.BoolVar(&o.fast, "fast", false, "compress little or not, for tests")
	check := flag.Bool("check", false, "only look whether brand.yaml and what it names are in order")
	schema := flag.Bool("schema", false, "print the JSON Schema of brand.yaml")
	flag.Parse()
	o.format, o.arch, _ = strings.Cut(*only, "/")
	o.release.Time = time.Unix(*epoch, 0).UTC()
	err := func() error {
		if *schema {
			_, err := os.Stdout.Write(brandSchema)
			return err
		}
		b, err := LoadBrand(o.brand)
		if err == nil && *check && o.release.Version != "" {
			_, err = o.release.installerVersion()
		}
		if err != nil || *check {
			return err
		}
		return o.run(ctx, b)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	brand, programs, out, sign string
	format, arch               string // "": all
	fast                       bool
	release                    Release
}

func (o options) makes(format string) bool { return o.format == "" || o.format == format }

// formats are the formats of packages for Linux, and the names in each of the packages that ours need.
var formats = []struct {
	name, sound string
	needs       []string // the C library, and what the scripts call and a small system may lack
}{
	{"deb", "libasound2", []string{"libc6 (>= 2.34)"}},
	// The names that rpm itself finds in programs: packages of libraries have another name in each distribution.
	{"rpm", "libasound.so.2()(64bit)", []string{"libc.so.6(GLIBC_2.34)(64bit)", "/bin/sh", "coreutils", "findutils", "sed", "util-linux"}},
	{"archlinux", "", []string{"glibc"}},
}

var architectures = []string{"amd64", "arm64"}

// run makes everything, or leaves nothing behind.
func (o options) run(ctx context.Context, b *Brand) (err error) {
	if _, err := o.release.installerVersion(); err != nil {
		return err
	}
	names, err := o.results()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-out %s: %w", o.out, err)
	}
	// A run that came to its end leaves both files. Checksums alone are in many a folder of downloads.
	if len(names) > 0 && (!slices.Contains(names, "SHA256SUMS") || !slices.Contains(names, "provenance.json")) {
		return fmt.Errorf("-out %s: the folder has files that were not made here, and would be made anew: name another one", o.out)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(o.out))
		}
	}()
	if err := errors.Join(os.RemoveAll(o.out), os.MkdirAll(o.out, 0o755)); err != nil {
		return err
	}
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	tools := filepath.Join(o.programs, "tools")
	documents, err := b.documents(ctx, o.release, filepath.Join(tools, "sidetone-man"), filepath.Join(tools, "sidetone"))
	if err != nil {
		return err
	}
	for _, arch := range architectures {
		if o.arch == "" || o.arch == arch {
			if err := o.architecture(ctx, b, arch, own, documents); err != nil {
				return err
			}
		}
	}
	if o.format == "" {
		if err := o.templates(b); err != nil {
			return err
		}
	}
	return o.finish(ctx, b)
}

// architecture makes everything for one architecture.
func (o options) architecture(ctx context.Context, b *Brand, arch string, own []byte, documents map[string][]byte) error {
	folder := filepath.Join(o.programs, "linux-"+arch)
	built, err := readPrograms(folder, "sidetone", "sidetone-tray")
	if err != nil {
		return err
	}
	p := programs{built[0], built[1]}
	modules, err := modulesOf(ctx, built...)
	if err == nil {
		err = o.packages(ctx, b, arch, p, own, modules, documents)
	}
	if err == nil && o.makes("msi") {
		err = o.windows(ctx, b, arch, own)
	}
	if err == nil && o.makes("tar.gz") {
		err = o.portable(b, arch, p, own, modules)
	}
	if err == nil && o.format == "" {
		err = o.fakeserver(ctx, b, arch, folder, own)
	}
	return err
}

// templates writes the templates by which administrators of Windows set the policy.
func (o options) templates(b *Brand) error {
	tree, err := b.policies()
	if err != nil {
		return err
	}
	archive, err := zipArchive(tree, o.release)
	if err != nil {
		return err
	}
	return o.place(fmt.Sprintf("%s-%s-policies.zip", b.Product.Program, o.release.Version), archive)
}

func (b *Brand) policies() (tree Tree, err error) {
	name := b.Product.Program
	files, err := admx.Files(admx.Program{
		Name: name, Title: b.Product.Name, Key: paths.PolicyKey(name), Namespace: b.appID() + ".policies",
	})
	for _, f := range files {
		tree.add(f.Path, f.Data)
	}
	return tree, err
}

func (o options) packages(
	ctx context.Context, b *Brand, arch string, p programs, own []byte, modules []Module, documents map[string][]byte,
) error {
	for _, f := range formats {
		if !o.makes(f.name) {
			continue
		}
		tree, err := b.linux(o.release, f.name, p, documents)
		if err != nil {
			return err
		}
		name, v := b.Product.Program, b.Vendor
		tree = append(tree, b.legal(f.name, name, o.release, own, modules)...)
		pack := Package{
			Format: f.name, Name: name, Arch: arch, Summary: b.Product.Summary, Contact: v.Contact,
			Description: b.Product.Description + " Help: " + v.Support + " Vulnerabilities: " + v.Security,
			Publisher:   v.Publisher, URL: v.URL, Depends: f.needs, Scripts: b.scripts(f.name), Tree: tree, Fast: o.fast,
		}
		if f.sound != "" {
			pack.Recommends = []string{f.sound}
		}
		if err := o.write(ctx, pack, modules); err != nil {
			return err
		}
	}
	return nil
}

// portable writes an archive of agent and tray that needs no package manager. Each user registers them.
func (o options) portable(b *Brand, arch string, p programs, own []byte, modules []Module) error {
	tree, err := b.base(p, "", "-tray")
	if err != nil {
		return err
	}
	tree.add("licences.txt", licenceTexts(own, modules))
	rules := b.whole.UdevRules()
	if rules != "" {
		tree.add("70-"+b.Product.Program+"-hid.rules", []byte(rules))
	}
	tree.add("README", b.portableReadme(o.release, rules != ""))
	return o.archive(b, "linux-"+arch, ".tar.gz", tree, modules, tarball)
}

// archive packs a tree below one folder, and writes the archive and its SBOM.
func (o options) archive(b *Brand, system, ending string, tree Tree, modules []Module, pack func(Tree, Release) ([]byte, error)) error {
	folder := fmt.Sprintf("%s-%s-%s", b.Product.Program, o.release.Version, system)
	data, err := pack(tree.below(folder), o.release)
	if err != nil {
		return err
	}
	if err := o.place(folder+ending, data); err != nil {
		return err
	}
	return o.placeSBOM(folder+ending, b.Product.Program, b.Vendor.Publisher, tree, modules)
}

// portableReadme tells how to use the archive. rules: it has udev rules.
func (b *Brand) portableReadme(r Release, rules bool) []byte {
	aboutRules, andRules := "", ""
	if rules {
		aboutRules, andRules = fmt.Sprintf(readmeOfRules, b.Product.Program), " and the rule"
	}
	v := b.Vendor
	return fmt.Appendf(nil, readme, b.Product.Name, r.Version, b.Product.Program, v.Support, v.Security, aboutRules, andRules)
}

const readmeOfRules = `
Headsets whose mute is read over HID need the udev rule, as root:

    cp 70-%[1]s-hid.rules /etc/udev/rules.d/ && udevadm control --reload && udevadm trigger --subsystem-match=hidraw
`

const readme = `%s %s

Put this folder where it may stay, and run in it, as yourself and without sudo:

    ./%[3]s service install
    ./%[3]s service start
%[6]s
An update, in this folder, while the agent runs; if it was interrupted, do it again:

    tar -tzf NEW.tar.gz >/dev/null && rm -rf catalogue &&
    find . -maxdepth 1 -name '*.yaml' -delete &&
    tar -xzf NEW.tar.gz --strip-components=1 && ./%[3]s upgrade

It is tar that does it, since a program that runs can be replaced and not written over, which is what cp would do.
To remove it: ./%[3]s stop --empty; ./%[3]s service uninstall; remove this folder%[7]s.

Help: %[4]s
Vulnerabilities: %[5]s
`

// write writes a package and its list of contents.
func (o options) write(ctx context.Context, p Package, modules []Module) error {
	name, err := p.write(ctx, filepath.Join(o.programs, "tools"), o.release, o.out)
	if err != nil {
		return err
	}
	return o.placeSBOM(name, p.Name, p.Publisher, p.Tree, modules)
}

func (o options) placeSBOM(name, program, publisher string, tree Tree, modules []Module) error {
	tree, err := tree.sorted()
	if err != nil {
		return err
	}
	text, err := sbom(name, program, publisher, o.release, tree, modules)
	if err != nil {
		return err
	}
	return o.place(name+".cdx.json", text)
}

func (o options) place(name string, data []byte) error {
	return os.WriteFile(filepath.Join(o.out, name), data, 0o644)
}

// finish signs the results, and writes their provenance and checksums.
func (o options) finish(ctx context.Context, b *Brand) error {
	names, err := o.results()
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".json") { // signed by way of the checksums
			continue
		}
		if err := o.signFile(ctx, b, filepath.Join(o.out, name)); err != nil {
			return err
		}
	}
	if names, err = o.results(); err != nil { // with signatures beside
		return err
	}
	var sums strings.Builder
	var subjects []resource
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", checksum(data), name)
		subjects = append(subjects, file(name, data))
	}
	inputs, err := b.inputs()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(o.release.provenance(ctx, subjects, inputs), "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	fmt.Fprintf(&sums, "%s  provenance.json\n", checksum(text))
	if err := errors.Join(o.place("provenance.json", text), o.place("SHA256SUMS", []byte(sums.String()))); err != nil {
		return err
	}
	return o.signFile(ctx, b, filepath.Join(o.out, "SHA256SUMS"))
}

// signFile runs the vendor's command, which signs a file or puts a signature beside it. Signatures for Windows name product and page.
func (o options) signFile(ctx context.Context, b *Brand, path string) error {
	if o.sign == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", o.sign+` "$1"`, "sign", path)
	cmd.Env = append(os.Environ(), "PRODUCT_NAME="+b.Product.Name, "PRODUCT_URL="+b.Vendor.URL)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sign %s by %q: %w", filepath.Base(path), o.sign, err)
	}
	return nil
}

// results returns the names of the files made so far, sorted.
func (o options) results() (names []string, err error) {
	entries, err := os.ReadDir(o.out)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
