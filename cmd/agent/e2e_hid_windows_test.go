package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/hid"
	"sidetone/internal/platform/hidio"
	"sidetone/internal/testlab/ipctest"
	"sidetone/internal/testlab/standin"
)

// switchHeadset has a telephony interface in which Phone Mute is a switch that stays.
var switchHeadset = standin.HID{
	VID: 0x1209, PID: 0x0700, Interface: 3, Serial: "A700-0001", Container: "{11223344-5566-7788-99aa-bbccddeeff00}", Name: "Acme Headset 700",
	Descriptor: []byte("\x05\x0b\x09\x05\xa1\x01\x85\x01\x15\x00\x25\x01\x75\x01\x95\x01\x09\x2f\x81\x22\x95\x07\x81\x03" + standin.Control + "\xc0"),
}

const switchMicrophone = `endpoints:
  - {id: mic, type: audioinput, name: Microphone (Acme Headset 700), bus: usb, vid: "1209", pid: "0700", serial: A700-0001,
     container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}"}
`

const switchSpeaker = `  - {id: speaker, type: audiooutput, name: Speaker (Acme Headset 700), bus: usb, vid: "1209", pid: "0700", serial: A700-0001,
     container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}"}
`

// winDesk is an agent beside a fake client, with the local API on a pipe of its own.
type winDesk struct {
	t         *testing.T
	env       []string
	client    *fakeserver.Server
	endpoints string // the file of them
	agent     *exec.Cmd
}

func newWinDesk(t *testing.T, env ...string) *winDesk {
	client, err := fakeserver.Start(fakeserver.Options{
		Ports: []int{ipctest.Port(t)}, IPCDir: ipctest.Folder(t), ClientIDs: []string{"123456789012345678"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	catalogue, err := filepath.Abs("../../examples/acme.yaml")
	require.NoError(t, err)
	d := &winDesk{t: t, client: client, endpoints: write(t, "endpoints.yaml", switchMicrophone)}
	d.env = append(privateEnv(t, nil, "SIDETONE_CATALOGUE="+catalogue, "SIDETONE_CONTROL_SOCKET="+ipctest.Folder(t), "SIDETONE_SOURCES_AUDIO=false",
		"SIDETONE_SOURCES_FILES="+d.endpoints, "SIDETONE_RPC_TOKENS=1000",
		"SIDETONE_RPC_PORTS="+strconv.Itoa(client.Port()), "LOCALAPPDATA="+t.TempDir()), env...)
	return d
}

// start starts the agent, which is killed when the test ends.
func (d *winDesk) start() {
	log := newLines()
	cmd := child(d.t, d.env, "run")
	d.agent = cmd
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(d.t, cmd.Start())
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if d.t.Failed() {
			all, _ := log.snapshot()
			d.t.Logf("the agent's log:\n%s", strings.Join(all, "\n"))
		}
	})
}

// says waits until the client has this hardware mute of the microphone.
func (d *winDesk) says(what string, wanted func(*bool) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(deadline(d.t), patience)
	defer cancel()
	require.NoError(d.t, d.client.Wait(ctx, func(list []fakeserver.Device) bool {
		return len(list) == 1 && wanted(list[0].HardwareMute)
	}), "never at the client: %s; it has %+v", what, d.client.Devices())
}

func (d *winDesk) ask(args ...string) output {
	d.t.Helper()
	o := runToEnd(d.t, child(d.t, d.env, args...))
	require.Equal(d.t, exitOK, o.code, "%v: %s%s", args, o.stdout, o.stderr)
	return o
}

// TestHIDUnderWine presses the mute button of a headset: what it says is at the client, in status and in explain, and a recording of it
// replays.
func TestHIDUnderWine(t *testing.T) {
	headset := switchHeadset.Plug(t)
	d := newWinDesk(t)
	d.start()
	unknown := func(m *bool) bool { return m == nil }
	muted := func(m *bool) bool { return m != nil && *m }
	unmuted := func(m *bool) bool { return m != nil && !*m }
	d.says("no mute", unknown)

	recording := filepath.Join(t.TempDir(), "hid.jsonl")
	recorder := child(t, d.env, "record", recording, "--for", "5s")
	require.NoError(t, recorder.Start())
	require.Eventually(t, func() bool { info, err := os.Stat(recording); return err == nil && info.Size() > 0 }, patience, patience/1000)
	headset.Send("\x01\x01")
	d.says("true", muted)
	headset.Send("\x01\x00")
	d.says("false", unmuted)
	headset.Send("\x01\x01")
	d.says("true", muted)
	require.NoError(t, recorder.Wait())
	text, err := os.ReadFile(recording)
	require.NoError(t, err)
	require.Contains(t, string(text), `"happening":"report"`)
	d.ask("replay", recording)

	node := headset.Instance()
	require.Contains(t, d.ask("status").stdout, "hid_usage ("+node+")")
	require.Contains(t, d.ask("explain", "mic").stdout, "hid_usage ("+node+")")
	require.Regexp(t, `(?s)HID devices.*Acme Headset 700 +1209:0700, interface 3.*acme-headset-700 sources\[0\] +true`, d.ask("status").stdout)
	require.Contains(t, runToEnd(t, child(t, d.env, "doctor")).stdout, "The HID device "+node)

	headset.Unplug()
	d.says("no mute, since what the device has said ends with it", unknown)
	headset = switchHeadset.Plug(t)
	require.Eventually(t, func() bool {
		headset.Send("\x01\x01") // what it sends before it is opened nobody hears
		list := d.client.Devices()
		return len(list) == 1 && muted(list[0].HardwareMute)
	}, patience, patience/1000)
}

// askedMute is a mute that a device without an answer is asked for.
const askedMute = `schema: 1
vendor: {id: acme, name: Acme Audio, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Acme Headset 700
    url: https://acme.example/headset-700
    priority: 1
    allow_write: true
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}, {type: audiooutput}]
    sources:
      - {field: hardware_mute, hid_report: {report_id: 0x01, value: {byte: 1, mask: 0x01}}}
      - {field: hardware_mute, hid_query: {feature: "06", value: {byte: 1, mask: 0x01}}}
`

// TestADriverThatHangs has the agent ask a device whose driver neither answers nor lets itself be stopped: the mute is unknown, the agent
// hears of everything else, and ends in order.
func TestADriverThatHangs(t *testing.T) {
	switchHeadset.Plug(t)
	d := newWinDesk(t, "SIDETONE_CATALOGUE="+write(t, "acme.yaml", askedMute))
	d.start()
	require.Eventually(t, func() bool {
		o := runToEnd(t, child(t, d.env, "status"))
		return strings.Contains(o.stdout, "the device did not answer the request of this rule")
	}, patience, patience/1000)
	d.says("no mute", func(m *bool) bool { return m == nil })
	require.NoError(t, os.WriteFile(d.endpoints, []byte(switchMicrophone+switchSpeaker), 0o600))
	ctx, cancel := context.WithTimeout(deadline(t), patience)
	defer cancel()
	require.NoError(t, d.client.Wait(ctx, func(list []fakeserver.Device) bool { return len(list) == 2 }))
	d.ask("stop")
	require.NoError(t, d.agent.Wait())
	require.Empty(t, d.client.Devices())
}

// TestLearnUnderWine learns through the real source, by the node's name.
func TestLearnUnderWine(t *testing.T) {
	fake := switchHeadset
	fake.Descriptor = append(append(ownReport[:len(ownReport)-1:len(ownReport)-1], standin.Control...), 0xc0)
	headset := fake.Plug(t)
	heard := make(chan hid.Event, 100)
	d := newTuition(t, strings.ToLower(fake.Instance()), "", func(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error) {
		return hidio.New("", hidio.Any(want), func(e hid.Event) { handle(e); heard <- e }, slog.New(slog.DiscardHandler))
	})
	d.send = func(report []byte) {
		headset.Send(string(report) + "\x00") // Wine drops a report that is shorter than declared
		for {
			select {
			case e := <-heard:
				if e.Kind == hid.Report { // it is recorded
					return
				}
			case err := <-d.done:
				require.Fail(t, "it has ended", err)
			}
		}
	}
	d.enter("NOT muted")
	d.enter("everything but mute")
	for range 2 {
		d.press("IS muted", 1)
		d.press("is NOT muted", 0)
	}
	require.NoError(t, d.end())
	require.Contains(t, d.out.String(), "hid_report: {report_id: 0x07, value: {byte: 2, mask: 0x01}}\n")
}
