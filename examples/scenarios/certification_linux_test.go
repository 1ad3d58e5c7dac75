// Package scenarios plays the example for certification labs with the real agent.
package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/fakeserver/scenario"
	"sidetone/internal/testlab"
)

// TestTheAgentIsCertified also holds the example to more than one profile over more than one
// transport: what depends on them has to be tried with each.
func TestTheAgentIsCertified(t *testing.T) {
	agent := filepath.Join(t.TempDir(), "sidetone")
	require.NoError(t, testlab.Build(agent, "../../cmd/agent"))
	program, err := os.ReadFile(agent)
	require.NoError(t, err)
	require.True(t, bytes.Contains(program, []byte("/nonexistent")), "it is linked with another folder than that of this machine's policy")
	t.Setenv("AGENT", agent)

	const file = "certification.yaml"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, profile := range []fakeserver.Profile{fakeserver.Documented, fakeserver.Desktop} {
		require.Contains(t, string(text), "profile: "+string(profile))
	}
	for _, transport := range []fakeserver.Transport{fakeserver.WebSocket, fakeserver.IPC, fakeserver.HTTP} {
		require.Contains(t, string(text), "transport: "+string(transport))
	}
	own := strings.NewReplacer(
		"264", fmt.Sprint(200+os.Getpid()%120), // ports of this process, beside those of another run of the test
		"ipc: private", "ipc: private\n    refill: 500ms", // as fast as the agent counts on
		// What counts payloads looks until its time is over. Less of it asks more of the agent.
		"within: 4s", "within: 1s", "within: 3s", "within: 1s", "within: 2s", "within: 1s", "wait: 2s", "wait: 1s",
		"refill: 1s", "refill: 500ms", "--rpc-token-every 1s", "--rpc-token-every 500ms --engine-removal-grace 300ms",
	).Replace(string(text))
	sc, problems := scenario.Load(file, []byte(own))
	require.Empty(t, problems)
	var progress bytes.Buffer
	report, err := sc.Run(t.Context(), scenario.Options{Progress: &progress, Timeout: 3 * time.Minute})
	require.NoError(t, err)
	require.False(t, report.Failed(), "%s", progress.String())
}
