package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
	"sidetone/internal/soundlab"
)

const clientID = "123456789012345678" // of examples/acme.yaml

var headset700 = soundlab.Headset{
	Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Audio", VID: "1209", PID: "0700", Serial: "A700-0001",
}

// transports are those over which a test runs where the transport matters.
var transports = []rpcclient.Transport{rpcclient.WebSocket, rpcclient.HTTP}

// desk is the agent as a process between a real sound server and a fake client.
type desk struct {
	t         *testing.T
	ctx       context.Context
	sound     *soundlab.Server
	client    *fakeserver.Server
	catalogue string
	env       []string

	cmd   *exec.Cmd
	log   *lines
	ended chan struct{}
	read  int // lines of the log that wait has been through
}

// newDesk prepares everything but starts no agent. Settings are in the form NAME=value of the
// environment.
func newDesk(t *testing.T, sound *soundlab.Server, settings ...string) *desk {
	t.Helper()
	catalogue, err := filepath.Abs("../../examples/acme.yaml")
	require.NoError(t, err)
	d := &desk{t: t, ctx: deadline(t), sound: sound, catalogue: catalogue, env: settings}
	d.client, err = fakeserver.Start(fakeserver.Options{Ports: []int{0}, ClientIDs: []string{clientID}})
	require.NoError(t, err)
	t.Cleanup(func() { d.client.Close() })
	return d
}

// start starts the agent.
func (d *desk) start() {
	d.t.Helper()
	env := privateEnv(d.t, d.sound.Env(), "SIDETONE_LOG_FORMAT=json", fmt.Sprintf("SIDETONE_RPC_PORTS=%d", d.client.Port()))
	d.cmd = child(d.t, append(env, d.env...), "run", "--catalogue", d.catalogue)
	d.log, d.ended, d.read = newLines(), make(chan struct{}), 0
	d.cmd.Stdout, d.cmd.Stderr = d.log, d.log
	require.NoError(d.t, d.cmd.Start())
	cmd, log, ended := d.cmd, d.log, d.ended
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if d.t.Failed() {
			all, _ := log.snapshot()
			d.t.Logf("the agent's log:\n%s", join(all))
		}
	})
}

func join(all []string) string {
	var out []byte
	for _, line := range all {
		out = append(append(out, line...), '\n')
	}
	return string(out)
}

// running starts an agent on a fresh desk.
func running(t *testing.T, sound *soundlab.Server, settings ...string) *desk {
	t.Helper()
	d := newDesk(t, sound, settings...)
	d.start()
	return d
}

func over(tr rpcclient.Transport) string { return "SIDETONE_RPC_TRANSPORT=" + string(tr) }

// plug plugs a headset in.
func (d *desk) plug(h soundlab.Headset) *soundlab.Plugged {
	d.t.Helper()
	p, err := d.sound.PlugHeadset(d.ctx, h)
	require.NoError(d.t, err)
	return p
}

func (d *desk) mute(p *soundlab.Plugged, on bool) {
	d.t.Helper()
	require.NoError(d.t, p.SetMute(d.ctx, on))
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

// entry is one line of the agent's log.
type entry map[string]any

func (e entry) msg() string { s, _ := e["msg"].(string); return s }

// logged waits for a line with one of the messages, after the one that the last call returned.
func (d *desk) logged(msgs ...string) entry {
	d.t.Helper()
	limit := time.After(patience)
	for {
		all, more := d.log.snapshot()
		for d.read < len(all) {
			e := d.parse(all[d.read])
			d.read++
			if slices.Contains(msgs, e.msg()) {
				return e
			}
		}
		select {
		case <-more:
		case <-limit:
			require.FailNow(d.t, "never logged", "%q", msgs)
		}
	}
}

// parse reads a line of the log. Anything but the log's own lines, such as a complaint of the
// race detector, fails the test.
func (d *desk) parse(line string) entry {
	d.t.Helper()
	var e entry
	require.NoError(d.t, json.Unmarshal([]byte(line), &e), "not a line of the log: %s", line)
	return e
}

func (d *desk) signal(s syscall.Signal) {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(s))
}

// exit waits for the agent's end, which must be orderly.
func (d *desk) exit() {
	d.t.Helper()
	select {
	case <-d.ended:
	case <-time.After(patience):
		require.FailNow(d.t, "the agent does not end")
	}
	require.Equal(d.t, exitOK, d.cmd.ProcessState.ExitCode(), "%s", d.cmd.ProcessState)
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
	var taken []fakeserver.Payload
	for _, p := range d.client.Payloads() {
		if p.Err == nil {
			taken = append(taken, p)
		}
	}
	d.read = 0
	for _, p := range taken {
		e := d.logged("reported", "full list sent")
		if e.msg() == "reported" {
			require.NotEmpty(d.t, e["what"], e)
			require.Positive(d.t, e["after the event"], e)
		}
		require.EqualValues(d.t, len(p.Devices), e["devices"], e)
		require.EqualValues(d.t, p.Transport, e["sent to"], e)
		require.Positive(d.t, e["port"], e)
		require.Positive(d.t, e["answered in"], e)
	}
	all, _ := d.log.snapshot()
	for _, line := range all[d.read:] {
		require.NotContains(d.t, []string{"reported", "full list sent"}, d.parse(line).msg(), "a line more than lists: %s", line)
	}
}

// ready waits until the agent has a WebSocket to the client.
func (d *desk) ready() {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.ctx, patience)
	defer cancel()
	require.NoError(d.t, d.client.WaitStats(ctx, func(st fakeserver.Stats) bool { return st.Ready == 1 }))
}
