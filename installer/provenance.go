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

// statement says how packages came to be, as in-toto (statement/v1) and SLSA (provenance/v1) have it.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
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

// provenance is what is known of the build. It names no machine and no time of its own, so that a second build says the same.
func (r Release) provenance(ctx context.Context, subjects []subject) statement {
	s := statement{Type: "https://in-toto.io/Statement/v1", Subject: subjects, PredicateType: "https://slsa.dev/provenance/v1"}
	d := &s.Predicate.BuildDefinition
	d.BuildType = "make packages"
	d.ExternalParameters = map[string]string{"version": r.Version, "build": r.Build, "sourceDate": r.Time.Format("2006-01-02T15:04:05Z")}
	d.Resolved = append([]resource{
		{Name: "sources", Digest: map[string]string{"gitCommit": r.Commit}},
		{URI: "pkg:golang/" + strings.Replace(nfpm, nfpmCommand, "", 1) + "#" + nfpmCommand[1:]},
		{URI: "pkg:golang/std@" + runtime.Version()},
	}, toolsOfSystem(ctx)...)
	s.Predicate.RunDetails.Builder.ID = "Makefile"
	return s
}

// tools are what packages are made with beside Go, and the headers that the compilers read, by what they are called here.
var tools = []struct{ name, path string }{
	{"gcc", ""},
	{"ld", ""},
	{"headers of amd64", "/usr/include/stdio.h"},
	{"aarch64-linux-gnu-gcc", ""},
	{"aarch64-linux-gnu-ld", ""},
	{"headers of arm64", "/usr/aarch64-linux-gnu/include/stdio.h"},
	{"x86_64-w64-mingw32-gcc", ""},
	{"x86_64-w64-mingw32-ld", ""},
	{"headers of Windows", "/usr/x86_64-w64-mingw32/include/stdio.h"},
	{"msibuild", ""},
	{"xz", ""},
}

// toolsOfSystem are those that are here, as packages of Debian or what derives from it, which alone know their versions to the last patch.
// Where there is no dpkg, or a tool is none of its packages', nothing is said of it.
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

// askDpkg are the lines of an answer, which may be there although not all of what was asked for is known.
func askDpkg(ctx context.Context, option string, what ...string) iter.Seq[string] {
	out, _ := exec.CommandContext(ctx, "dpkg-query", append([]string{option}, what...)...).Output()
	return strings.SplitSeq(strings.TrimSpace(string(out)), "\n")
}

// distribution is what this system calls itself.
func distribution() string {
	text, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(text)) {
		if id, found := strings.CutPrefix(line, "ID="); found {
			return strings.Trim(strings.TrimSpace(id), `"`)
		}
	}
	return "debian"
}
