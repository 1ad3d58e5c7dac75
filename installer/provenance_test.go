//go:build linux

package main

import (
	"errors"
	"flag"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// complete is set by 'make test-packages'; 'make test' has not the compilers for other machines.
var complete = flag.Bool("complete", false, "all is here that make deps-packages installs: a test that lacks some of it fails")

// TestToolsOfSystem: each compiler that is here is named with the version that it says itself, and so the same each time.
func TestToolsOfSystem(t *testing.T) {
	if _, err := exec.LookPath("dpkg-query"); err != nil {
		t.Skip("no dpkg here: tools are told by their packages of Debian")
	}
	all := toolsOfSystem(t.Context())
	tools = append(tools, struct{ name, path string }{name: "not-on-this-machine"}) // one that is missing takes nothing from the others
	require.Equal(t, all, toolsOfSystem(t.Context()))
	uris := make(map[string]string)
	for _, tool := range all {
		uris[tool.Name] = tool.URI
	}
	for _, name := range []string{"gcc", "aarch64-linux-gnu-gcc"} {
		version, err := exec.Command(name, "-dumpfullversion").Output()
		if errors.Is(err, exec.ErrNotFound) && !*complete {
			continue
		}
		require.NoError(t, err, "%s: run `make deps-packages`", name)
		number, _, _ := strings.Cut(strings.TrimSpace(string(version)), "-")
		require.Regexp(t, `^pkg:deb/[a-z]+/gcc[a-z0-9-]*@`+number+`[.-].*\?arch=`, uris[name], name)
	}
	require.Regexp(t, `^pkg:deb/[a-z]+/gcc-\d+@`, uris["gcc"])
	require.Regexp(t, `^pkg:deb/[a-z]+/libc6-dev@`, uris["headers of amd64"])
}
