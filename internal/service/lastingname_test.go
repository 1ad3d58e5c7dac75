//go:build unix

package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLastingName: what starts the program must survive its update.
func TestLastingName(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	in := func(path string) string { return filepath.Join(root, path) }
	place := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(in(path)), 0o700))
		require.NoError(t, os.WriteFile(in(path), []byte(path), 0o700))
		return in(path)
	}
	link := func(to, path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(in(path)), 0o700))
		require.NoError(t, os.Symlink(to, in(path)))
		return in(path)
	}
	store, other := place("store/hash1/bin/agent"), place("other/agent")
	image, mounted := place("Apps/Agent.AppImage"), place("mount/usr/bin/agent")
	plain := place("usr/bin/agent")
	link("store/hash1", "profile")
	link("usr/bin", "bin")
	profile, direct := in("profile/bin/agent"), link(store, "links/acme")
	for name, c := range map[string]struct {
		self, started string
		env           map[string]string
		want          string
	}{
		"by its name on the search path":        {store, "agent", map[string]string{"PATH": in("other") + ":" + in("profile/bin")}, profile},
		"by the path of a link":                 {store, direct, nil, direct},
		"by the path of its version":            {store, store, map[string]string{"PATH": in("profile/bin")}, profile},
		"another program of that name":          {store, "agent", map[string]string{"PATH": in("other")}, store},
		"by the path of another":                {store, other, nil, store},
		"started by the kernel's link":          {store, "/proc/self/exe", nil, store},
		"a folder of the search path is a link": {plain, "agent", map[string]string{"PATH": in("bin") + ":" + in("usr/bin")}, plain},
		"no search path":                        {store, "agent", nil, store},
		"a relative search path":                {store, "agent", map[string]string{"PATH": "."}, store},
		"an AppImage":                           {mounted, mounted, map[string]string{"APPIMAGE": image, "APPDIR": in("mount")}, image},
		"an AppImage that says no folder":       {mounted, mounted, map[string]string{"APPIMAGE": image}, image},
		"an AppImage that is gone":              {mounted, mounted, map[string]string{"APPIMAGE": in("nowhere"), "APPDIR": in("mount")}, mounted},
		"started by another AppImage":           {plain, plain, map[string]string{"APPIMAGE": image, "APPDIR": in("mount")}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, LastingName(c.self, c.started, func(name string) string { return c.env[name] }))
		})
	}
}
