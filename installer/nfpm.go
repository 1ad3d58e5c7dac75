package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// nfpm is the program that writes packages of Linux distributions, at the version that the tests know.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

// nfpmCommand is where in its module it is.
const nfpmCommand = "/cmd/nfpm"

// manifest is what nfpm reads, in the words of https://nfpm.goreleaser.com/configuration.
type manifest struct {
	Name          string            `json:"name"`
	Arch          string            `json:"arch"`
	Platform      string            `json:"platform"`
	Version       string            `json:"version"`
	VersionSchema string            `json:"version_schema"`
	Release       string            `json:"release,omitempty"`
	Section       string            `json:"section"`
	Priority      string            `json:"priority"`
	Maintainer    string            `json:"maintainer"`
	Description   string            `json:"description"`
	Vendor        string            `json:"vendor"`
	Homepage      string            `json:"homepage"`
	License       string            `json:"license"`
	Time          string            `json:"mtime"`
	NoGlobbing    bool              `json:"disable_globbing"`
	Umask         int               `json:"umask"`
	Depends       []string          `json:"depends,omitempty"`
	Recommends    []string          `json:"recommends,omitempty"`
	Contents      []content         `json:"contents"`
	Scripts       map[string]string `json:"scripts,omitempty"`
	Deb           map[string]any    `json:"deb"`
	RPM           map[string]any    `json:"rpm"`
	Arch2         map[string]any    `json:"archlinux"`
}

type content struct {
	Source string `json:"src,omitempty"`
	Path   string `json:"dst"`
	Type   string `json:"type,omitempty"`
	Info   struct {
		Mode int    `json:"mode,omitempty"`
		Time string `json:"mtime"`
	} `json:"file_info"`
}

// Package is what the files of one package are made into.
type Package struct {
	Format                                        string // deb, rpm or archlinux
	Name, Arch                                    string // Arch as Go calls it
	Summary, Description, Contact, Publisher, URL string
	Depends, Recommends                           []string
	Scripts                                       map[string]string // by nfpm's name
	Tree                                          Tree
	Fast                                          bool // do not compress
}

// file is the name by which such a package is known.
func (p Package) file(r Release) string {
	switch p.Format {
	case "rpm":
		return fmt.Sprintf("%s-%s-1.%s.rpm", p.Name, r.Version, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch])
	case "archlinux":
		return fmt.Sprintf("%s-%s-1-%s.pkg.tar.zst", p.Name, r.Version, map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[p.Arch])
	default:
		return fmt.Sprintf("%s_%s_%s.deb", p.Name, r.Version, p.Arch)
	}
}

// write has nfpm write the package into a folder. Returned is its name there.
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

// manifest writes the tree and the scripts into a folder to work in, and says where everything belongs.
func (p Package) manifest(r Release, work string) (*manifest, error) {
	tree, err := p.Tree.sorted()
	if err != nil {
		return nil, err
	}
	if err := tree.write(filepath.Join(work, "tree")); err != nil {
		return nil, err
	}
	at := r.Time.UTC().Format(time.RFC3339)
	m := &manifest{
		Name: p.Name, Arch: p.Arch, Platform: "linux", Version: r.Version, VersionSchema: "none", Release: "1",
		Section: "sound", Priority: "optional", Maintainer: p.Contact, Description: wrapped(p.Description), Vendor: p.Publisher, Homepage: p.URL,
		License: "Apache-2.0", Time: at, NoGlobbing: true, Umask: 0o022,
		Depends: p.Depends, Recommends: p.Recommends, Scripts: make(map[string]string),
		Deb: map[string]any{"compression": "none"},
		RPM: map[string]any{
			"compression": map[bool]string{false: "xz", true: "gzip"}[p.Fast], "summary": p.Summary, "group": "Unspecified",
			"buildhost": "reproducible", "packager": p.Contact,
		},
		Arch2: map[string]any{"packager": p.Contact},
	}
	switch p.Format {
	case "deb": // whose first line is the summary
		m.Release, m.Description = "", p.Summary+"\n"+m.Description
	case "archlinux": // which has no more than one line
		m.Description = p.Summary
	}
	special := map[string]map[string]any{"archlinux": m.Arch2, "rpm": m.RPM}[p.Format]
	for name, text := range p.Scripts {
		file := filepath.Join(work, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		if name == "postupgrade" || name == "posttrans" { // which only some formats have
			special["scripts"] = map[string]string{name: file}
			continue
		}
		m.Scripts[name] = file
	}
	add := func(c content, mode int) {
		c.Info.Time, c.Info.Mode = at, mode
		m.Contents = append(m.Contents, c)
	}
	for _, folder := range ownFolders(p.Name, tree) {
		add(content{Path: folder, Type: "dir"}, 0o755)
	}
	for _, f := range tree {
		c := content{Source: filepath.Join(work, "tree", filepath.FromSlash(f.Path)), Path: f.Path}
		switch {
		case f.Target != "":
			add(content{Source: f.Target, Path: f.Path, Type: "symlink"}, 0)
			continue
		case f.Config:
			c.Type = "config|noreplace"
		case p.Format == "rpm" && strings.HasPrefix(f.Path, "/usr/share/man/"):
			c.Type = "doc"
		case p.Format == "rpm" && strings.HasPrefix(f.Path, "/usr/share/licenses/"):
			c.Type = "license"
		}
		add(c, int(f.Mode))
	}
	return m, nil
}

// ownFolders are the folders that nobody but this package has, which bear its name, and those in them.
func ownFolders(name string, tree Tree) (own []string) {
	seen := make(map[string]bool)
	for _, f := range tree {
		for folder := path.Dir(f.Path); folder != "/"; folder = path.Dir(folder) {
			if strings.Contains(folder+"/", "/"+name+"/") && !seen[folder] {
				seen[folder] = true
				own = append(own, folder)
			}
		}
	}
	return own
}

// width is how long a line may be that package managers show.
const width = 76

// wrapped is a text in lines that package managers show whole.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
