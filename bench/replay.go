//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
)

const (
	deskLength = time.Hour
	deskStep   = 100 * time.Millisecond // from one input to the next
	muteEvery  = 5 * time.Second        // the headset's switch is turned
)

// measureReplay replays the recording of a busy hour, beside decoding its lines and doing
// nothing with them.
func measureReplay(ctx context.Context, b *bench) ([]row, error) {
	set, err := acmeSettings()
	if err != nil {
		return nil, err
	}
	recording, err := busyDesk()
	if err != nil {
		return nil, err
	}
	var replayed, decoded sample
	var out engine.Replayed
	for range pick(b, 9, 3) {
		start := time.Now()
		if err := decode(recording); err != nil {
			return nil, err
		}
		decoded = append(decoded, time.Since(start))
		start = time.Now()
		if out, err = replay(recording, set); err != nil {
			return nil, err
		}
		replayed = append(replayed, time.Since(start))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if turned := int(deskLength / muteEvery); len(out.Lists) < turned {
		return nil, fmt.Errorf("the replay has published %d lists, but the headset's switch was turned %d times", len(out.Lists), turned)
	}
	const limit = 1000
	a, z := replayed.percentile(50), decoded.percentile(50)
	speed := ratioOf(deskLength, a)
	return []row{{
		figure:   fmt.Sprintf("replay of a recording of %s with %d inputs and %d lists, from its text, p50 of %d", deskLength, out.Inputs, len(out.Lists), len(replayed)),
		measured: fmt.Sprintf("%.0f× real time (%s, %.0f inputs/s)", speed, ms(a), float64(out.Inputs)/a.Seconds()),
		baseline: fmt.Sprintf("%.0f× (%s), decoding the lines as any JSON", ratioOf(deskLength, z), ms(z)),
		ratio:    times(ratioOf(a, z)), target: fmt.Sprintf("≥ %d× real time", limit), met: speed >= limit,
	}}, nil
}

// replay reads and plays a recording line by line, as 'sidetone replay' does.
func replay(recording []byte, set engine.Settings) (engine.Replayed, error) {
	p := engine.NewPlayer(set, false)
	lines := bufio.NewScanner(bytes.NewReader(recording))
	for n := 1; lines.Scan(); n++ {
		var r engine.Record
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			err = p.Play(r)
		}
		if err != nil {
			return engine.Replayed{}, fmt.Errorf("line %d of the recording: %w", n, err)
		}
	}
	return p.Result()
}

// decode reads a recording and makes nothing of it.
func decode(recording []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(recording))
	for lines.Scan() {
		var v any
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			return err
		}
	}
	return lines.Err()
}

// busyDesk is the recording of an hour as somebody would write it by hand, with an input every
// 100 ms. Most are reports that no source reads, such as of a battery; beside these the
// headset's switch is turned, a vendor's software pushes leases that run out, the sound server
// is read again and the headset is plugged in anew.
func busyDesk() ([]byte, error) {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	err := out.Encode(engine.Record{Header: &engine.Header{Version: engine.RecordingVersion, Sources: []string{"audio"}, OS: devices.Linux}})
	for at, i := time.Duration(0), 0; at < deskLength && err == nil; at, i = at+deskStep, i+1 {
		err = out.Encode(engine.Record{T: engine.Span(at), Input: deskInput(at, i)})
	}
	if err != nil {
		return nil, fmt.Errorf("write a recording: %w", err)
	}
	return text.Bytes(), nil
}

// deskInput is input number i of the hour.
func deskInput(at time.Duration, i int) engine.Input {
	every := func(period, after time.Duration) bool { return at%period == after }
	sends := func(report ...byte) engine.Input {
		return engine.Input{HID: &hid.Event{Happening: hid.Report, Node: hidHeadset.Node, Data: report}}
	}
	switch {
	case every(time.Minute, 0):
		list := headsetEndpoints()
		list[0].Mute = devices.Of(at%(2*time.Minute) == 0)
		return engine.Input{Observe: &devices.Observation{Source: "audio", Endpoints: list}}
	case every(10*time.Minute, deskStep):
		return engine.Input{HID: &hid.Event{Happening: hid.Attached, Node: hidHeadset.Node, Device: &hid.Device{
			Node: hidHeadset.Node, Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A700-0001", Container: hidHeadset.Container(), Interface: 3,
			Name: "Acme Headset 700", Descriptor: hidDescriptor,
		}}}
	case every(10*time.Minute, 10*time.Minute-deskStep):
		return engine.Input{HID: &hid.Event{Happening: hid.Gone, Node: hidHeadset.Node}}
	case every(muteEvery, time.Second):
		return sends(muteReport(at%(2*muteEvery) == time.Second)...)
	case every(20*time.Second, 2*time.Second):
		return engine.Input{Push: &engine.Push{
			Product: pushedProduct, Owner: "desk", TTL: 5 * time.Second, State: map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.True},
		}}
	default:
		return sends(batteryReport, byte(i))
	}
}
