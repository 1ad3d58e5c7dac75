package brand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/texts"
)

func TestPrograms(t *testing.T) {
	for agent, tray := range map[string]string{
		"/opt/acme/agent":      "/opt/acme/agent-tray",
		"/opt/a b/acme.v2":     "/opt/a b/acme.v2-tray",
		`C:\Acme\sidetone.exe`: `C:\Acme\sidetonew.exe`,
	} {
		require.Equal(t, tray, TrayOf(agent))
		require.Equal(t, agent, AgentOf(tray))
	}
	require.Equal(t, []string{"/opt/agent", "tray"}, TrayCommand("/opt/agent"))
	require.Equal(t, []string{`C:\Acme\sidetonew.exe`}, TrayCommand(`C:\Acme\sidetone.exe`))
	require.Equal(t, `C:\Acme\sidetone-service.exe`, ServiceOf(`C:\Acme\sidetone.exe`))
	require.Equal(t, "agent", ProgramName("/opt/acme/agent"))
}

// TestNoMessageNamesAnotherProgram than the brand's, in any language.
func TestNoMessageNamesAnotherProgram(t *testing.T) {
	for _, lang := range texts.Shipped.Languages() {
		say := texts.For(lang)
		for _, key := range texts.Keys() {
			for _, form := range say.Template(key).Forms() {
				require.NotRegexp(t, "(?i)sidetone", RenameCommands(form, "acme-agent"), "%s: %s", lang, key)
			}
		}
	}
}

func TestNamesOfABrand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "acme-agent")
	require.Equal(t, Unbranded, NameOf(program), "it was only renamed")
	require.NoError(t, os.WriteFile(Path(program), []byte("vendor: {id: acme, client_id: \""+one+"\"}"), 0o600))
	require.Equal(t, "acme-agent", NameOf(program))
	require.Equal(t, "ACME_AGENT_", EnvPrefix("acme-agent"))
	defaults, policy := SettingsFiles(program + ".exe")
	require.Equal(t, [2]string{program + ".defaults.yaml", program + ".policy.yaml"}, [2]string{defaults, policy})

	f, err := Load(Path(program))
	require.NoError(t, err)
	say, err := f.Printer("en", nil)
	require.NoError(t, err)
	require.Equal(t, "to start it at log-in, run 'acme-agent service install'", say.Text("condition.agent.service_missing.remedy", nil))
	require.Equal(t, "run 'sidetone x', not sidetone", RenameCommands("run 'sidetone x', not sidetone", Unbranded))
	for text, want := range map[string]string{
		"run 'sidetone x', not sidetone":          "run 'acme-agent x', not sidetone",
		"Example:\n\n  sidetone push x":           "Example:\n\n  acme-agent push x",
		"set SIDETONE_VENDOR":                     "set ACME_AGENT_VENDOR",
		"/etc/udev/rules.d/70-sidetone-hid.rules": "/etc/udev/rules.d/70-acme-agent-hid.rules",
		"/run/user/1000/sidetone/acme/agent.sock": "/run/user/1000/sidetone/acme/agent.sock",
	} {
		require.Equal(t, want, RenameCommands(text, "acme-agent"))
	}
}
