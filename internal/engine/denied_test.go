package engine

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// deniable is an Engine with a headset that reports its mute in report 2, is pressed in report 1, and answers by report 4 whether noise
// suppression is on.
type deniable struct {
	*Engine
	asked []hid.Request
}

func (d *deniable) report(data ...byte) { d.reportSince(0, data...) }

// reportSince delivers a report that may have been sent up to some time ago, and waits for the debounce time.
func (d *deniable) reportSince(ago time.Duration, data ...byte) {
	d.HID(hid.Event{Kind: hid.Report, Node: "hidraw0", Data: data, At: time.Now(), Since: time.Now().Add(-ago)})
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

func (d *deniable) answer(value byte) {
	for _, r := range d.asked {
		d.HID(hid.Event{Kind: hid.Answer, Node: r.Node, Request: r.ID, Data: []byte{4, value}, At: time.Now()})
	}
	d.asked = nil
}

func (d *deniable) see(mute devices.Tri) {
	m := mic(mute)
	m.Container = "usb:1-2"
	d.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{m}})
}

// A level that the device reports, without being asked and after a push, ends the push: software that has crashed said what was so before.
// Nothing else does.
func TestTheDeviceItselfEndsAPush(t *testing.T) {
	const muted, unmuted = 0x80, 0
	for name, c := range map[string]struct {
		then  func(d *deniable)
		ended bool
		only  string // how the mute is known before; "": in either way
	}{
		"it reports the contrary":              {func(d *deniable) { d.report(2, unmuted) }, true, ""},
		"it reports the same":                  {func(d *deniable) { d.report(2, muted) }, false, ""},
		"it may have reported before the push": {func(d *deniable) { d.reportSince(2*time.Second, 2, unmuted) }, false, ""},
		"it reports the contrary only for a bounce": {func(d *deniable) {
			d.HID(hid.Event{Kind: hid.Report, Node: "hidraw0", Data: []byte{2, unmuted}, At: time.Now()})
			d.report(2, muted)
		}, false, "known as muted"},
		"its button is pressed": {func(d *deniable) { d.report(1, 1) }, false, ""},
		"the system's mute":     {func(d *deniable) { d.see(devices.False) }, false, ""},
		"it answers a question": {func(d *deniable) {
			d.report(3, 1) // asks
			d.answer(0)
		}, false, ""},
		"it reports while it is asked something else": {func(d *deniable) {
			d.report(3, 1)
			d.report(2, unmuted)
		}, true, ""},
		"another headset reports it": {func(d *deniable) {
			d.HID(hid.Event{Kind: hid.Attached, Node: "hidraw1", At: time.Now(), Device: &hid.Device{
				Node: "hidraw1", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:9", Descriptor: replayDescriptor,
			}})
			d.HID(hid.Event{Kind: hid.Report, Node: "hidraw1", Data: []byte{2, unmuted}, At: time.Now()})
		}, false, ""},
	} {
		for before, was := range map[string]byte{"known as muted": muted, "known as not muted": unmuted} {
			if c.only != "" && c.only != before {
				continue
			}
			t.Run(name+", "+before, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &deniable{}
					d.Engine = New(Options{
						Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler),
						Ask: func(r hid.Request) { d.asked = append(d.asked, r) },
					})
					go d.Run(t.Context())
					d.see(devices.True)
					d.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
						Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-2", Descriptor: replayDescriptor,
					}})
					d.answer(1)
					d.report(3, 1)
					d.answer(1)
					d.report(2, was)
					_, err := d.Push(suite(24*time.Hour, flags{
						devices.HardwareMute: devices.True, devices.NoiseSuppression: devices.True, devices.EchoCancellation: devices.True,
					}))
					require.NoError(t, err)
					time.Sleep(time.Second)
					c.then(d)
					time.Sleep(time.Minute)
					synctest.Wait()
					leases := d.View().Leases
					require.Len(t, leases, 1)
					for _, f := range []devices.Field{devices.HardwareMute, devices.NoiseSuppression, devices.EchoCancellation} {
						_, said := leases[0].State[f]
						require.Equal(t, f == devices.HardwareMute && c.ended, !said, f)
					}
					if !c.ended {
						return
					}
					require.Equal(t, devices.False, d.View().Snapshot.Devices[0].Flags[devices.HardwareMute].Value)
					_, err = d.Push(suite(24*time.Hour, muteOn))
					require.NoError(t, err)
					require.Equal(t, devices.True, d.View().Snapshot.Devices[0].Flags[devices.HardwareMute].Value, "said after the report")
				})
			})
		}
	}
}
