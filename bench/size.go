//go:build linux

package main

import (
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxSize is the target for the binary without the features that have a budget of their own.
const maxSize = 10 << 20

// measureSize compares the agent's binary with that of a program that does nothing, and says what
// each feature costs it.
func measureSize(ctx context.Context, b *bench) ([]row, error) {
	if err := stripped(b.agent); err != nil {
		return nil, err
	}
	agent, err := sizeOf(b.agent)
	if err != nil {
		return nil, err
	}
	nothing, err := b.buildNothing(ctx)
	if err != nil {
		return nil, err
	}
	code, err := codeOf(b.agent)
	if err != nil {
		return nil, err
	}
	limit := maxSize + linked(code, func(f feature) int64 { return f.binary })
	keepers, err := methodKeepers(ctx)
	if err != nil {
		return nil, err
	}
	return append([]row{{
		figure: "stripped binary", measured: mib(agent), baseline: mib(nothing) + ", a Go program that does nothing",
		ratio: times(ratioOf(agent, nothing)), target: "≤ " + mib(limit), met: agent <= limit,
	}, {
		figure:   "functions that call methods by reflection",
		measured: cmp.Or(strings.Join(keepers, ", "), "none"), target: "none", met: len(keepers) == 0,
		note: "One function that calls methods by reflection makes the linker keep every exported method: 1.8 MiB here. Export of godbus is one.",
	}}, budgets(code)...), nil
}

var methodKeeper = regexp.MustCompile(`(?m)^(\S+) <ReflectMethod>`)

// methodKeepers are the functions of the agent for whose sake the linker has to keep the exported methods of all types.
func methodKeepers(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-dumpdep", "-o", os.DevNull, "./cmd/agent")
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("link the agent to see what keeps methods: %w: %.500s", err, out)
	}
	found := make(map[string]bool)
	for _, m := range methodKeeper.FindAllSubmatch(out, -1) {
		found[string(m[1])] = true
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// stripped returns an error if the binary has symbols or debug information.
func stripped(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read the agent's binary: %w", err)
	}
	defer f.Close()
	for _, name := range []string{".symtab", ".debug_info", ".zdebug_info"} {
		if f.Section(name) != nil {
			return fmt.Errorf("the agent's binary is not stripped, it has %s: build it with 'make build'", name)
		}
	}
	return nil
}

func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("read the size of a binary: %w", err)
	}
	return info.Size(), nil
}

func (b *bench) buildNothing(ctx context.Context) (int64, error) {
	source, binary := filepath.Join(b.dir, "nothing.go"), filepath.Join(b.dir, "nothing")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		return 0, fmt.Errorf("write the program that does nothing: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	cmd.WaitDelay = 5 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the program that does nothing: %w: %s", err, out)
	}
	return sizeOf(binary)
}
