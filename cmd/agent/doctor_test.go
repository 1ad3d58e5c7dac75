package main

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/texts"
)

func TestPrintFindings(t *testing.T) {
	t.Parallel()
	of := func(code health.Code, how health.Severity) health.Condition {
		return health.Condition{Code: code, Severity: how, Subject: "Odd\x1b[31m"}
	}
	say := health.Texts{Printer: texts.Of("en", texts.Messages{
		"condition.agent.a.text": {"other": "it runs"}, "condition.sources.b.text": {"other": "{subject}"}, "condition.sources.b.remedy": {"other": "look"},
		"condition.sources.c.text": {"other": "bad"}, "condition.sources.c.remedy": {"other": "do"},
	})}
	var b strings.Builder
	require.NoError(t, printFindings(&b, say, []health.Condition{
		of("agent.a", health.OK), of("sources.b", health.Warning), of("sources.c", health.Problem),
	}))
	require.Equal(t, `agent
  ok       It runs.
sources
  warning  Odd�[31m.
           -> Look.
  problem  Bad.
           -> Do.

problems: 1, warnings: 1
`, b.String())
	b.Reset()
	require.NoError(t, printFindings(&b, say, []health.Condition{of("agent.a", health.OK)}))
	require.Contains(t, b.String(), "\nnothing is wrong, warnings: 0\n")
}

// asJSON is a path as JSON has it.
func asJSON(path string) string { return strings.ReplaceAll(path, `\`, `\\`) }

// TestDoctorReadsFiles: mistakes in files are findings, with their place; those of the command
// line are bad input.
func TestDoctorReadsFiles(t *testing.T) {
	t.Parallel()
	endpoints := write(t, "endpoints.json", `{"endpoints": [{"id": "mic", "type": "audioinput", "name": "Acme", "bus": "usb", "vid": "1209", "pid": "0700", "mute": true}]}`)
	alone := []string{"doctor", "--control-socket", filepath.Join(t.TempDir(), "none"), "--sources-audio=false", "--sources-camera=false", "--sources-files", endpoints}
	ask := func(args ...string) (doctorAnswer, string) {
		t.Helper()
		o := sidetone(t, nil, append(append(alone, "--json"), args...)...)
		require.Equal(t, exitFailed, o.code, o.stderr)
		require.Empty(t, o.stderr)
		var a doctorAnswer
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &a), o.stdout)
		require.False(t, a.OK)
		return a, o.stdout
	}
	bad, settings := acme(t, "priority: 1", "priority: first"), write(t, "config.yaml", "rpc:\n  transports: [pigeon]\n")
	_, out := ask("--catalogue", bad, "--config", settings)
	require.Contains(t, out, asJSON(bad)+":20:15: ")
	require.Contains(t, out, asJSON(settings)+":2:16: ")
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	_, out = ask("--catalogue", missing)
	require.Contains(t, out, asJSON(missing)+": cannot read the file, ")

	a, out := ask("--catalogue", acme(t, "schema: 1", "schema: 1"))
	id := "Acme"
	if runtime.GOOS == "windows" { // where clients know a microphone by its id, not by its name
		id = "mic"
	}
	require.Contains(t, out, `\"`+id+`\" is muted, by the button or in the sound settings (os_endpoint_mute`)
	for _, f := range a.Findings {
		require.True(t, f.Severity != health.Problem || f.Step == "agent", f)
	}
	require.NotContains(t, out, "SIDETONE_PORTS")
	other := sidetone(t, []string{"SIDETONE_PORTS=6500"}, append(alone, "--json")...)
	require.Contains(t, other.stdout, "SIDETONE_PORTS", "a variable that no setting has")
	require.NotContains(t, other.stdout, "6500", "it may be a secret of another program")
	isBadInput(t, sidetone(t, nil, append(alone, "--rpc-ports", "0")...), "--rpc-ports")
	isBadInput(t, sidetone(t, nil, append(alone, "--config", missing)...), missing)
	isBadInput(t, sidetone(t, nil, append(alone, "--config", settings, "--report-id-max-bytes", "1")...), "--report-id-max-bytes")
	isBadInput(t, sidetone(t, nil, "doctor", "headset"), `"headset"`)
}
