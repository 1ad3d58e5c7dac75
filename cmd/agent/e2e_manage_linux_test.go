package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// TestManage changes the log's level, and ends the agent, from the command line.
func TestManage(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.plugForTest(headset700)
	d.start()
	d.hasList(pair("Acme Headset 700", false)...)
	_, errs, code := d.ask("log-level", "debug")
	require.Zero(t, code, errs)
	require.Equal(t, "debug", d.logged("log level changed")["level"])
	out, _, _ := d.ask("status")
	require.Contains(t, out, "log level debug")
	_, errs, code = d.ask("log-level", "loud")
	require.Equal(t, exitBadInput, code)
	require.Contains(t, errs, `no level "loud": want one of debug, info, warn, error`)

	_, errs, code = d.ask("stop")
	require.Zero(t, code, errs)
	require.Empty(t, d.client.Devices(), "when it answers, the client's list is empty")
	require.NotNil(t, d.client.Devices())
	d.exit()
}

// TestStopEmpty: who uninstalls leaves nothing in clients, whatever the user's settings say.
func TestStopEmpty(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.env = append(d.env, "SIDETONE_RPC_ON_EXIT=leave")
	d.plugForTest(headset700)
	d.start()
	d.hasList(pair("Acme Headset 700", false)...)
	// The user has made a mistake since then: an agent that runs keeps what it had, and an uninstallation must reach it.
	wrong := []string{d.setting(), "SIDETONE_RPC_ON_EXIT=nonsense"}
	o := sidetone(t, wrong, "status")
	require.Equal(t, exitBadInput, o.code, o.stderr)
	o = sidetone(t, wrong, "stop", "--empty")
	require.Zero(t, o.code, o.stderr)
	require.Contains(t, o.stderr, "sidetone: warning: settings are wrong")
	require.Contains(t, o.stderr, "SIDETONE_RPC_ON_EXIT")
	require.Empty(t, d.client.Devices())
	require.NotNil(t, d.client.Devices())
	d.exit()
}
