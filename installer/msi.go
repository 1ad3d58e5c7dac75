package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tc-hib/winres"
)

// msi writes the packages for Windows Installer, one for each language. Their database is written table by table: other tools leave out
// too much of what an agent needs, or run on Windows only. setup is the program that the package runs, and does not install.
func (o options) msi(ctx context.Context, b *Brand, arch string, tree Tree, setup File, modules []Module, icon *winres.Icon) error {
	tree, err := tree.sorted()
	if err != nil {
		return err
	}
	how := thorough
	if o.fast {
		how = quick
	}
	cab := cabinet(tree, o.release.Time, how)
	for _, lang := range b.installerLanguages() {
		if o.fast && lang != "en" {
			continue
		}
		d := database{brand: b, release: o.release, arch: arch, lang: lang, setup: setup.Data}
		name := fmt.Sprintf("%s-%s-%s-%s.msi", b.Product.Program, o.release.Version, arch, lang)
		if err := d.write(ctx, filepath.Join(o.out, name), tree, cab, icon); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := o.placeSBOM(name, b.Product.Program, b.Vendor.Publisher, append(slices.Clone(tree), setup), modules); err != nil {
			return err
		}
	}
	return nil
}

// database is a database of Windows Installer: see https://learn.microsoft.com/windows/win32/msi/database-tables.
type database struct {
	brand      *Brand
	release    Release
	arch, lang string
	setup      []byte
	tables     []table
}

type table struct {
	name string
	rows [][]string
}

func (d *database) add(name string, rows ...[]string) {
	d.tables = append(d.tables, table{name, rows})
}

func row(fields ...any) []string {
	texts := make([]string, len(fields))
	for i, f := range fields {
		texts[i] = fmt.Sprint(f)
	}
	return texts
}

// text returns the table in the format of msibuild.
func (t table) text() string {
	var names, types []string
	keys := []string{t.name}
	for _, c := range columnsOf(t.name) {
		names, types = append(names, c.name), append(types, c.kind)
		if c.key {
			keys = append(keys, c.name)
		}
	}
	lines := [][]string{names, types, keys}
	var b strings.Builder
	for _, line := range append(lines, t.rows...) {
		b.WriteString(strings.Join(line, "\t") + "\r\n")
	}
	return b.String()
}

// write writes the package. Its package code follows from its content: Windows keeps one package of each code.
func (d *database) write(ctx context.Context, out string, tree Tree, cab []byte, icon *winres.Icon) error {
	if err := d.fill(tree); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "msi")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	sum := sha256.New()
	for _, t := range d.tables {
		sum.Write([]byte(t.text()))
	}
	sum.Write(d.setup)
	sum.Write(cab)
	d.summary(guidOf(string(sum.Sum(nil))))
	var parts Tree
	parts.add("_ForceCodepage.idt", []byte("\r\n\r\n65001\t_ForceCodepage\r\n"))
	args := []string{"package.msi", "-i", "_ForceCodepage.idt"} // relative paths: msibuild looks for icon and program in its folder
	for _, t := range d.tables {
		parts.add(t.name+".idt", []byte(t.text()))
		args = append(args, "-i", t.name+".idt")
	}
	var picture bytes.Buffer
	if err := icon.SaveICO(&picture); err != nil {
		return err
	}
	parts.add("Icon/"+iconName, picture.Bytes())
	parts.add("Binary/"+setupName, d.setup)
	parts.add("cab", cab)
	if err := parts.write(work); err != nil {
		return err
	}
	msibuild := exec.CommandContext(ctx, "msibuild", append(args, "-a", cabName, "cab")...)
	msibuild.Dir = work
	if said, err := msibuild.CombinedOutput(); err != nil {
		return fmt.Errorf("msibuild: %w: %s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(work, "package.msi"))
	if err != nil {
		return err
	}
	return os.WriteFile(out, data, 0o644)
}

const (
	iconName  = "program.ico"
	setupName = "setup.exe"
	cabName   = "files.cab"
)

// fileKey identifies a file of a tree by its place.
func fileKey(i int) string { return fmt.Sprintf("f%d", i) }

// guidOf derives a GUID from a text.
func guidOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // of version 8
	return fmt.Sprintf("{%X-%X-%X-%X-%X}", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

func (d *database) summary(code string) {
	p, at := d.brand.Product, d.release.Time.UTC().Format("2006/01/02 15:04:05")
	template := map[string]string{"amd64": "x64", "arm64": "Arm64"}[d.arch] + ";" + strconv.Itoa(installerMessages[d.lang].id)
	const compressed, readOnly, schema = 2, 2, 500
	d.add("_SummaryInformation",
		row(1, 65001), row(2, "Installation Database"), row(3, p.Name+" "+d.release.Version), row(4, d.brand.Vendor.Publisher),
		row(5, "Installer"), row(6, p.Summary), row(7, template), row(9, code), row(12, at), row(13, at), row(14, schema), row(15, compressed),
		row(18, "Sidetone"), row(19, readOnly))
}

var versionShape = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)

// installerVersion returns the part of the version that Windows Installer compares: three numbers. The version has at most four.
func (r Release) installerVersion() (string, error) {
	if !versionShape.MatchString(r.Version) {
		return "", fmt.Errorf("version %s: not one to four numbers with dots between them (docs/packaging.md, On Windows)", r.Version)
	}
	numbers := strings.Split(r.Version, ".")
	for i, limit := range []int{255, 255, 65535, 65535} {
		if i == len(numbers) {
			numbers = append(numbers, "0")
		}
		if n, err := strconv.Atoi(numbers[i]); err != nil || n > limit {
			return "", fmt.Errorf("version %s: Windows takes numbers up to 255.255.65535.65535", r.Version)
		}
	}
	return strings.Join(numbers[:3], "."), nil
}
