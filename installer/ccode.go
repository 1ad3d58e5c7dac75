package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	_ "embed" // for the notices
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// withC is the only module with code in C. Only a program that has it is linked by a C compiler, with that compiler's runtime.
const withC = "github.com/gen2brain/malgo"

// compilers are the compilers by which the Makefile links such programs.
var compilers = map[string]string{
	"linux/amd64": "gcc", "linux/arm64": "aarch64-linux-gnu-gcc", "windows/amd64": "x86_64-w64-mingw32-gcc",
}

// runtimes are what a compiler links into a program. Their terms were reviewed, and let a vendor ship them in a package of its own. Of the
// C library of Linux a program contains a few instructions (crt1.o), whose terms restrict nothing; the rest is the system's.
var runtimes = []struct {
	name, url, system string
	header, version   string // an expression of the preprocessor that gives the version, and the header that it needs
	licences          []string
	text              string
}{
	{
		name: "libgcc", url: "pkg:generic/gcc", version: "__VERSION__",
		licences: []string{"GPL-3.0-or-later WITH GCC-exception-3.1"},
		text: "Start and support code of the GNU Compiler Collection (https://gcc.gnu.org), Copyright (C) Free Software Foundation, Inc.\n" +
			"The GCC Runtime Library Exception 3.1 lets it be conveyed in a program under terms of one's choice.",
	},
	{
		name: "mingw-w64", url: "pkg:generic/mingw-w64", system: "windows", header: "_mingw.h",
		version:  "__MINGW64_VERSION_MAJOR.__MINGW64_VERSION_MINOR.__MINGW64_VERSION_BUGFIX",
		licences: []string{"LicenseRef-gdtoa", "ZPL-2.1"}, text: mingwNotices,
	},
}

//go:embed windows/mingw-w64-runtime.txt
var mingwNotices string

// codeInC returns the C code in a program, of which its build information says nothing. folders are the sources of modules.
func codeInC(ctx context.Context, info *buildinfo.BuildInfo, folders map[string]string) (list []Module, err error) {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	linked := slices.ContainsFunc(info.Deps, func(m *debug.Module) bool { return m.Path == withC })
	if !linked || settings["CGO_ENABLED"] != "1" {
		return nil, nil
	}
	audio, err := miniaudio(filepath.Join(folders[withC], "miniaudio.h"))
	if err != nil {
		return nil, fmt.Errorf("which miniaudio is in a program: %w", err)
	}
	list = append(list, audio)
	system := settings["GOOS"]
	for _, r := range runtimes {
		if r.system != "" && r.system != system {
			continue
		}
		version, err := expanded(ctx, compilers[system+"/"+settings["GOARCH"]], r.header, r.version)
		if err != nil {
			return nil, fmt.Errorf("which %s is in a program for %s: %w", r.name, system, err)
		}
		list = append(list, Module{Path: r.name, Version: version, URL: r.url + "@" + version, Licences: r.licences, Text: r.text})
	}
	return list, nil
}

var miniaudioVersion = regexp.MustCompile(`(?m)^#define MA_VERSION_(?:MAJOR|MINOR|REVISION) +(\d+)`)

// miniaudio reads the version and, at the end, the licence from the library's header.
func miniaudio(header string) (m Module, err error) {
	text, err := os.ReadFile(header)
	if err != nil {
		return m, err
	}
	var numbers []string
	for _, number := range miniaudioVersion.FindAllSubmatch(text, -1) {
		numbers = append(numbers, string(number[1]))
	}
	terms := bytes.LastIndex(text, []byte("/*\n"))
	if len(numbers) != 3 || terms < 0 {
		return m, errors.New(header + " has no version, or no terms at its end")
	}
	version := strings.Join(numbers, ".")
	m = Module{Path: "miniaudio", Version: version, URL: "pkg:github/mackron/miniaudio@" + version}
	m.addLicence(bytes.Trim(text[terms:], "/*\n"))
	return m, m.checkLicences()
}

// expanded returns the version that a compiler's preprocessor makes of an expression.
func expanded(ctx context.Context, compiler, header, words string) (string, error) {
	cmd := exec.CommandContext(ctx, compiler, "-E", "-P", "-x", "c", "-")
	cmd.Stdin = strings.NewReader(words + "\n")
	if header != "" {
		cmd.Stdin = strings.NewReader("#include <" + header + ">\n" + words + "\n")
	}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", compiler, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	version := strings.ReplaceAll(lines[len(lines)-1], " . ", ".")
	version, _, _ = strings.Cut(strings.Trim(version, `"`), " ") // the vendor of the compiler may follow
	version, _, _ = strings.Cut(version, "-")                    // or its kind of threads: no database of vulnerabilities has "12-win32"
	if !strings.ContainsAny(version[:min(1, len(version))], "0123456789") {
		return "", fmt.Errorf("%s knows no version in %q", compiler, words)
	}
	return version, nil
}
