package main

import (
	"context"
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/platform/pulse"
	"sidetone/internal/soundlab"
	"sidetone/internal/soundlab/soundlabtest"
)

// The storm's microphones together show a number of this many bits by which of them are
// muted, in Gray code: each toggle of one is the next number. So every list tells when it was
// true, and an older one after a newer one is seen.
const (
	stormBits    = 9
	stormToggles = 500
)

func stormName(bit int) string { return fmt.Sprintf("Acme Headset 700 no. %d", bit) }

func TestStorm(t *testing.T) {
	soundlabtest.ForEach(t, func(t *testing.T, sound *soundlab.Server) {
		for _, tr := range transports {
			t.Run(string(tr), func(t *testing.T) { storm(t, sound, over(tr)) })
		}
	})
}

func storm(t *testing.T, sound *soundlab.Server, settings ...string) {
	d := newDesk(t, sound, settings...)
	var modules []uint32
	for bit := range stormBits {
		properties := fmt.Sprintf(`'device.class=sound device.bus=usb device.description="%s" device.vendor.id=1209 device.product.id=0700 device.serial=%d'`, stormName(bit), bit)
		m, err := sound.LoadModule(d.ctx, "module-remap-source", "master=auto_null.monitor", fmt.Sprintf("source_name=mic%d", bit), "source_properties="+properties)
		require.NoError(t, err)
		modules = append(modules, m)
	}
	conn, err := pulse.Dial(d.ctx, sound.Socket(), pulse.Options{Name: "storm"})
	require.NoError(t, err)
	defer conn.Close()
	for bit := range stormBits { // PipeWire remembers mutes
		require.NoError(t, conn.SetSourceMute(d.ctx, fmt.Sprintf("mic%d", bit), false))
	}
	d.start()
	d.has("all microphones, open", func(list []fakeserver.Device) bool {
		n, ok := stormNumber(list)
		return ok && n == 0
	})

	for i := uint(1); i <= stormToggles; i++ {
		bit := bits.TrailingZeros(i)
		muted := (i^i>>1)>>bit&1 == 1
		require.NoError(t, conn.SetSourceMute(d.ctx, fmt.Sprintf("mic%d", bit), muted))
	}
	d.has("the last toggle", func(list []fakeserver.Device) bool {
		n, ok := stormNumber(list)
		return ok && n == stormToggles
	})
	newest, shown := uint(0), 0
	for _, p := range d.client.Payloads() {
		n, ok := stormNumber(p.Devices)
		if !ok {
			continue // from when not all of them were there
		}
		require.GreaterOrEqual(t, n, newest, "payload %d is of toggle %d, after one of toggle %d", p.Seq, n, newest)
		newest = n
		shown++
	}
	t.Logf("%d toggles became %d lists", stormToggles, shown)
	require.LessOrEqual(t, shown, stormToggles)
	d.stop()
	for _, m := range modules {
		require.NoError(t, sound.UnloadModule(context.WithoutCancel(d.ctx), m))
	}
}

// stormNumber reads the number that the microphones show; ok is false unless all do.
func stormNumber(list []fakeserver.Device) (n uint, ok bool) {
	seen := 0
	var gray uint
	for _, e := range list {
		for bit := range stormBits {
			if e.ID != stormName(bit) || e.HardwareMute == nil {
				continue
			}
			seen++
			if *e.HardwareMute {
				gray |= 1 << bit
			}
		}
	}
	for ; gray > 0; gray >>= 1 {
		n ^= gray
	}
	return n, seen == stormBits
}
