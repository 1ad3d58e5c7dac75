package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/control/controltest"
	"sidetone/internal/testlab"
)

// TestTrayFollowsAnUpgrade: the program that a package has put in the tray's place takes it over when the agent is another one, too.
func TestTrayFollowsAnUpgrade(t *testing.T) {
	d := newDesk(t)
	agent := controltest.NewWatch(control.Status{PID: 1, Version: version})
	tray := d.trayOf(agent)
	status := func(version, product string) control.Status {
		return control.Status{PID: 1, Version: version, Products: []control.Product{{Unit: "1", Name: product}}}
	}
	icon := <-d.icons
	shows := func(text string) {
		t.Helper()
		testlab.Eventually(t, "the menu shows "+text, func() bool { return d.rows(icon)[text] != 0 })
	}
	agent.Say(status("2.0.0", "of another version"))
	shows("of another version")

	program := d.agent + "-tray"
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	next := filepath.Join(d.home, "next")
	require.NoError(t, os.WriteFile(next, text, 0o700))
	require.NoError(t, os.Chtimes(next, time.Time{}, time.Unix(1, 0)))
	require.NoError(t, os.Rename(next, program))
	agent.Say(status(version, "of the same version"))
	shows("of the same version")
	require.Empty(t, d.icons, "neither alone is an upgrade")

	agent.Say(status("2.0.0", "of another version"))
	icon = <-d.icons
	agent.Say(status("2.0.0", "of the new program"))
	shows("of the new program")
	running, err := os.Readlink("/proc/" + strconv.Itoa(tray.Process.Pid) + "/exe")
	require.NoError(t, err)
	require.Equal(t, program, running, "it is the same process, with the program that is on disk")
}
