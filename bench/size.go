//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// maxSize is the target for the agent's binary.
	maxSize = 16 << 20
	// maxTraySize is the target for the tray's.
	maxTraySize = 9 << 20
)

// measureSize compares the binaries that ship with a program that does nothing.
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
	linking, err := build(ctx, "-ldflags", "-dumpdep", "-o", os.DevNull, "./cmd/agent")
	b.check(err)
	keepers := methodKeepers(linking)
	stripped := func(of string, size, limit int64) row {
		return row{
			figure: "stripped binary of the " + of, measured: mib(size), baseline: mib(sizes[2]) + ", a Go program that does nothing",
			ratio: times(ratioOf(size, sizes[2])), target: "≤ " + mib(limit), met: size <= limit,
		}
	}
	return []row{stripped("agent", sizes[0], maxSize), stripped("tray", sizes[1], maxTraySize), {
		figure:   "functions that call methods by reflection",
		measured: cmp.Or(strings.Join(keepers, ", "), "none"), target: "none", met: len(keepers) == 0,
		note: "One function that calls methods by reflection makes the linker keep every exported method: 1.8 MiB here. " +
			"Export of godbus is one, which only the tray has.",
	}}
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
