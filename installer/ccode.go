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
	"runtime/debug"
	"slices"
	"strings"
)

// withC is the only module with code in C. Only a program that has it is linked by a C compiler, with that compiler's runtime.
const withC = "github.com/gen2brain/malgo"

// compilers are the compilers by which the Makefile links such programs, all of them for Linux.
var compilers = map[string]string{"amd64": "gcc", "arm64": "aarch64-linux-gnu-gcc"}

// libgcc returns what that compiler links into a program. Its terms were reviewed, and let a vendor ship it in a package of its own. Of the
// C library a program contains a few instructions (crt1.o), whose terms restrict nothing; the rest is the system's.
func libgcc(version string) Module {
	return Module{
		Path: "libgcc", Version: version, URL: "pkg:generic/gcc@" + version,
		Licences: []string{"GPL-3.0-or-later WITH GCC-exception-3.1"},
		Text: "Start and support code of the GNU Compiler Collection (https://gcc.gnu.org), Copyright (C) Free Software Foundation, Inc.\n" +
			"The GCC Runtime Library Exception 3.1 lets it be conveyed in a program under terms of one's choice.",
	}
}

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
	version, err := compilerVersion(ctx, compilers[settings["GOARCH"]])
	if err != nil {
		return nil, fmt.Errorf("which libgcc is in a program: %w", err)
	}
	return []Module{audio, libgcc(version)}, nil
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

// compilerVersion returns the version that a compiler's preprocessor gives: "12.2.0".
func compilerVersion(ctx context.Context, compiler string) (string, error) {
	cmd := exec.CommandContext(ctx, compiler, "-E", "-P", "-x", "c", "-")
	cmd.Stdin = strings.NewReader("__VERSION__\n")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", compiler, err)
	}
	version, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(string(out)), `"`), " ") // the vendor of the compiler may follow
	if !strings.ContainsAny(version[:min(1, len(version))], "0123456789") {
		return "", fmt.Errorf("%s does not say its version", compiler)
	}
	return version, nil
}
