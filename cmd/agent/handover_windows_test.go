package main

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/control"
	"sidetone/internal/platform/ipc"
)

// mutedByPush reports whether the client's one device is muted.
func mutedByPush(list []fakeserver.Device) bool {
	return len(list) == 1 && list[0].HardwareMute != nil && *list[0].HardwareMute
}

func (d *winDesk) pid() int {
	d.t.Helper()
	var st control.Status
	require.NoError(d.t, json.Unmarshal([]byte(d.ask("status", "--json").stdout), &st))
	return st.PID
}

// address is that of the agent's local API.
func (d *winDesk) address() string {
	for _, kv := range d.env {
		if address, is := strings.CutPrefix(kv, "SIDETONE_CONTROL_SOCKET="); is {
			return address
		}
	}
	return ""
}

// TestUpgradeOnWindows: the next agent gets the name of the pipe while other programs have connections to it, twice in a row; clients keep
// their list, and pushed states stay in force.
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
	pids := map[int]bool{d.pid(): true}
	for range 2 {
		d.ask("upgrade")
		pids[d.pid()] = true
		require.True(t, mutedByPush(d.client.Devices()))
	}
	require.Len(t, pids, 3, "each is a process of its own, with a local API")
	for _, p := range d.client.Payloads() {
		require.NotEmpty(t, p.Devices, "no list was emptied")
	}
	d.ask("stop")
	require.Eventually(t, func() bool { return len(d.client.Devices()) == 0 }, patience, patience/1000)
}

// TestNextAgentThatFailsOnWindows: one that asks and ends before it has everything, or belongs to another vendor, leaves the agent that runs
// as it was.
func TestNextAgentThatFailsOnWindows(t *testing.T) {
	d := newWinDesk(t)
	d.start()
	d.says("a microphone", func(*bool) bool { return true })
	d.ask("push", "acme-headset-700", "hardware_mute=true", "--ttl", "10m")
	before := d.pid()
	dial := func(ctx context.Context) (net.Conn, error) { return ipc.DialHandover(ctx, d.address()) }
	ctx, cancel := context.WithTimeout(deadline(t), patience)
	defer cancel()
	next := control.NewClient(dial).HandoverConn()
	_, err := next.HandOver(ctx, control.HandoverRequest{Form: control.HandoverForm, Vendor: "zeta", ClientID: "123456789012345678"})
	require.ErrorContains(t, err, "this agent speaks for vendor acme")
	var known control.Handover
	require.Eventually(t, func() bool { // an upgrade that was refused may take a moment
		known, err = next.HandOver(ctx, control.HandoverRequest{Form: control.HandoverForm, Vendor: "acme", ClientID: "123456789012345678"})
		return err == nil
	}, patience, 100*time.Millisecond)
	require.Contains(t, string(known.Inputs), "acme-headset-700")
	require.NoError(t, next.Close())
	require.Eventually(t, func() bool { return runToEnd(t, child(t, d.env, "status")).code != exitFailed }, patience, 100*time.Millisecond)
	require.Equal(t, before, d.pid())
	d.says("muted", func(m *bool) bool { return m != nil && *m })
}
