package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

const clientID = "123456789012345678" // of examples/acme.yaml

var headset700 = testlab.Headset{
	Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
}

// transports are those over which a test runs where the transport matters.
var transports = []rpcclient.Transport{rpcclient.IPC, rpcclient.WebSocket, rpcclient.HTTP}

// desk is the agent as a process between a real sound server and a fake client in this process.
type desk struct {
	*agentRun
	client *fakeserver.Server
}

// newDesk prepares everything but starts no agent. Settings are in the form NAME=value of the
// environment. The client counts no tokens, and neither does the agent: pacing has tests of
// its own.
func newDesk(t *testing.T, sound *testlab.SoundServer, settings ...string) *desk {
	t.Helper()
	a := newAgentRun(t, sound, append([]string{"SIDETONE_RPC_TOKENS=1000"}, settings...)...)
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{ipctest.Port(t)}, IPCDir: a.folder, ClientIDs: []string{clientID}})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	a.ports = []int{client.Port()}
	return &desk{agentRun: a, client: client}
}

// running starts an agent on a fresh desk.
func running(t *testing.T, sound *testlab.SoundServer, settings ...string) *desk {
	t.Helper()
	d := newDesk(t, sound, settings...)
	d.start()
	return d
}

func over(tr ...rpcclient.Transport) string {
	names := make([]string, len(tr))
	for i, t := range tr {
		names[i] = string(t)
	}
	return "SIDETONE_RPC_TRANSPORTS=" + strings.Join(names, ",")
}

// has waits until the client's list is as wanted.
func (d *desk) has(what string, wanted func([]fakeserver.Device) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	err := d.client.Wait(ctx, wanted)
	require.NoError(d.t, err, "never at the client: %s; it has %s", what, text(d.client.Devices()))
}

// hasList waits until the client's list is exactly this one.
func (d *desk) hasList(devices ...fakeserver.Device) {
	d.t.Helper()
	want := text(devices)
	d.has(want, func(list []fakeserver.Device) bool { return text(list) == want })
}

func (d *desk) hasNone() {
	d.t.Helper()
	d.has("an empty list", func(list []fakeserver.Device) bool { return list != nil && len(list) == 0 })
}

func (d *desk) hasMute(on bool) {
	d.t.Helper()
	d.has(fmt.Sprintf("hardware_mute %t", on), func(list []fakeserver.Device) bool {
		return slices.ContainsFunc(list, func(d fakeserver.Device) bool { return d.HardwareMute != nil && *d.HardwareMute == on })
	})
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// stop ends the agent in order and looks at everything that it has said and sent.
func (d *desk) stop() {
	d.t.Helper()
	d.everyChangeIsLogged()
	d.signal(syscall.SIGTERM)
	d.exit()
	require.Empty(d.t, d.client.Devices(), "an orderly end leaves an empty list")
	d.spotless()
}

// spotless requires that the client had no cause for a remark, and that nothing was sent
// twice over one connection.
func (d *desk) spotless() {
	d.t.Helper()
	last := make(map[int]string) // by connection
	for _, p := range d.client.Payloads() {
		require.Empty(d.t, p.Warnings, "payload %d: %s", p.Seq, p.Raw)
		if p.Fault != fakeserver.FaultNone {
			continue
		}
		require.NoError(d.t, p.Err, "payload %d: %s", p.Seq, p.Raw)
		list := text(p.Devices)
		require.NotEqual(d.t, last[p.Conn], list, "payload %d says nothing new: %s", p.Seq, p.Raw)
		last[p.Conn] = list
	}
}

// everyChangeIsLogged requires one line for each list that the client has accepted, and that
// it says what changed, to whom that was sent and how long it took.
func (d *desk) everyChangeIsLogged() {
	d.t.Helper()
	taken := d.accepted()
	d.read = 0
	for _, p := range taken {
		e := d.logged("reported", "full list sent")
		if e.msg() == "reported" {
			require.NotEmpty(d.t, e["what"], e)
			require.Positive(d.t, e["after the event"], e)
		}
		require.EqualValues(d.t, len(p.Devices), e["devices"], e)
		d.names(e, p.Transport)
		require.Positive(d.t, e["answered in"], e)
	}
	all, _ := d.log.snapshot()
	if len(d.accepted()) > len(taken) { // the sound server has changed a mute meanwhile
		d.everyChangeIsLogged()
		return
	}
	for _, line := range all[d.read:] {
		require.NotContains(d.t, []string{"reported", "full list sent"}, d.parse(line).msg(), "a line more than lists: %s", line)
	}
}

// accepted are the payloads that the client has accepted.
func (d *desk) accepted() (list []fakeserver.Payload) {
	for _, p := range d.client.Payloads() {
		if p.Err == nil {
			list = append(list, p)
		}
	}
	return list
}

// names requires that a line says to whom a list went, and how. The client's process is this one.
func (d *desk) names(e entry, tr fakeserver.Transport) {
	d.t.Helper()
	require.EqualValues(d.t, tr, e["sent to"], e)
	if tr == fakeserver.IPC {
		require.Equal(d.t, d.client.IPCPath(), e["socket"], e)
	} else {
		require.Positive(d.t, e["port"], e)
	}
	name, err := os.ReadFile("/proc/self/comm")
	require.NoError(d.t, err)
	require.Equal(d.t, program(strings.TrimSpace(string(name)), os.Getpid()), e["client"], e)
}

// ready waits until the agent has an open connection on which the client has greeted it.
func (d *desk) ready() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	require.NoError(d.t, d.client.WaitStats(ctx, func(st fakeserver.Stats) bool { return st.Ready == 1 }))
}
