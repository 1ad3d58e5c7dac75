package report

import (
	"strings"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/timeline"
)

// madeAt is when the pages of the tests are made.
var madeAt = time.Date(2026, 3, 1, 17, 42, 30, 0, time.FixedZone("CET", 3600))

// past is a ring that is told what happened, and the clock that it goes by.
type past struct {
	*timeline.Ring
	elapsed time.Duration
}

func newPast(length time.Duration) *past {
	p := &past{}
	begun := madeAt.Add(-length)
	p.Ring = timeline.NewRing(timeline.Clock{
		Now: func() time.Time { return begun.Add(p.elapsed) }, Elapsed: func() time.Duration { return p.elapsed },
	}, "1.4.0")
	return p
}

// at goes on to a moment since the beginning.
func (p *past) at(hours, minutes, seconds int) {
	p.elapsed = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
}

// set is a headset with a mute and noise suppression, as it is reported.
func set(unit, product, name string, mute, noise devices.Tri) devices.Report {
	r := devices.Report{
		Device:  devices.Device{Type: devices.AudioInput, ID: "alsa_input.usb-" + product + ".mono-fallback", Model: devices.Company{Name: name}},
		Product: product, Unit: unit, Flags: map[devices.Field]devices.Flag{
			devices.HardwareMute:     {Value: mute, Origin: devices.Origin{Via: devices.ViaHIDReport, Detail: "hidraw3"}, Since: madeAt.Add(-time.Minute)},
			devices.NoiseSuppression: {Value: noise, Origin: devices.Origin{Via: devices.ViaPush, Detail: "acme-suite"}, Since: madeAt.Add(-3 * time.Hour)},
			devices.EchoCancellation: {},
		},
	}
	if !mute.Known() {
		r.Flags[devices.HardwareMute] = devices.Flag{}
	}
	return r
}

var unreadable = health.Condition{
	Code: health.SourceUnreadable, Severity: health.Problem, Subject: "camera",
	Because: []health.Condition{{Code: health.CameraDenied, Severity: health.Warning, Args: health.Args{"reason": "permission denied", "path": "/dev/video0", "camera": "Acme Webcam"}}},
}

// workday is a day with two headsets and two clients, in which not all goes well.
func workday() Input {
	const headset, desk = "Acme Headset 700", "Acme Desk Microphone"
	p := newPast(9 * time.Hour)
	stable, ptb := timeline.Client{ID: "1", Name: "Discord", State: "connecting", Via: "ipc"}, timeline.Client{ID: "2", Name: "DiscordPTB", State: "refused"}
	see := func(all ...timeline.Client) { p.Clients(func() []timeline.Client { return all }) }
	report := func(s ...devices.Report) {
		p.Snapshot(devices.Snapshot{Devices: s})
		p.elapsed += 3 * time.Millisecond
		if stable.Holds {
			p.Acknowledged(stable, devices.Snapshot{Devices: s})
		}
	}
	first := func(mute devices.Tri) devices.Report { return set("u1", "acme-700", headset, mute, devices.True) }
	second := set("u2", "acme-desk", desk, devices.Unknown, devices.False)

	report(first(devices.Unknown))
	p.at(0, 1, 0)
	see(stable)
	stable.State, stable.Holds = "ready", true
	see(stable)
	report(first(devices.False))
	for i := range 14 {
		p.at(0, 25+23*i, i)
		report(first(devices.Of(i%2 == 0)))
	}
	p.at(5, 58, 0)
	p.Conditions([]health.Condition{unreadable})
	for i := range 60 {
		p.at(6, 0, i)
		report(first(devices.Of(i%2 == 0)))
	}
	p.at(6, 30, 0)
	report(first(devices.True), second)
	p.at(6, 50, 0)
	stable.State, stable.Holds = "slow", true
	see(stable, ptb)
	p.at(7, 10, 0)
	stable.State = "ready"
	see(stable, ptb)
	report(first(devices.False), second)
	p.at(7, 30, 0)
	p.Resumed()
	report(first(devices.Unknown), second)
	p.at(7, 52, 0)
	report(first(devices.False), second)
	p.at(8, 59, 0)
	report(first(devices.True), second)
	p.at(9, 0, 0)

	reason := health.Condition{Code: health.ClientIDRefused, Severity: health.Problem, Args: health.Args{"reason": "4000: Invalid Client ID", "client_id": "123456789012345678"}}
	return Input{Now: madeAt, Timeline: p.Timeline(), Status: control.Status{
		Version: "1.4.0", Vendor: "Acme Audio", Started: madeAt.Add(-9 * time.Hour), Generation: 41,
		Products: control.ProductsOf([]devices.Report{first(devices.True), second}),
		Clients: control.Clients{State: "ready", Sessions: []control.Session{
			{State: "ready", Transport: "ipc", Socket: "/run/user/1000/discord-ipc-0", PID: 4711, Name: "Discord", Generation: 41, Delivered: madeAt.Add(-time.Minute), Devices: 2},
			{State: "refused", Transport: "websocket", Port: 6464, PID: 4820, Name: "DiscordPTB", Reason: control.ConditionOf(&reason)},
		}},
		Conditions: control.ConditionsOf([]health.Condition{
			{Code: health.UserDefaultInput, Severity: health.Info, Subject: headset},
			unreadable,
			{
				Code: health.ClientRefuses, Severity: health.Warning, Subject: "DiscordPTB (pid 4820) over websocket on port 6464",
				Args: health.Args{"name": "DiscordPTB", "pid": "4820", "transport": "websocket", "port": "6464"}, Because: []health.Condition{reason},
			},
		}),
	}}
}

// hostile is a page in which every text that others choose is this.
func hostile(text string) Input {
	p := newPast(time.Hour)
	client := timeline.Client{ID: "1", Name: text, State: "ready", Via: text, Holds: true}
	condition := health.Condition{Code: health.SourceUnreadable, Severity: health.Problem, Subject: text, Because: health.Explained(text)}
	device := set("u1", text, text, devices.True, devices.False)
	device.ID, device.Type = text, devices.AudioInput
	device.Flags[devices.HardwareMute] = devices.Flag{Value: devices.True, Origin: devices.Origin{Via: text, Detail: text, Stale: true}}
	list := devices.Snapshot{Devices: []devices.Report{device}}
	p.at(0, 10, 0)
	p.Clients(func() []timeline.Client { return []timeline.Client{client} })
	p.Snapshot(list)
	p.Acknowledged(client, list)
	p.Conditions([]health.Condition{condition})
	p.at(1, 0, 0)
	return Input{Now: madeAt, Timeline: p.Timeline(), Recording: text, Status: control.Status{
		Version: text, Vendor: text, Started: madeAt, Products: control.ProductsOf(list.Devices),
		Clients: control.Clients{Sessions: []control.Session{
			{State: text, Transport: text, Socket: text, Name: text, Reason: control.ConditionOf(new(health.Unnamed(text))), Delivered: madeAt, Devices: 1},
			{State: "refused", Name: text, Port: 1, Reason: control.ConditionOf(&condition)},
		}},
		Conditions: control.ConditionsOf([]health.Condition{condition}),
	}}
}

// long is a name of 300 characters without a place to break it.
var long = strings.Repeat("W", 300)
