package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
)

// pid returns the process of the agent that runs; 0: none.
func (d *winDesk) pid() int {
	d.t.Helper()
	var st control.Status
	if out := runToEnd(d.t, child(d.t, d.env, "status", "--json")); json.Unmarshal([]byte(out.stdout), &st) != nil {
		return 0
	}
	return st.PID
}

// TestUpgradeOnWindows: without a supervisor the agent starts the program on disk. The next agent gets the name of the pipe while other
// programs have connections to it, twice in a row; clients keep their devices, and no mute.
func TestUpgradeOnWindows(t *testing.T) {
	d := newWinDesk(t)
	d.start()
	d.says("a microphone", func(*bool) bool { return true })
	d.ask("push", "acme-headset-700", "hardware_mute=true", "--ttl", "10m")
	d.says("muted", func(m *bool) bool { return m != nil && *m })
	watcher := child(t, d.env, "watch")
	require.NoError(t, watcher.Start())
	defer func() {
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
	}()
	was := d.pid()
	for range 2 {
		d.ask("upgrade")
		require.Eventually(t, func() bool {
			now := d.pid()
			if now == 0 || now == was {
				return false
			}
			was = now
			return true
		}, patience, 100*time.Millisecond)
		d.says("not muted", func(m *bool) bool { return m == nil })
	}
	for _, p := range d.client.Payloads() {
		require.NotEmpty(t, p.Devices, "no list was emptied")
	}
	d.ask("stop")
	require.Eventually(t, func() bool { return len(d.client.Devices()) == 0 }, patience, patience/1000)
}
