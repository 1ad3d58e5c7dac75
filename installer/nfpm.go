package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nfpm is the program that writes packages for Linux distributions, at the version that the tests know.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

// nfpmCommand is its path in its module.
const nfpmCommand = "/cmd/nfpm"

// Package describes one package, and holds its files.
type Package struct {
	Format                                        string // deb, rpm or archlinux
	Name, Arch                                    string // Arch as Go calls it
	Summary, Description, Contact, Publisher, URL string
	Depends, Recommends                           []string
	Scripts                                       map[string]string // by nfpm's name
	Tree                                          Tree
	Fast                                          bool // do not compress
}

func (p Package) file(r Release) string {
	processor := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch]
	switch p.Format {
	case "rpm":
		return fmt.Sprintf("%s-%s-1.%s.rpm", p.Name, r.Version, processor)
	case "archlinux":
		return fmt.Sprintf("%s-%s-1-%s.pkg.tar.zst", p.Name, r.Version, processor)
	}
	return fmt.Sprintf("%s_%s_%s.deb", p.Name, r.Version, p.Arch)
}

// write makes nfpm write the package into a folder, and returns its name there.
func (p Package) write(ctx context.Context, tools string, r Release, folder string) (string, error) {
	work, err := os.MkdirTemp("", "package")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	m, err := p.manifest(r, work)
	if err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return "", err
	}
	config := filepath.Join(work, "nfpm.yaml") // of which JSON is a part
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return "", err
	}
	name := p.file(r)
	cmd := exec.CommandContext(ctx, filepath.Join(tools, "nfpm"),
		"package", "--config", config, "--packager", p.Format, "--target", filepath.Join(folder, name))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.Time.Unix())}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("nfpm, which writes %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	if p.Format == "deb" && !p.Fast {
		if err := compressDeb(ctx, filepath.Join(folder, name)); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return name, nil
}

// manifest writes the tree and the scripts into a folder to work in, and returns the configuration by which nfpm finds them: see
// https://nfpm.goreleaser.com/configuration.
func (p Package) manifest(r Release, work string) (map[string]any, error) {
	tree, err := p.Tree.sorted()
	if err != nil {
		return nil, err
	}
	if err := tree.write(filepath.Join(work, "tree")); err != nil {
		return nil, err
	}
	at := r.Time.UTC().Format(time.RFC3339)
	scripts := make(map[string]string)
	rpm := map[string]any{
		"compression": map[bool]string{false: "xz", true: "gzip"}[p.Fast], "summary": p.Summary, "group": "Unspecified",
		"buildhost": "reproducible", "packager": p.Contact,
	}
	archlinux := map[string]any{"packager": p.Contact}
	m := map[string]any{
		"name": p.Name, "arch": p.Arch, "platform": "linux", "version": r.Version, "version_schema": "none", "release": "1",
		"section": "sound", "priority": "optional", "maintainer": p.Contact, "description": wrapped(p.Description), "vendor": p.Publisher,
		"homepage": p.URL, "license": "Apache-2.0", "mtime": at, "disable_globbing": true, "umask": 0o022,
		"depends": p.Depends, "recommends": p.Recommends, "contents": p.contents(tree, at, work), "scripts": scripts,
		"deb": map[string]any{"compression": "none"}, "rpm": rpm, "archlinux": archlinux,
	}
	switch p.Format {
	case "deb": // its description begins with the summary
		delete(m, "release")
		m["description"] = p.Summary + "\n" + wrapped(p.Description)
	case "archlinux": // its description is one line
		m["description"] = p.Summary
	}
	special := map[string]map[string]any{"archlinux": archlinux, "rpm": rpm}[p.Format]
	for name, text := range p.Scripts {
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if name == "postupgrade" || name == "posttrans" { // only some formats have these
			special["scripts"] = map[string]string{name: file}
			continue
		}
		scripts[name] = file
	}
	return m, nil
}

// contents lists the folders and files of a package, in the words of nfpm.
func (p Package) contents(tree Tree, at, work string) (list []map[string]any) {
	add := func(source, path, kind string, mode fs.FileMode) {
		list = append(list, map[string]any{"src": source, "dst": path, "type": kind, "file_info": map[string]any{"mode": mode, "mtime": at}})
	}
	for _, folder := range ownFolders(p.Name, tree) {
		add("", folder, "dir", 0o755)
	}
	for _, f := range tree {
		kind := ""
		switch {
		case f.Target != "":
			add(f.Target, f.Path, "symlink", 0)
			continue
		case f.Config:
			kind = "config|noreplace"
		case p.Format == "rpm" && strings.HasPrefix(f.Path, "/usr/share/man/"):
			kind = "doc"
		case p.Format == "rpm" && strings.HasPrefix(f.Path, "/usr/share/licenses/"):
			kind = "license"
		}
		add(filepath.Join(work, "tree", filepath.FromSlash(f.Path)), f.Path, kind, f.Mode)
	}
	return list
}

// ownFolders are the folders that belong to this package alone: those that bear its name, and the folders in them.
func ownFolders(name string, tree Tree) (own []string) {
	for _, f := range tree {
		for folder := path.Dir(f.Path); folder != "/"; folder = path.Dir(folder) {
			if strings.Contains(folder+"/", "/"+name+"/") && !slices.Contains(own, folder) {
				own = append(own, folder)
			}
		}
	}
	return own
}

// wrapped breaks a text into lines that package managers show whole.
func wrapped(text string) string {
	const width = 76
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last < 0 || len(lines[last])+1+len(word) > width {
			lines = append(lines, word)
		} else {
			lines[last] += " " + word
		}
	}
	return strings.Join(lines, "\n")
}
