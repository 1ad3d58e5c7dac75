//go:build linux

package main

import (
	"cmp"
	"context"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// featureBudget is the sum of the budgets of the agent's features, which are part of the targets for its binary and its memory.
	featureBudget = (256 + 512 + 512) << 10
	// maxSize is the target for the agent's binary.
	maxSize = 10<<20 + featureBudget
	// maxTraySize is the target for the tray's.
	maxTraySize = 9 << 20
)

// measureSize compares the binaries that ship with a program that does nothing, and measures the code of
// each feature in the agent's.
func measureSize(ctx context.Context, b *bench, _ []*lab) []row {
	source, nothing := filepath.Join(b.dir, "nothing.go"), filepath.Join(b.dir, "nothing")
	b.check(os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	_, err := build(ctx, "-trimpath", "-ldflags", "-s -w", "-o", nothing, source)
	b.check(err)
	var sizes []int64
	for _, path := range []string{agentPath, trayPath, nothing} {
		info, err := os.Stat(path)
		b.check(err)
		sizes = append(sizes, info.Size())
	}
	code, err := codeOf(agentPath)
	b.check(err)
	linking, err := build(ctx, "-ldflags", "-dumpdep", "-o", os.DevNull, "./cmd/agent")
	b.check(err)
	keepers := methodKeepers(linking)
	stripped := func(of string, size, limit int64) row {
		return row{
			figure: "stripped binary of the " + of, measured: mib(size), baseline: mib(sizes[2]) + ", a Go program that does nothing",
			ratio: times(ratioOf(size, sizes[2])), target: "≤ " + mib(limit), met: size <= limit,
		}
	}
	return append([]row{stripped("agent", sizes[0], maxSize), stripped("tray", sizes[1], maxTraySize), {
		figure:   "functions that call methods by reflection",
		measured: cmp.Or(strings.Join(keepers, ", "), "none"), target: "none", met: len(keepers) == 0,
		note: "One function that calls methods by reflection makes the linker keep every exported method: 1.8 MiB here. " +
			"Export of godbus is one, which only the tray has.",
	}}, budgets(code)...)
}

func build(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build %s: %w: %.500s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// methodKeepers returns the functions because of which the linker, according to its list of dependencies, keeps the
// exported methods of all types.
func methodKeepers(dependencies string) (list []string) {
	for line := range strings.Lines(dependencies) {
		if name, _, keeps := strings.Cut(line, " <ReflectMethod>"); keeps && !strings.Contains(name, " ") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// features are parts of the agent that have a budget of their own.
var features = []struct {
	name     string
	packages []string // those that only this feature needs, and all below them
	binary   int64    // bytes that its code may have
}{
	{"service", []string{"sidetone/internal/service"}, 256 << 10},
	{"languages", []string{"sidetone/internal/texts", "golang.org/x/text"}, 512 << 10},
	{"metrics", []string{"sidetone/internal/metrics"}, 512 << 10},
}

// codeOf returns the size of the functions in a Go program, by package. A stripped binary, too, has the table of functions.
func codeOf(path string) (map[string]int64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	defer f.Close()
	text, lines := f.Section(".text"), f.Section(".gopclntab")
	if text == nil || lines == nil {
		return nil, fmt.Errorf("read the functions of %s: it is no Go program", path)
	}
	data, err := lines.Data()
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("read the functions of a binary: %w", err)
	}
	code := make(map[string]int64)
	for _, fn := range table.Funcs {
		code[fn.PackageName()] += int64(fn.End - fn.Entry)
	}
	return code, nil
}

func budgets(code map[string]int64) []row {
	var rows []row
	for _, f := range features {
		size := int64(0)
		for pkg, n := range code {
			if slices.ContainsFunc(f.packages, func(own string) bool { return strings.HasPrefix(pkg+"/", own+"/") }) {
				size += n
			}
		}
		rows = append(rows, row{
			figure: fmt.Sprintf("budget of the feature %s: code in the binary", f.name), measured: mib(size),
			target: "≤ " + mib(f.binary), met: size <= f.binary,
			note: "Budgets: the targets for the binary and for idle memory include 1.25 MiB for these features. Code is counted by package; " +
				"tables and text come on top, and count for the binary as a whole.",
		})
	}
	return rows
}
