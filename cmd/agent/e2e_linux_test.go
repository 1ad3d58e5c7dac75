package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/testlab"
)

var acmeAudio = fakeserver.Named{Name: "Acme Audio", URL: "https://acme.example"}

// device700 is what the client should get for an endpoint of a headset.
func device700(typ, id string, related ...string) fakeserver.Device {
	if related == nil {
		related = []string{}
	}
	return fakeserver.Device{
		Type: typ, ID: id, Vendor: acmeAudio, Related: related,
		Model: fakeserver.Named{Name: "Acme Headset 700", URL: "https://acme.example/headset-700"},
	}
}

func muted(d fakeserver.Device, on bool) fakeserver.Device {
	d.HardwareMute = &on
	return d
}

// pair is a headset whose microphone and earphones bear one name, as they do with many sound
// servers. Each has nothing else that is related to it.
func pair(id string, mute bool) []fakeserver.Device {
	return []fakeserver.Device{device700(fakeserver.AudioOutput, id), muted(device700(fakeserver.AudioInput, id), mute)}
}

func TestHeadset(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		for _, tr := range transports {
			t.Run(string(tr), func(t *testing.T) {
				d := running(t, sound, over(tr))
				d.hasNone()
				hs := d.plug(headset700)
				for _, on := range []bool{true, false, true, false} {
					d.mute(hs, on)
					d.hasList(pair("Acme Headset 700", on)...)
				}

				// The default is nothing that the client is told of.
				sent := d.client.Stats().Payloads
				for _, name := range []string{"acme_bus.monitor", hs.SourceName, "acme_bus.monitor"} {
					require.NoError(t, sound.SetDefaultSource(d.ctx, name))
				}
				d.mute(hs, true)
				d.hasMute(true)
				require.Equal(t, sent+1, d.client.Stats().Payloads)

				before := time.Now()
				require.NoError(t, hs.Unplug(d.ctx))
				d.hasNone()
				all := d.client.Payloads()
				require.GreaterOrEqual(t, all[len(all)-1].Time.Sub(before), time.Second, "a removal waits, it may be a USB reset")

				hs = d.plug(headset700)
				d.mute(hs, false) // PipeWire remembers the mute
				d.hasList(pair("Acme Headset 700", false)...)
				d.stop()
				require.NoError(t, hs.Unplug(d.ctx))
			})
		}
	})
}

// TestEchoCanceller loads the sound server's own echo canceller on one of two headsets: it is
// one more microphone of that one, with the effects that it has and the mute of the hardware.
func TestEchoCanceller(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		d := running(t, sound)
		other := headset700
		other.Name, other.Serial, other.Description = "other", "A700-0002", "Acme Headset 700 (2)"
		second := d.plug(other)
		d.mute(second, true)
		d.hasList(pair("Acme Headset 700 (2)", true)...)
		hs := d.plug(headset700)
		d.mute(hs, false)
		plain := append(pair("Acme Headset 700", false), pair("Acme Headset 700 (2)", true)...)
		d.hasList(plain...)
		module, err := sound.LoadModule(d.ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName,
			"source_name=acme.echo-cancel", "sink_name=acme.echo-cancel.sink")
		require.NoError(t, err)
		cleaned := func(list []fakeserver.Device) int {
			return slices.IndexFunc(list, func(e fakeserver.Device) bool {
				return e.Type == fakeserver.AudioInput && !strings.HasPrefix(e.ID, "Acme") || strings.Contains(strings.ToLower(e.ID), "echo")
			})
		}
		for _, on := range []bool{false, true, false} {
			d.mute(hs, on)
			d.has("the cleaned microphone", func(list []fakeserver.Device) bool {
				i := cleaned(list)
				return len(list) == 5 && i >= 0 && list[i].EchoCancellation != nil && list[i].HardwareMute != nil && *list[i].HardwareMute == on
			})
		}
		settled := d.client.Devices()

		// The user has it record the other headset, and a microphone of which nothing is known, and the first again.
		stream := map[testlab.SoundKind]string{testlab.PulseAudio: "Echo-Cancel Source Stream", testlab.PipeWire: "Echo-Cancel Capture"}[sound.Kind()]
		foreign := testlab.Headset{Name: "foreign", Description: "Foreign", Vendor: "Foreign", VID: "1d6b", PID: "0001", Serial: "1"}
		for _, step := range []struct {
			what, source string
			is           func(list []fakeserver.Device, i int) bool
		}{
			{"muted like the other headset", second.SourceName, func(list []fakeserver.Device, i int) bool {
				return i >= 0 && list[i].HardwareMute != nil && *list[i].HardwareMute
			}},
			{"no word of a mute", d.plug(foreign).SourceName, func(list []fakeserver.Device, i int) bool { return i < 0 || list[i].HardwareMute == nil }},
			{"unmuted like the first", hs.SourceName, func(list []fakeserver.Device, i int) bool {
				return i >= 0 && list[i].HardwareMute != nil && !*list[i].HardwareMute
			}},
		} {
			for moved := false; !moved; { // WirePlumber overlooks some moves
				require.NoError(t, sound.MoveStreams(d.ctx, "media.name", stream, step.source), step.what)
				ctx, cancel := context.WithTimeout(d.ctx, 3*time.Second)
				moved = d.client.Wait(ctx, func(list []fakeserver.Device) bool { return step.is(list, cleaned(list)) }) == nil
				cancel()
			}
		}
		d.hasList(settled...)
		list := d.client.Devices()
		i := cleaned(list)
		e := list[i]
		yes := true
		want := muted(device700(fakeserver.AudioInput, e.ID, "Acme Headset 700"), false)
		want.EchoCancellation, want.NoiseSuppression = &yes, &yes
		want.AutomaticGainControl = e.AutomaticGainControl // differs between the servers and their versions
		require.Equal(t, want, e)
		for j := range plain[:2] {
			plain[j].Related = []string{e.ID}
		}
		require.Equal(t, plain, slices.Delete(list, i, i+1), "the plain microphones are not processed")

		require.NoError(t, sound.UnloadModule(d.ctx, module))
		for j := range plain[:2] {
			plain[j].Related = []string{}
		}
		d.hasList(plain...)
		d.stop()
	})
}

// TestTwoHeadsets has two units of one model. Where the sound server gives them one name the
// client cannot tell them apart: one entry each, muted only if both are.
func TestTwoHeadsets(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		d := running(t, sound)
		first := d.plug(headset700)
		d.mute(first, true)
		d.hasList(pair("Acme Headset 700", true)...)

		same := headset700
		same.Name, same.Serial = "same", "A700-0002"
		second := d.plug(same)
		d.mute(second, false)
		d.hasList(pair("Acme Headset 700", false)...)
		d.mute(second, true)
		d.hasList(pair("Acme Headset 700", true)...)
		d.mute(first, false)
		d.hasList(pair("Acme Headset 700", false)...)
		require.NoError(t, second.Unplug(d.ctx))

		other := headset700
		other.Name, other.Serial, other.Description = "other", "A700-0003", "Acme Headset 700 (2)"
		third := d.plug(other)
		d.mute(third, true)
		latestFirst := append(pair("Acme Headset 700 (2)", true), pair("Acme Headset 700", false)...)
		d.hasList(latestFirst...)
		d.mute(first, true)
		d.hasList(append(pair("Acme Headset 700 (2)", true), pair("Acme Headset 700", true)...)...)
		require.NoError(t, third.Unplug(d.ctx))
		d.hasList(pair("Acme Headset 700", true)...)
		d.stop()
	})
}

// TestSoundServerRestarts ends the sound server under the agent, politely and not. What was
// known stays until the new server has been read.
func TestSoundServerRestarts(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		// Plugging the headset in anew takes a while, and is here no removal.
		d := running(t, sound, "SIDETONE_ENGINE_REMOVAL_GRACE=1m", "SIDETONE_ENGINE_STALE_AFTER=5m")
		hs := d.plug(headset700)
		d.mute(hs, false)
		d.hasList(pair("Acme Headset 700", false)...)
		for i, end := range []func() error{sound.Term, sound.Kill, sound.Kill} {
			require.NoError(t, end())
			d.logged("source fails; its last good endpoints are kept for now")
			require.NoError(t, sound.Restart(d.ctx))
			hs = d.plug(headset700)
			muted := i%2 == 0
			d.mute(hs, muted)
			d.hasList(pair("Acme Headset 700", muted)...)
		}
		all := d.client.Payloads()
		for i, p := range all {
			require.False(t, i > 1 && len(p.Devices) < 2, "an empty list in between: %s", p.Raw)
		}
		d.stop()
	})
}

// TestSoundServerStaysAway: what a source has said is not believed for ever.
func TestSoundServerStaysAway(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := running(t, sound, "SIDETONE_ENGINE_STALE_AFTER=2s")
	d.plug(headset700)
	d.hasList(pair("Acme Headset 700", false)...)
	before := time.Now()
	require.NoError(t, sound.Kill())
	d.hasNone()
	all := d.client.Payloads()
	require.GreaterOrEqual(t, all[len(all)-1].Time.Sub(before), 2*time.Second)
	d.logged("endpoints dropped: their source keeps failing")
	require.NoError(t, sound.Restart(d.ctx))
	d.plug(headset700)
	d.hasList(pair("Acme Headset 700", false)...)
	d.stop()
}

// TestSoundServerComesLater: without a sound server nothing is known, and nothing is said.
func TestSoundServerComesLater(t *testing.T) {
	t.Parallel()
	testlab.ForEachSound(t, func(t *testing.T, sound *testlab.SoundServer) {
		t.Parallel()
		require.NoError(t, sound.Kill())
		d := running(t, sound)
		d.logged("source is waiting")
		d.ready()
		require.Empty(t, d.client.Payloads())
		require.NoError(t, sound.Restart(d.ctx))
		d.logged("source works")
		d.plug(headset700)
		d.has("the headset", func(list []fakeserver.Device) bool { return len(list) == 2 })
		d.stop()
	})
}
