package paths

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettingsFiles(t *testing.T) {
	for _, tc := range []struct {
		name, goos   string
		env          map[string]string
		user, system string
	}{
		{"linux", "linux", map[string]string{"HOME": "/home/u"}, "/home/u/.config/sidetone/config.yaml", "/etc/sidetone/config.yaml"},
		{
			"xdg", "linux",
			map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/cfg/"},
			"/cfg/sidetone/config.yaml", "/etc/sidetone/config.yaml",
		},
		{
			"relative xdg", "linux",
			map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "cfg"},
			"/home/u/.config/sidetone/config.yaml", "/etc/sidetone/config.yaml",
		},
		{"nothing", "linux", nil, "", "/etc/sidetone/config.yaml"},
		{
			"darwin", "darwin",
			map[string]string{"HOME": "/Users/u"},
			"/Users/u/Library/Application Support/Sidetone/config.yaml", "/Library/Application Support/Sidetone/config.yaml",
		},
		{
			"windows", "windows",
			map[string]string{"AppData": `C:\Users\u\AppData\Roaming`, "ProgramData": `C:\ProgramData\`},
			`C:\Users\u\AppData\Roaming\Sidetone\config.yaml`, `C:\ProgramData\Sidetone\config.yaml`,
		},
		{"windows, nothing", "windows", nil, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			getenv := func(key string) string { return tc.env[key] }
			require.Equal(t, tc.user, UserSettings(tc.goos, "sidetone", getenv))
			require.Equal(t, tc.system, SystemSettings(tc.goos, "sidetone", getenv))
		})
	}
}

// TestSettingsOfABrand: what two vendors' agents are told is in folders of each.
func TestSettingsOfABrand(t *testing.T) {
	getenv := func(string) string { return "/base" }
	for goos, want := range map[string][3]string{
		"linux": {"/base/acme-agent/config.yaml", "/etc/acme-agent/config.yaml", "/etc/acme-agent/policy.d"},
		"darwin": {
			"/base/Library/Application Support/acme-agent/config.yaml", "/Library/Application Support/acme-agent/config.yaml",
			"/Library/Application Support/acme-agent/policy.d",
		},
		"windows": {`/base\acme-agent\config.yaml`, `/base\acme-agent\config.yaml`, ""},
	} {
		got := [3]string{UserSettings(goos, "acme-agent", getenv), SystemSettings(goos, "acme-agent", getenv), Policy(goos, "acme-agent")}
		require.Equal(t, want, got)
	}
}

func TestPolicyKey(t *testing.T) {
	require.Equal(t, `Software\Policies\Sidetone`, PolicyKey("sidetone"))
	require.Equal(t, `Software\Policies\acme-agent`, PolicyKey("acme-agent"))
	require.Equal(t, `Software\acme-agent\Policy`, PackageKey("acme-agent"))
}

func TestPolicyFiles(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"20-lab.yaml", "30-site.yml", "10-all.yaml", "10-all.yaml.bak", ".#10-all.yaml", "README"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	files, err := PolicyFiles(folder)
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, "10-all.yaml"), filepath.Join(folder, "20-lab.yaml"), filepath.Join(folder, "30-site.yml")}, files)
	for _, none := range []string{"", filepath.Join(folder, "missing")} {
		files, err = PolicyFiles(none)
		require.NoError(t, err)
		require.Empty(t, files)
	}
	if runtime.GOOS != "windows" { // which has policy in the registry, and says of a file that it is no folder as if it were missing
		_, err = PolicyFiles(filepath.Join(folder, "README"))
		require.Error(t, err)
	}
}
