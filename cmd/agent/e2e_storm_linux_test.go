package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
)

// The storm toggles one microphone. After every few toggles a witness is muted, another one
// each time and for good: a list that shows fewer muted witnesses than the one before is an
// older state after a newer.
const (
	stormToggles   = 500
	stormWitnesses = 25
)

func stormName(mic int) string { return fmt.Sprintf("Acme Headset 700 no. %d", mic) }

func TestStorm(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		conn, err := pulse.Dial(deadline(t), sound.Socket(), pulse.Options{Name: "storm"})
		require.NoError(t, err)
		defer conn.Close()
		for mic := range 1 + stormWitnesses { // the first is the one that is toggled
			_, err := sound.LoadModule(deadline(t), "module-remap-source", "master=auto_null.monitor", fmt.Sprintf("source_name=mic%d", mic),
				fmt.Sprintf(`source_properties='device.class=sound device.bus=usb device.description="%s" device.vendor.id=1209 device.product.id=0700 device.serial=%d'`, stormName(mic), mic))
			require.NoError(t, err)
		}
		for _, tr := range transports {
			t.Run(string(tr), func(t *testing.T) { storm(t, sound, conn, tr) })
		}
	})
}

func storm(t *testing.T, sound *testlab.SoundServer, conn *pulse.Conn, tr rpcclient.Transport) {
	d := newDesk(t, sound, over(tr))
	mute := func(mic int, on bool) {
		require.NoError(t, conn.SetSourceMute(d.ctx, fmt.Sprintf("mic%d", mic), on))
	}
	for mic := range 1 + stormWitnesses {
		mute(mic, false)
	}
	d.start()
	d.has("all microphones, open", func(list []fakeserver.Device) bool {
		return len(list) == 1+stormWitnesses && mutedMics(list) == ""
	})
	want := ""
	for i := range stormToggles {
		mute(0, i%2 == 0)
		if every := stormToggles / stormWitnesses; i%every == every-1 {
			mute(1+i/every, true)
			want += mark(1 + i/every)
		}
	}
	mute(0, true)
	want = mark(0) + want
	d.has("the last state", func(list []fakeserver.Device) bool { return mutedMics(list) == want })
	d.stop()

	shown := make(map[string]bool)
	lists := 0
	for _, p := range d.client.Payloads() {
		if len(p.Devices) < 1+stormWitnesses {
			continue // the first lists and the last
		}
		lists++
		muted := mutedMics(p.Devices)
		for mic := 1; mic <= stormWitnesses; mic++ {
			if shown[mark(mic)] {
				require.Contains(t, muted, mark(mic), "payload %d is older than one before: witness %d is muted for good", p.Seq, mic)
			}
			shown[mark(mic)] = strings.Contains(muted, mark(mic))
		}
	}
	t.Logf("%d toggles became %d lists", stormToggles+stormWitnesses, lists)
}

// mutedMics marks the microphones that are muted, in their order.
func mutedMics(list []fakeserver.Device) string {
	muted := make(map[string]bool)
	for _, e := range list {
		muted[e.ID] = e.HardwareMute != nil && *e.HardwareMute
	}
	var out string
	for mic := range 1 + stormWitnesses {
		if muted[stormName(mic)] {
			out += mark(mic)
		}
	}
	return out
}

func mark(mic int) string { return fmt.Sprintf("[%d]", mic) }
