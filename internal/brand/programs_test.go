package brand

import (
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
	require.Equal(t, "agent", ProgramName("/opt/acme/agent"))
}
