package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProgramsThatPackagesNeed: `make packages` on a machine that has only Go, git, make and apt installs each program that it runs.
func TestProgramsThatPackagesNeed(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	require.NoError(t, err)
	target := regexp.MustCompile(`(?m)^packages: .*deps-packages .*\n(?:\t.*\n)+`).FindString(string(makefile))
	require.NotEmpty(t, target)

	needed := map[string]bool{"gcc": true} // as cgo, of all programs for this machine that are run while packages are made
	for _, compiler := range regexp.MustCompile(`call build-linux,\w+,([\w-]+)\)|CC=([\w-]+)`).FindAllStringSubmatch(string(makefile), -1) {
		needed[compiler[1]+compiler[2]] = true
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, run := range regexp.MustCompile(`exec\.CommandContext\(ctx, "([\w-]+)"`).FindAllStringSubmatch(string(text), -1) {
			needed[run[1]] = true
		}
	}
	for _, there := range []string{"go", "sh", "dpkg-query"} {
		require.True(t, needed[there], "this test does not find what is run")
		delete(needed, there)
	}

	list := regexp.MustCompile(`(?m)^deps-packages:.*\n\t@sh tools/deps\.sh ((?:.*\\\n)*.*)\n`).FindStringSubmatch(string(makefile))
	require.Len(t, list, 2)
	has := " " + strings.Join(strings.Fields(list[1]), " ")
	for program := range needed {
		require.Contains(t, has, " "+program+":", "deps-packages does not install it")
	}
	require.Contains(t, has, " stdio.h:", "gcc brings no headers of libc")
}
