package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/testlab"
)

// saying answers as an agent whose status is the newest of those that it is given.
type saying struct {
	mu      sync.Mutex
	status  control.Status
	changed chan struct{}
}

func (a *saying) say(s control.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = s
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *saying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for {
		a.mu.Lock()
		status, changed := a.status, a.changed
		a.mu.Unlock()
		if json.NewEncoder(w).Encode(control.Change{Status: status}) != nil || http.NewResponseController(w).Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// TestTrayFollowsAnUpgrade: the program that a package has put in the tray's place takes it over when the agent is another one, too.
func TestTrayFollowsAnUpgrade(t *testing.T) {
	d := newDesk(t)
	agent := &saying{status: control.Status{PID: 1, Version: version}, changed: make(chan struct{})}
	tray := d.trayOf(agent)
	status := func(version, product string) control.Status {
		return control.Status{PID: 1, Version: version, Products: []control.Product{{Unit: "1", Name: product}}}
	}
	icon := <-d.icons
	shows := func(text string) {
		t.Helper()
		testlab.Eventually(t, "the menu shows "+text, func() bool { return d.rows(icon)[text] != 0 })
	}
	agent.say(status("2.0.0", "of another version"))
	shows("of another version")

	program := d.agent + "-tray"
	text, err := os.ReadFile(program)
	require.NoError(t, err)
	next := filepath.Join(d.home, "next")
	require.NoError(t, os.WriteFile(next, text, 0o700))
	require.NoError(t, os.Chtimes(next, time.Time{}, time.Unix(1, 0)))
	require.NoError(t, os.Rename(next, program))
	agent.say(status(version, "of the same version"))
	shows("of the same version")
	require.Empty(t, d.icons, "neither alone is an upgrade")

	agent.say(status("2.0.0", "of another version"))
	icon = <-d.icons
	agent.say(status("2.0.0", "of the new program"))
	shows("of the new program")
	running, err := os.Readlink("/proc/" + strconv.Itoa(tray.Process.Pid) + "/exe")
	require.NoError(t, err)
	require.Equal(t, program, running, "it is the same process, with the program that is on disk")
}
