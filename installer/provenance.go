package main

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// statement says how packages were made, in the formats of in-toto (statement/v1) and SLSA (provenance/v1).
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType          string            `json:"buildType"`
		ExternalParameters map[string]string `json:"externalParameters"`
		Resolved           []resource        `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

// provenance returns what is known of the build that has made the subjects of the vendor's own inputs. It names no machine and no time of
// its own, so that a second build says the same.
func (r Release) provenance(ctx context.Context, subjects, inputs []resource) statement {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1"}
	d := &s.Predicate.BuildDefinition
	d.BuildType = "make packages"
	d.ExternalParameters = map[string]string{"version": r.Version, "build": r.Build, "sourceDate": r.Time.Format("2006-01-02T15:04:05Z")}
	d.Resolved = slices.Concat([]resource{
		{Name: "sources", Digest: map[string]string{"gitCommit": r.Commit}},
		{URI: "pkg:golang/" + strings.Replace(nfpm, nfpmCommand, "", 1) + "#" + nfpmCommand[1:]},
		{URI: "pkg:golang/std@" + runtime.Version()},
	}, toolsOfSystem(ctx), inputs)
	s.Predicate.RunDetails.Builder.ID = "Makefile"
	return s
}

func file(name string, data []byte) resource {
	return resource{Name: name, Digest: map[string]string{"sha256": checksum(data)}}
}

// inputs are the vendor's own files: brand.yaml, and the files that it names.
func (b *Brand) inputs() (list []resource, err error) {
	for _, path := range append([]string{b.path, filepath.Join(b.folder, b.Product.Icon)}, b.files...) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		list = append(list, file(filepath.Base(path), data))
	}
	return list, nil
}

// tools are what packages are made with beside Go, and the headers that the compilers read, by their names in the provenance.
var tools = []struct{ name, path string }{
	{"gcc", ""},
	{"ld", ""},
	{"headers of amd64", "/usr/include/stdio.h"},
	{"aarch64-linux-gnu-gcc", ""},
	{"aarch64-linux-gnu-ld", ""},
	{"headers of arm64", "/usr/aarch64-linux-gnu/include/stdio.h"},
	{"msibuild", ""},
	{"xz", ""},
}

// toolsOfSystem returns the installed tools as packages of Debian or a derivative, which alone know their versions to the last patch.
// It leaves out what does not come from a package, and everything where there is no dpkg.
func toolsOfSystem(ctx context.Context) (list []resource) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	paths := make([]string, len(tools))
	for i, tool := range tools {
		path := tool.path
		if path == "" {
			path, _ = exec.LookPath(tool.name)
		}
		if path != "" { // of "" EvalSymlinks makes ".", which dpkg finds in the name of every file
			paths[i], _ = filepath.EvalSymlinks(path)
		}
	}
	known := slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return path == "" })
	owners := make(map[string]string) // of paths
	for line := range askDpkg(ctx, "--search", known...) {
		if owner, path, found := strings.Cut(line, ": "); found && !strings.Contains(owner, ",") {
			owners[path] = owner
		}
	}
	uris := make(map[string]string) // of owners
	const format = "--showformat=${binary:Package} ${Package} ${Version} ${Architecture}\n"
	for line := range askDpkg(ctx, format, append([]string{"--show"}, slices.Sorted(maps.Values(owners))...)...) {
		if f := strings.Fields(line); len(f) == 4 {
			uris[f[0]] = "pkg:deb/" + distribution() + "/" + f[1] + "@" + url.QueryEscape(f[2]) + "?arch=" + f[3]
		}
	}
	for i, tool := range tools {
		if uri := uris[owners[paths[i]]]; uri != "" {
			list = append(list, resource{Name: tool.name, URI: uri})
		}
	}
	return list
}

// askDpkg returns the lines of an answer. dpkg-query answers what it knows even where it fails.
func askDpkg(ctx context.Context, option string, what ...string) iter.Seq[string] {
	out, _ := exec.CommandContext(ctx, "dpkg-query", append([]string{option}, what...)...).Output()
	return strings.SplitSeq(strings.TrimSpace(string(out)), "\n")
}

// distribution is the ID in /etc/os-release.
func distribution() string {
	text, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(text)) {
		if id, found := strings.CutPrefix(line, "ID="); found {
			return strings.Trim(strings.TrimSpace(id), `"`)
		}
	}
	return "debian"
}
