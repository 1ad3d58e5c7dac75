package testlab

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

var errNotHere = errors.New("testlab: private sound servers run on Linux only")

// SoundAvailable returns nil if a server of this kind can be started here, otherwise an error with
// the missing programs and how to install them.
func SoundAvailable(kind SoundKind) error {
	if runtime.GOOS != "linux" {
		return errNotHere
	}
	return missing(kind, exec.LookPath)
}

// program is a program that a server needs, and its Debian package.
type program struct{ name, pkg string }

var programs = map[SoundKind][]program{
	PulseAudio: {{"pulseaudio", "pulseaudio"}, {"pactl", "pulseaudio-utils"}},
	PipeWire: {
		{"pipewire", "pipewire"},
		{"wireplumber", "wireplumber"},
		{"pipewire-pulse", "pipewire-pulse"},
		{"dbus-daemon", "dbus"},
		{"pactl", "pulseaudio-utils"},
	},
}

// missing returns an error that names the programs that lookPath does not find.
func missing(kind SoundKind, lookPath func(string) (string, error)) error {
	needed, ok := programs[kind]
	if !ok {
		return fmt.Errorf("testlab: no kind of sound server is called %q, use one of %q", kind, SoundKinds)
	}
	var names, packages []string
	for _, p := range needed {
		if _, err := lookPath(p.name); err != nil {
			names = append(names, p.name)
			packages = append(packages, p.pkg)
		}
	}
	if names == nil {
		return nil
	}
	slices.Sort(packages)
	return fmt.Errorf("testlab: a private %s server needs %s: run `make deps`, or install the package(s) %s",
		kind, strings.Join(names, ", "), strings.Join(slices.Compact(packages), ", "))
}
