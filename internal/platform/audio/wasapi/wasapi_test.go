package wasapi

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"
	"unsafe"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform/windows"
	"sidetone/internal/platform/windows/com"
)

// pointing is a variant that points to something.
func pointing(t *testing.T, kind uint16, to unsafe.Pointer) *variant {
	v := &variant{Type: kind, Value: uintptr(to)}
	t.Cleanup(func() { runtime.KeepAlive(to) })
	return v
}

func wide(t *testing.T, text string) *variant {
	units := append(utf16.Encode([]rune(text)), 0)
	return pointing(t, typeText, unsafe.Pointer(&units[0]))
}

func TestPropertiesAreReadByTheirTypes(t *testing.T) {
	require.EqualValues(t, 24, unsafe.Sizeof(variant{}), "as a PROPVARIANT")
	for _, text := range []string{"", "Kopfhörer (Acme)", "🎧 耳机 𝄞", strings.Repeat("x", 300)} {
		got, err := wide(t, text).text()
		require.NoError(t, err)
		require.Equal(t, text, got)
	}
	half := []uint16{'a', 0xD83C, 'b', 0}
	got, err := pointing(t, typeText, unsafe.Pointer(&half[0])).text()
	require.NoError(t, err)
	require.Equal(t, "a\uFFFDb", got)

	n, err := (&variant{Type: typeNumber, Value: 0xDEAD_0000_0005}).number()
	require.NoError(t, err)
	require.NotNil(t, n)
	require.EqualValues(t, 5, *n, "of the 8 bytes 4 are the number's")

	id := com.MustGUID("11223344-5566-7788-99AA-BBCCDDEEFF00")
	guid, err := pointing(t, typeGUID, unsafe.Pointer(&id)).guid()
	require.NoError(t, err)
	require.Equal(t, "{11223344-5566-7788-99AA-BBCCDDEEFF00}", guid)
}

func TestPropertiesOfWrongTypesAreUnknown(t *testing.T) {
	const blob, short = 65, 2
	for name, v := range map[string]*variant{"another type": {Type: blob, Value: 16}, "nothing behind it": {Type: typeText}, "a number": {Type: short, Value: 7}} {
		text, err := v.text()
		require.Error(t, err, name)
		require.Empty(t, text)
		guid, err := v.guid()
		require.Error(t, err, name)
		require.Empty(t, guid)
		n, err := v.number()
		require.Error(t, err, name)
		require.Nil(t, n)
	}
	empty := &variant{}
	text, err := empty.text()
	require.NoError(t, err)
	require.Empty(t, text)
	n, err := empty.number()
	require.NoError(t, err)
	require.Nil(t, n, "what is not there is not 0: that is the form of remote endpoints")
}

func TestFactsMakeAnEndpoint(t *testing.T) {
	const id = "{0.0.1.00000000}.{8e5d2f4c-0a5e-4c41-a1a7-3c8f6f3c1a2b}"
	usb := windows.Hardware{Bus: devices.USB, VID: "046f", PID: "0001", Serial: "A1"}
	for _, c := range []struct {
		name  string
		facts facts
		want  devices.Endpoint
	}{
		{
			"a headset",
			facts{id: id, kind: devices.AudioInput, state: active, isDefault: true, name: "Acme", container: "{11223344-5566-7788-99aa-bbccddeeff00}", hardware: usb, mute: devices.True, supports: muteInHardware | 1},
			devices.Endpoint{
				ID: id, Type: devices.AudioInput, Name: "Acme", Default: true, Bus: devices.USB, VID: "046f", PID: "0001", Serial: "A1",
				Container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}", Mute: devices.True, MuteInHardware: true,
			},
		},
		{
			"nothing is in its jack",
			facts{id: id, kind: devices.AudioInput, state: unplugged, hardware: windows.Hardware{Bus: devices.PCI}, container: "{00000000-0000-0000-FFFF-FFFFFFFFFFFF}"},
			devices.Endpoint{ID: id, Type: devices.AudioInput, Bus: devices.PCI, Plugged: devices.False},
		},
		{
			"made by a program, with a mute that Windows does",
			facts{id: id, kind: devices.AudioOutput, state: active, hardware: windows.Hardware{Bus: devices.Virtual}, mute: devices.False, supports: 1},
			devices.Endpoint{ID: id, Type: devices.AudioOutput, Bus: devices.Virtual, Virtual: true, Mute: devices.False},
		},
		{
			"an unknown mute is in no hardware",
			facts{id: id, kind: devices.AudioInput, state: active, supports: muteInHardware},
			devices.Endpoint{ID: id, Type: devices.AudioInput},
		},
	} {
		c.want.SeenBy = []string{"wasapi"}
		require.Equal(t, c.want, c.facts.endpoint(), c.name)
	}
}

func TestRemoteEndpointsAreTold(t *testing.T) {
	require.True(t, facts{formFactor: new(uint32(0))}.remote())
	require.False(t, facts{formFactor: new(uint32(4))}.remote())
	require.False(t, facts{}.remote(), "of an unknown form")
}

func TestTheInstanceComesFromWhereItIsSaid(t *testing.T) {
	const path, property = `{2}.\\?\usb#vid_046f&pid_0001#a1#{6994ad04-93ef-11d0-a3cc-00a0c9223196}\global`, `{1}.USB\VID_046F&PID_0001\A2`
	require.Equal(t, `USB\VID_046F&PID_0001\A3`, instance(`USB\VID_046F&PID_0001\A3`, path, property))
	require.Equal(t, `usb\vid_046f&pid_0001\a1`, instance("", path, property))
	require.Equal(t, `USB\VID_046F&PID_0001\A2`, instance("", "", property))
	require.Empty(t, instance("", "", ""))
}

func TestEffectsThatAreNotListedAreUnknown(t *testing.T) {
	named := func(f devices.Field, on int32) effect {
		for id, field := range effectFields {
			if field == f {
				return effect{ID: id, On: on}
			}
		}
		return effect{}
	}
	require.EqualValues(t, 24, unsafe.Sizeof(effect{}), "as an AUDIO_EFFECT")
	require.Empty(t, flagsOf(nil))
	require.Empty(t, flagsOf([]effect{{ID: com.MustGUID("6F64ADC1-8211-11E2-8C70-2C27D7F001FA"), On: 1}}), "beamforming is no flag")
	require.Equal(t, map[devices.Field]devices.Tri{devices.EchoCancellation: devices.True, devices.AutomaticGainControl: devices.False},
		flagsOf([]effect{named(devices.EchoCancellation, 1), named(devices.AutomaticGainControl, 0)}))
	var both []effect
	for id, field := range effectFields {
		if field == devices.NoiseSuppression {
			both = append(both, effect{ID: id, On: int32(len(both))})
		}
	}
	require.Len(t, both, 2)
	for range both {
		require.Equal(t, map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.True}, flagsOf(both), "one of two is enough")
		both[0], both[1] = both[1], both[0]
	}
}

func TestVolumesAreNoNewsOfAMute(t *testing.T) {
	told := 0
	w := &muteWatch{changed: func() { told++ }}
	read := func(v devices.Tri) { _, _ = w.read(func() (devices.Tri, error) { return v, nil }) }
	read(devices.False)
	for range 100 {
		w.hear(devices.False)
	}
	require.Zero(t, told)
	require.False(t, w.take())
	w.hear(devices.True)
	w.hear(devices.True)
	require.Equal(t, 1, told)
	require.True(t, w.take())
	require.False(t, w.take())
	read(devices.True)
	w.hear(devices.True)
	require.Equal(t, 1, told)

	_, err := w.read(func() (devices.Tri, error) { return devices.Unknown, errors.New("gone") })
	require.Error(t, err)
	w.hear(devices.True)
	require.Equal(t, 2, told, "after a mute that could not be read, whatever is heard is news")
}

// What is heard while the mute is read may be of before or after.
func TestAMuteThatIsHeardWhileItIsReadIsReadAgain(t *testing.T) {
	told := 0
	w := &muteWatch{changed: func() { told++ }}
	_, _ = w.read(func() (devices.Tri, error) {
		w.hear(devices.True)
		return devices.False, nil
	})
	require.Equal(t, 1, told)
	require.True(t, w.take())
	_, _ = w.read(func() (devices.Tri, error) {
		w.hear(devices.True)
		return devices.False, nil
	})
	w.take()
	w.hear(devices.False)
	require.True(t, w.take(), "it could be of another mute than the one that was read")
}

// While an endpoint was away nobody heard of its mute: what was known before is nothing to measure by.
func TestAMuteIsHeardWhileItIsReadForTheFirstTimeAgain(t *testing.T) {
	told := 0
	w := &muteWatch{changed: func() { told++ }}
	_, _ = w.read(func() (devices.Tri, error) { return devices.False, nil })
	muted, _ := w.read(func() (devices.Tri, error) { // it was muted unheard, and is unmuted now
		defer w.hear(devices.False)
		return devices.True, nil
	})
	require.Equal(t, devices.True, muted)
	require.Equal(t, 1, told, "else it stays muted for ever")
	require.True(t, w.take())
}

func TestWhatCoreAudioLacksIsSaid(t *testing.T) {
	require.NoError(t, trouble(nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err, want := range map[error]health.Code{
		silent(ctx):         health.AudioServiceSilent,
		com.AudioNotRunning: health.AudioServiceAway,
		errors.Join(errors.New("list"), com.Disconnected): health.AudioServiceAway,
	} {
		said, ok := health.Of(trouble(err))
		require.True(t, ok)
		require.Equal(t, want, said.Code)
		healthtest.Raised(t, said)
	}
	fault := Fault{"Headset Microphone (Acme)", errors.New("read its container: its type is 65, not 72")}.Condition()
	require.Equal(t, health.EndpointUnreadable, fault.Code)
	healthtest.Raised(t, fault)
}
