package brand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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

func TestNamesOfABrand(t *testing.T) {
	program := filepath.Join(t.TempDir(), "acme-agent")
	require.Equal(t, Unbranded, NameOf(program), "it was only renamed")
	require.NoError(t, os.WriteFile(Path(program), []byte("vendor: {id: acme, client_id: \""+one+"\"}"), 0o600))
	require.Equal(t, "acme-agent", NameOf(program))
	require.Equal(t, "ACME_AGENT_", EnvPrefix("acme-agent"))
	defaults, policy := SettingsBeside(program + ".exe")
	require.Equal(t, [2]string{program + ".defaults.yaml", program + ".policy.yaml"}, [2]string{defaults, policy})

	f, err := Load(Path(program))
	require.NoError(t, err)
	say, err := f.Printer("en", nil)
	require.NoError(t, err)
	require.Equal(t, "have it start with 'acme-agent service install'", say.Text("condition.agent.service_missing.remedy", nil))
	require.Equal(t, "run 'sidetone x', not sidetone", Commands("run 'sidetone x', not sidetone", Unbranded))
	require.Equal(t, "run 'acme x', not sidetone", Commands("run 'sidetone x', not sidetone", "acme"))
}
