package pulse

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// encodeSource writes a source as a server of the given version does.
func encodeSource(e *encoder, version uint32) {
	e.u32(17)
	e.str("alsa_input.usb-Acme-00.mono")
	e.str("Acme Mic")
	e.sampleSpec()
	e.channelMap()
	e.u32(8)
	e.cvolume()
	e.bool(true)
	e.u32(InvalidIndex)
	e.str("")
	e.usec()
	e.str("module-alsa-card.c")
	e.u32(0x37)
	e.props(map[string]string{"device.bus": "usb"})
	e.usec()
	e.raw(tagVolume, 0, 1, 0, 0)
	e.u32(1)
	e.u32(65537)
	e.u32(2)
	e.u32(3)
	for i, available := range []uint32{0, 1, 2} {
		e.str([]string{"in-a", "in-b", "in-c"}[i])
		e.str("Input")
		e.u32(100)
		e.u32(available)
		if version >= versionPortTypes {
			e.str("Mic jack")
			e.u32(5)
		}
	}
	e.str("in-b")
	e.u8(1)
	e.raw(tagFormat)
	e.u8(1)
	e.props(map[string]string{"format.rate": "48000"})
}

func TestSourceOfEachVersion(t *testing.T) {
	for version := uint32(oldestVersion); version <= ourVersion; version++ {
		var e encoder
		encodeSource(&e, version)
		encodeSource(&e, version)
		list, err := parse(e.b, version, listOf(source))
		require.NoError(t, err, "version %d", version)
		require.Len(t, list, 2)

		require.Equal(t, Source{
			Device: Device{
				Index: 17, Name: "alsa_input.usb-Acme-00.mono", Description: "Acme Mic",
				Mute: true, Flags: 0x37, Card: 2, OwnerModule: 8,
				Plugged:    []devices.Tri{devices.Unknown, devices.False, devices.True},
				Properties: map[string]string{"device.bus": "usb"},
			},
			MonitorOfSinkIndex: InvalidIndex,
		}, list[1])
	}
}

func TestWrongVersionIsNoticed(t *testing.T) {
	var e encoder
	encodeSource(&e, 35)
	_, err := parse(e.b, 33, listOf(source))
	require.ErrorIs(t, err, errMalformed)
	e = encoder{}
	encodeSource(&e, 33)
	_, err = parse(e.b, 35, listOf(source))
	require.ErrorIs(t, err, errMalformed)
}

func TestEveryCutIsNoticed(t *testing.T) {
	var e encoder
	encodeSource(&e, ourVersion)
	for n := 1; n < len(e.b); n++ {
		_, err := parse(e.b[:n], ourVersion, listOf(source))
		require.ErrorIs(t, err, errMalformed, "cut at %d", n)
	}
	_, err := parse(append(e.b, 'N'), ourVersion, source)
	require.ErrorContains(t, err, "1 bytes too many")
}

func TestCardOfEachVersion(t *testing.T) {
	for _, version := range []uint32{30, 33, 34, 35} {
		var e encoder
		e.u32(1)
		e.str("alsa_card.usb-Acme-00")
		e.u32(6)
		e.str("module-alsa-card.c")
		e.u32(2)
		for _, name := range []string{"off", "input:mono"} {
			e.str(name)
			e.str("Profile")
			e.u32(0)
			e.u32(1)
			e.u32(60)
			e.u32(1)
		}
		e.str("input:mono")
		e.props(map[string]string{"device.bus": "usb"})
		e.u32(1)
		e.str("in-a")
		e.str("Input")
		e.u32(100)
		e.u32(2)
		e.u8(2)
		e.props(map[string]string{"port.type": "mic"})
		e.u32(1)
		e.str("input:mono")
		e.raw(tagS64, make([]byte, 8)...)
		if version >= 34 {
			e.str("")
			e.u32(5)
		}
		cards, err := parse(e.b, version, listOf(card))
		require.NoError(t, err, "version %d", version)
		require.Equal(t, []Card{{Index: 1, Properties: map[string]string{"device.bus": "usb"}}}, cards)
		for n := 1; n < len(e.b); n++ {
			_, err := parse(e.b[:n], version, listOf(card))
			require.ErrorIs(t, err, errMalformed, "cut at %d", n)
		}
	}
}

// A card may have a microphone if one of its profiles has, whichever is active; nothing is known of one without profiles.
func TestCardWithOutputsOnly(t *testing.T) {
	for _, c := range []struct {
		sources []uint32 // of each profile
		want    bool
	}{{nil, false}, {[]uint32{0}, true}, {[]uint32{0, 0}, true}, {[]uint32{0, 1}, false}, {[]uint32{1, 0}, false}} {
		var e encoder
		e.u32(1)
		e.str("card")
		e.u32(6)
		e.str("driver")
		e.u32(uint32(len(c.sources)))
		for _, n := range c.sources {
			e.str("name")
			e.str("Profile")
			e.u32(1)
			e.u32(n)
			e.u32(60)
			e.u32(0)
		}
		e.str("name")
		e.props(nil)
		e.u32(0)
		cards, err := parse(e.b, ourVersion, listOf(card))
		require.NoError(t, err)
		require.Equal(t, c.want, cards[0].OutputsOnly, c.sources)
	}
}

func TestDefaultNames(t *testing.T) {
	for name, want := range map[string]string{"": "", "mic": "mic", "@DEFAULT_SOURCE@": ""} {
		var e encoder
		for range 4 {
			e.str("x")
		}
		e.sampleSpec()
		e.str("sink")
		e.str(name)
		e.u32(1)
		e.channelMap()
		info, err := parse(e.b, ourVersion, serverInfo)
		require.NoError(t, err)
		require.Equal(t, ServerInfo{PackageName: "x", PackageVersion: "x", DefaultSink: "sink", DefaultSource: want, Cookie: 1}, info)
	}
}

func TestMuteInHardware(t *testing.T) {
	for name, c := range map[string]struct {
		s    Source
		want bool
	}{
		"real":             {Source{Device: Device{Flags: FlagHardware | FlagHWMute}, MonitorOfSinkIndex: InvalidIndex}, true},
		"switch in server": {Source{Device: Device{Flags: FlagHardware}, MonitorOfSinkIndex: InvalidIndex}, false},
		"echo canceller":   {Source{Device: Device{Flags: FlagHWMute}, MonitorOfSinkIndex: InvalidIndex}, false},
		"monitor":          {Source{Device: Device{Flags: FlagHardware | FlagHWMute}, MonitorOfSinkIndex: 0, MonitorOfSink: "sink"}, false},
		"monitor by class": {Source{Device: Device{Flags: FlagHardware | FlagHWMute, Properties: map[string]string{"device.class": "monitor"}}, MonitorOfSinkIndex: InvalidIndex}, false},
	} {
		require.Equal(t, c.want, c.s.MuteInHardware(), name)
	}
}
