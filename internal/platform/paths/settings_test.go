package paths

import (
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
		{"xdg", "linux", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/cfg/"}, "/cfg/sidetone/config.yaml", "/etc/sidetone/config.yaml"},
		{"relative xdg", "linux", map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "cfg"}, "/home/u/.config/sidetone/config.yaml", "/etc/sidetone/config.yaml"},
		{"nothing", "linux", nil, "", "/etc/sidetone/config.yaml"},
		{"darwin", "darwin", map[string]string{"HOME": "/Users/u"}, "/Users/u/Library/Application Support/Sidetone/config.yaml", "/Library/Application Support/Sidetone/config.yaml"},
		{"windows", "windows", map[string]string{"AppData": `C:\Users\u\AppData\Roaming`, "ProgramData": `C:\ProgramData\`}, `C:\Users\u\AppData\Roaming\Sidetone\config.yaml`, `C:\ProgramData\Sidetone\config.yaml`},
		{"windows, nothing", "windows", nil, "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			getenv := func(key string) string { return tc.env[key] }
			require.Equal(t, tc.user, UserSettings(tc.goos, getenv))
			require.Equal(t, tc.system, SystemSettings(tc.goos, getenv))
		})
	}
}
