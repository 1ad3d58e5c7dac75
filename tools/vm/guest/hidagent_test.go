//go:build vmtest

package guest

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/control"
	"sidetone/internal/testlab"
	"sidetone/tools/fakehid"
	"sidetone/tools/fakeusb"
)

// The agent and HID devices: what is pressed on a device arrives at the client.

// saying is what the client should know of a headset whose mute only HID tells; nil: nobody knows it.
func (d *device) saying(mute *bool) []fakeserver.Device {
	d.t.Helper()
	microphone, speaker := d.source(false).description, d.sinks()[0].description
	return []fakeserver.Device{
		{Type: fakeserver.AudioInput, ID: microphone, Vendor: acme, Model: headset700, Related: []string{speaker}, HardwareMute: mute},
		{Type: fakeserver.AudioOutput, ID: speaker, Vendor: acme, Model: headset700, Related: []string{microphone}},
	}
}

var (
	on, off     = true, false
	muted       = &on
	unmuted     = &off
	unknownMute *bool
)

// withSources is a catalogue in which the headset has these keys and no others.
func withSources(keys string) string {
	return `
schema: 1
vendor: {id: acme, name: Acme Audio, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Acme Headset 700
    url: https://acme.example/headset-700
    priority: 1
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
    endpoints: [{type: audioinput}, {type: audiooutput}]
` + keys
}

// agentSays returns what a verb of the command line prints.
func agentSays(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, "./sidetone", args...)
}

// agentReads waits until the agent has opened a hidraw node: what a device sends before, nobody hears.
func agentReads(t *testing.T, path string) {
	t.Helper()
	testlab.Eventually(t, "the agent to read "+devNode(path), func() bool {
		var status struct {
			HID []control.HID
		}
		require.NoError(t, json.Unmarshal([]byte(agentSays(t, "status", "--json")), &status))
		return slices.ContainsFunc(status.HID, func(h control.HID) bool {
			return h.Node == filepath.Base(path) && h.Reason == nil
		})
	})
}

// plugPlain plugs in a headset without a gain control: what is reported of it is its mute alone.
func plugPlain(t *testing.T) *device {
	t.Helper()
	spec := headset()
	spec.GainControl = false
	return plug(t, 0, spec)
}

// createBeside makes a HID device of the vendor's own kind that belongs to a headset by its serial number, and waits until
// the agent reads it.
func createBeside(t *testing.T, d *device) hidDevice {
	t.Helper()
	h := createHID(t, fakehid.Options{Vendor: 0x1209, Product: 0x0700, Uniq: d.spec.Serial, Descriptor: vendorReports})
	agentReads(t, h.path)
	return h
}

// doctorSays returns what doctor finds where something is wrong.
func doctorSays(t *testing.T, catalogue string) string {
	t.Helper()
	findings, err := exec.Command("./sidetone", "doctor", "--catalogue", catalogue).Output()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", findings)
	require.Equal(t, 1, exit.ExitCode(), "%s", findings)
	return string(findings)
}

// TestMuteButtonOfTheTelephonyInterface presses mute on a USB headset whose telephony interface is part of the same USB
// device as its sound.
func TestMuteButtonOfTheTelephonyInterface(t *testing.T) {
	t.Run("a switch, with the example catalogue", func(t *testing.T) {
		spec := headset()
		spec.PhoneMute, spec.GainControl = fakeusb.PhoneMuteLevel, false
		d := plug(t, 0, spec)
		agentReads(t, d.telephony())
		expect(t, d.saying(unmuted)...) // of the sound server: the device has not shown its switch yet
		for range 2 {
			d.press(true)
			expect(t, d.saying(muted)...)
			require.False(t, d.sources()[0].mute, "the sound server does not see this button")
			d.press(false)
			expect(t, d.saying(unmuted)...)
		}
		d.press(true)
		expect(t, d.saying(muted)...)
		require.Contains(t, agentSays(t, "explain", d.sources()[0].name), "hid_usage")
		require.Empty(t, d.state().Requests, "the agent writes nothing to the device and asks it nothing")
		d.unplug()
		expect(t)
		d.replug()
		agentReads(t, d.telephony())
		expect(t, d.saying(unmuted)...)
		d.press(true)
		expect(t, d.saying(muted)...)
	})
	t.Run("two buttons", func(t *testing.T) {
		useCatalogue(t, withSources(`
    sources: [{field: hardware_mute, hid_usage: {}}]
`))
		spec := headset()
		spec.PhoneMute, spec.GainControl = fakeusb.PhoneMuteTwoButtons, false
		d := plug(t, 0, spec)
		agentReads(t, d.telephony())
		expect(t, d.saying(unknownMute)...)
		for _, press := range []bool{true, false, false, true} {
			d.press(press)
			expect(t, d.saying(&press)...)
		}
	})
	t.Run("one button, with an anchor", func(t *testing.T) {
		useCatalogue(t, withSources(`
    sources: [{field: hardware_mute, hid_usage: {anchor: {start: false}}}]
`))
		spec := headset()
		spec.PhoneMute, spec.GainControl = fakeusb.PhoneMuteMomentary, false
		d := plug(t, 0, spec)
		agentReads(t, d.telephony())
		expect(t, d.saying(unmuted)...)
		for _, want := range []*bool{muted, unmuted, muted} {
			d.press(true)
			expect(t, d.saying(want)...)
		}
		// An agent that starts later has not seen the device come, and does not guess.
		require.NoError(t, stopAgent())
		expect(t)
		var err error
		bench.agent, err = startAgent(bench.catalogue)
		require.NoError(t, err)
		expect(t, d.saying(unknownMute)...)
		require.Contains(t, doctorSays(t, bench.catalogue), "Nobody knows whether")
	})
}

// TestEncodings has a device of the vendor's own kind beside the headset's sound: it is found by its serial number.
func TestEncodings(t *testing.T) {
	onceIsEnough(t)
	type step struct {
		send   []byte // report of the device; nil: none
		answer []byte // its report when it is asked then; nil: it is not asked
		want   *bool
		gone   bool // nothing is reported of the product
	}
	for _, c := range []struct {
		name    string
		sources string
		request []byte // output report with which the agent asks; nil: it does not
		steps   []step
	}{
		{
			name: "a boom in a status report, beside the battery",
			sources: `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, when: [{byte: 2, eq: 0xb1}], value: {byte: 1, mask: 0x80}}}]
`,
			steps: []step{
				{want: unknownMute},
				{send: []byte{1, 0x80 | 77, 0xb1}, want: muted},
				{send: []byte{1, 76, 0xb1}, want: unmuted},
				{send: []byte{1, 0x80 | 76, 0x33}, want: unmuted}, // a report that the rule does not look at
			},
		},
		{
			name: "the headset is switched off while its dongle stays",
			sources: `
    link_state: [{hid_report: {report_id: 1, value: {byte: 2, on: [0xb1], off: [0x31, 0x33, 0x34]}}}]
    sources: [{field: hardware_mute, hid_report: {report_id: 1, when: [{byte: 2, eq: 0xb1}], value: {byte: 1, mask: 0x80}}}]
`,
			steps: []step{
				{send: []byte{1, 0x80, 0xb1}, want: muted},
				{send: []byte{1, 0x80, 0x33}, gone: true},
				{send: []byte{1, 0x00, 0xb1}, want: unmuted},
			},
		},
		{
			name: "a button event, anchored by another report",
			sources: `
    sources: [{field: hardware_mute, hid_report: {report_id: 1, when: [{byte: 1, eq: 2}], kind: toggle, anchor: {hid_report: {report_id: 1, when: [{byte: 1, eq: 9}], value: {byte: 2}}}}}]
`,
			steps: []step{
				{send: []byte{1, 2, 0}, want: unknownMute},
				{send: []byte{1, 9, 1}, want: muted},
				{send: []byte{1, 2, 0}, want: unmuted},
				{send: []byte{1, 2, 0}, want: muted},
			},
		},
		{
			name: "the answer to a request",
			sources: `
    allow_write: true
    sources:
      - field: hardware_mute
        hid_query: {output: ["02 66"], expect: [{byte: 1, eq: 0x66}], value: {byte: 2, on: [1], off: [0xff]}, ask_on: [{byte: 1, eq: 0x70}], timeout_ms: 10000}
`,
			request: []byte{2, 0x66},
			steps: []step{
				{answer: []byte{1, 0x66, 0x01}, want: muted},
				{send: []byte{1, 0x70, 0}, answer: []byte{1, 0x66, 0xff}, want: unmuted}, // it says that it has changed, and not how
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			useCatalogue(t, withSources(c.sources))
			d := plugPlain(t)
			h := createBeside(t, d)
			asked := 0
			for i, s := range c.steps {
				if s.send != nil {
					require.NoError(t, h.Send(s.send))
				}
				if s.answer != nil {
					testlab.Eventually(t, "a request of the agent", func() bool { return len(h.Requests()) > asked })
					for _, r := range h.Requests()[asked:] {
						require.Equal(t, fakehid.Output, r.Kind)
						require.Equal(t, c.request, r.Report)
						asked++
					}
					require.NoError(t, h.Send(s.answer))
				}
				if s.gone {
					expect(t)
					continue
				}
				t.Logf("step %d", i)
				expect(t, d.saying(s.want)...)
			}
			if c.request == nil {
				require.Empty(t, h.Requests(), "nothing is written to a device without allow_write")
			}
		})
	}
}

// TestDeviceGoesWhileTheAgentReads pulls a device that reports without a pause out from under the agent.
func TestDeviceGoesWhileTheAgentReads(t *testing.T) {
	onceIsEnough(t)
	useCatalogue(t, withSources(`
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`))
	d := plugPlain(t)
	for range 3 {
		h := createBeside(t, d)
		require.NoError(t, h.Send([]byte{1, 1, 0}))
		expect(t, d.saying(muted)...)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := byte(0); ; i++ {
				select {
				case <-stop:
					return
				default:
					_ = h.Send([]byte{1, 1, i}) // it may be gone
				}
			}
		}()
		time.Sleep(50 * time.Millisecond) // somewhere in the middle
		require.NoError(t, h.Destroy())
		close(stop)
		<-stopped
		expect(t, d.saying(unknownMute)...)
	}
}

// TestAgentWithoutPermission: the agent says which device it may not read and what to do, and reads it as soon as it may.
func TestAgentWithoutPermission(t *testing.T) {
	onceIsEnough(t)
	run(t, "sudo", "rm", installedRules)
	run(t, "sudo", "udevadm", "control", "--reload")
	t.Cleanup(func() { require.NoError(t, installRules()) })
	spec := headset()
	spec.PhoneMute, spec.GainControl = fakeusb.PhoneMuteLevel, false
	d := plug(t, 0, spec)
	node := devNode(d.telephony())
	requireDenied(t, d.telephony())
	testlab.Eventually(t, "the agent to say so", func() bool { return strings.Contains(agentSays(t, "status"), "permission") })
	status := agentSays(t, "status")
	require.Contains(t, status, node)
	require.Contains(t, status, "udev")
	require.Contains(t, doctorSays(t, exampleCatalogue), "sidetone catalogue udev")

	require.NoError(t, installRules())
	requireGranted(t, d.telephony())
	testlab.Eventually(t, "the agent to read it", func() bool { return !strings.Contains(agentSays(t, "status"), "permission") })
	d.press(true)
	expect(t, d.saying(muted)...)
}

// TestHowLongAPressTakes shows how long a report takes to the client, and to a program that only reads it. It claims
// nothing: the machine is emulated.
func TestHowLongAPressTakes(t *testing.T) {
	onceIsEnough(t)
	useCatalogue(t, withSources(`
    sources: [{field: hardware_mute, hid_report: {report_id: 1, value: {byte: 1}}}]
`))
	d := plugPlain(t)
	h := createBeside(t, d)
	reader := readHID(t, h.path)
	lists := map[bool][]fakeserver.Device{true: sorted(d.saying(muted)), false: sorted(d.saying(unmuted))}
	var read, arrived []time.Duration
	for i := range 200 {
		mute := i%2 == 0
		begin := time.Now()
		got := make(chan time.Duration)
		go func() {
			reader.report()
			got <- time.Since(begin)
		}()
		require.NoError(t, h.Send([]byte{1, map[bool]byte{true: 1}[mute], byte(i)}))
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, bench.client.Wait(ctx, func(list []fakeserver.Device) bool { return reflect.DeepEqual(sorted(list), lists[mute]) }))
		arrived = append(arrived, time.Since(begin))
		cancel()
		read = append(read, <-got)
		time.Sleep(30 * time.Millisecond) // faster presses would be paced
	}
	t.Logf("report of a HID device, %d presses: read by a bare reader %s, in the client's list %s", len(read), spread(read), spread(arrived))
}

func spread(all []time.Duration) string {
	slices.Sort(all)
	at := func(p int) time.Duration { return all[len(all)*p/100].Round(10 * time.Microsecond) }
	return fmt.Sprintf("p50 %v p99 %v", at(50), at(99))
}
