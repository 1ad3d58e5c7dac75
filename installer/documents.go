package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// documents returns the man pages and completions of a brand's program, by file name. documenter is the agent built with the tag man, agent
// is the agent as it ships, for this machine.
func (b *Brand) documents(ctx context.Context, r Release, documenter, agent string) (map[string][]byte, error) {
	work, err := os.MkdirTemp("", "documents")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	name := b.Product.Program
	base, err := b.base(programs{}, "", "-tray")
	if err == nil {
		err = base.write(work) // with empty programs, which are replaced
	}
	if err != nil {
		return nil, err
	}
	run := func(program string, args ...string) ([]byte, error) {
		binary, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(work, name)
		if err := errors.Join(os.Remove(path), os.WriteFile(path, binary, 0o755)); err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.Time.Unix())}
		cmd.Stderr = os.Stderr
		return cmd.Output()
	}
	pages := filepath.Join(work, "pages")
	if err := os.Mkdir(pages, 0o755); err != nil {
		return nil, err
	}
	if _, err := run(documenter, pages); err != nil {
		return nil, fmt.Errorf("man pages: %w", err)
	}
	files, err := readFolder(pages)
	if err != nil {
		return nil, err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if files[name+"."+shell], err = run(agent, "completion", shell); err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, err)
		}
	}
	return files, nil
}

func readFolder(folder string) (map[string][]byte, error) {
	entries, err := os.ReadDir(folder)
	files := make(map[string][]byte)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, err
		}
		files[e.Name()] = text
	}
	return files, err
}

// legal returns the files about licences and changes, where each format wants them.
func (b *Brand) legal(format, name string, r Release, own []byte, modules []Module) (t Tree) {
	all := licenceTexts(own, modules)
	if format != "deb" {
		t.add("/usr/share/licenses/"+name+"/licences.txt", all)
		return t
	}
	docs := "/usr/share/doc/" + name + "/"
	t.add(docs+"copyright", fmt.Appendf(nil, `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Sidetone
Source: %s
Comment: The texts of the licences of all modules in the programs are in licences.txt.gz beside this file.

Files: *
Copyright: %d %s and the authors of Sidetone
License: Apache-2.0
 On Debian systems the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
`, b.Vendor.URL, r.Time.Year(), b.Vendor.Publisher))
	t.add(docs+"licences.txt.gz", zipped(all))
	t.add(docs+"changelog.gz", zipped(fmt.Appendf(nil, "%s (%s) unstable; urgency=medium\n\n  * Release %s.\n\n -- %s  %s\n",
		name, r.Version, r.Build, b.Vendor.Contact, r.Time.Format(time.RFC1123Z))))
	return t
}
