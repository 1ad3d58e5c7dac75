package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// shippable are the SPDX ids of the licences under which a vendor may ship code in a package of its own if it ships their texts, too.
var shippable = []string{"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "ISC", "MIT", "MIT-0", "Unlicense", "Zlib"}

// Module is third-party code in a program: a Go module, Go's own library, or code in C.
type Module struct {
	Path, Version, Sum string
	URL                string   // package URL (purl), by which databases of vulnerabilities know it; empty for Go modules
	Licences           []string // SPDX ids
	Text               string   // of the licences, and of notices that must accompany them
}

// licenceFile matches the names of files with the terms of a module.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents)([-_.].*)?$`)

// covered is how much of a licence's text must be recognised, in percent. The rest is mostly the names of copyright holders.
const covered = 75

// modulesOf returns the modules that were linked into programs, in the order of their paths. It fails for one whose licence is unknown, or
// which a vendor cannot ship.
func modulesOf(ctx context.Context, programs ...[]byte) ([]Module, error) {
	folders, err := moduleFolders(ctx)
	if err != nil {
		return nil, err
	}
	var list, inC []Module
	add := func(to *[]Module, m Module) {
		if !slices.ContainsFunc(*to, func(o Module) bool { return o.Path == m.Path }) {
			*to = append(*to, m)
		}
	}
	for _, p := range programs {
		info, err := buildinfo.Read(bytes.NewReader(p))
		if err != nil {
			return nil, fmt.Errorf("which modules are in a program: %w", err)
		}
		add(&list, Module{Path: "std", Version: info.GoVersion})
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(&list, Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
		}
		code, err := codeInC(ctx, info, folders)
		if err != nil {
			return nil, err
		}
		for _, m := range code {
			add(&inC, m)
		}
	}
	slices.SortFunc(list, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	for i := range list {
		err = errors.Join(err, list[i].readLicences(folders[list[i].Path]))
	}
	return append(list, inC...), err
}

// moduleFolders returns the source folders of all modules, and that of Go as std.
func moduleFolders(ctx context.Context) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Path}}\t{{.Dir}}", "all").Output()
	if err != nil {
		return nil, fmt.Errorf("where the sources of modules are: go list: %w", err)
	}
	folders := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, folder, _ := strings.Cut(strings.TrimSpace(line), "\t")
		folders[path] = folder
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	folders["std"] = strings.TrimSpace(string(root))
	return folders, err
}

// readLicences reads the licences from a module's source folder.
func (m *Module) readLicences(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", m.Path, err)
	}
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		if strings.EqualFold(e.Name(), "PATENTS") { // a further grant beside the licence
			m.addText(text)
			continue
		}
		m.addLicence(text)
	}
	return m.checkLicences()
}

func (m *Module) addText(text []byte) {
	m.Text += strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")) + "\n\n"
}

// addLicence adds a text, and recognises which licence it is.
func (m *Module) addLicence(text []byte) {
	m.addText(text)
	if known := licensecheck.Scan(text); known.Percent >= covered {
		for _, match := range known.Match {
			m.Licences = append(m.Licences, match.ID)
		}
	}
}

// checkLicences fails unless there is a known licence, and each is one that a vendor may ship.
func (m *Module) checkLicences() error {
	slices.Sort(m.Licences)
	m.Licences = slices.Compact(m.Licences)
	if len(m.Licences) == 0 {
		return fmt.Errorf("%s %s is under no licence that is known: leave the module out, or ask for its terms", m.Path, m.Version)
	}
	for _, id := range m.Licences {
		if !slices.Contains(shippable, id) {
			return fmt.Errorf("%s %s is under %s, which a vendor cannot ship in a package of its own: leave the module out", m.Path, m.Version, id)
		}
	}
	return nil
}

// licenceTexts returns the file with the licences of everything in a package.
func licenceTexts(own []byte, modules []Module) []byte {
	var b bytes.Buffer
	fmt.Fprint(&b, "This program is under the Apache License 2.0, which is the first text below. It contains the following modules,\n"+
		"whose licences are the texts after it.\n\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "    %s %s: %s\n", m.Path, m.Version, strings.Join(m.Licences, ", "))
	}
	line := strings.Repeat("=", 78)
	fmt.Fprintf(&b, "\n%s\n\n%s\n", line, bytes.TrimSpace(own))
	for _, m := range modules {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", line, m.Path, strings.TrimSpace(m.Text))
	}
	return b.Bytes()
}
