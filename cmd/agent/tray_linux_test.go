package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTrayIsAProgramBesideThisOne: the verb finds it by its own name, tells it which agent is meant, and becomes it.
func TestTrayIsAProgramBesideThisOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	agent := filepath.Join(folder, "acme-agent")
	env := []string{brandEnv + "=" + agent, "XDG_RUNTIME_DIR=" + folder}
	o := sidetone(t, env, "tray", "--vendor=acme")
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "the tray is a program of its own, and is not there: "+agent+"-tray: install it beside acme-agent")

	writeProgram(t, agent+"-tray", []byte("#!/bin/sh\necho $0\nprintf '%s\\n' \"$@\"\nexit 7\n"))
	o = sidetone(t, env, "tray", "--vendor=acme", "--lang=de")
	require.Equal(t, 7, o.code, o.stderr)
	require.Equal(t, agent+"-tray\n--address="+folder+"/sidetone/acme/agent.sock\n--lang=de\n--icon=\n--\n--vendor=acme\n", o.stdout)

	settings := write(t, "settings.yaml", "vendor: beta\n")
	o = sidetone(t, env, "tray", "--config", settings)
	require.Contains(t, o.stdout, "--address="+folder+"/sidetone/beta/agent.sock\n")
	require.Contains(t, o.stdout, "--\n--config="+settings+"\n")

	o = sidetone(t, append(env, "SIDETONE_VENDOR=beta"), "tray")
	require.Contains(t, o.stdout, "--\n--vendor=beta\n", "what it starts means the same agent, whatever else runs")

	for fault, args := range map[string][]string{
		"--icon: want light or dark":                   {"--vendor=acme", "--icon=red"},
		`no language "tlh"`:                            {"--vendor=acme", "--lang=tlh"},
		"whose agent is meant is not known while none": nil,
	} {
		o = sidetone(t, env, append([]string{"tray"}, args...)...)
		require.Equal(t, exitBadInput, o.code, fault)
		require.Contains(t, o.stderr, fault)
	}
}
