package wasapi

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
	"sidetone/internal/signal"
)

// A bench is a Client of the stand-in.
type bench struct {
	*wasapitest.Server
	*Client
	t       *testing.T
	changed signal.Signal
}

func newBench(t *testing.T, effects func(devices.Endpoint) bool) bench {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	b := bench{Server: wasapitest.Start(t), t: t, changed: signal.New()}
	b.Client = Open(Options{Changed: b.changed.Notify, Effects: effects})
	b.parent = func(id string) string {
		if id == `USB\VID_046F&PID_0001&MI_00\7&1A2B3C&0&0000` {
			return `USB\VID_046F&PID_0001\A1`
		}
		return ""
	}
	t.Cleanup(b.Close)
	return b
}

func (b bench) try() (Reading, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	return b.Read(ctx, false)
}

func (b bench) read() Reading {
	b.t.Helper()
	r, err := b.try()
	require.NoError(b.t, err)
	return r
}

// hear waits until something may have changed, and reads.
func (b bench) hear() Reading {
	b.t.Helper()
	select {
	case <-b.changed:
	case <-time.After(20 * time.Second):
		b.t.Fatal("nothing was heard")
	}
	return b.read()
}

func (b bench) only() devices.Endpoint {
	b.t.Helper()
	r := b.read()
	require.Len(b.t, r.Endpoints, 1)
	return r.Endpoints[0]
}

func mic() string { return wasapitest.Microphone().ID }

func TestAHeadsetIsRead(t *testing.T) {
	b := newBench(t, nil)
	require.Empty(t, b.read().Endpoints, "none is an answer")
	b.Plug(wasapitest.Microphone())
	b.Plug(wasapitest.Earphones())
	b.Choose(mic())
	want := devices.Endpoint{
		ID: mic(), Type: devices.AudioInput, Name: "Headset Microphone (Acme One)", Bus: devices.USB, VID: "046f", PID: "0001", Serial: "A1",
		Container: "{11223344-5566-7788-99AA-BBCCDDEEFF00}", Default: true, Mute: devices.False, MuteInHardware: true, SeenBy: []string{"wasapi"},
	}
	ears := want
	ears.ID, ears.Type, ears.Name = wasapitest.Earphones().ID, devices.AudioOutput, "Headset Earphone (Acme One)"
	ears.Default, ears.MuteInHardware = false, false
	require.Equal(t, Reading{Endpoints: []devices.Endpoint{want, ears}}, b.hear())
}

func TestAMuteByAnotherProgramIsHeard(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	require.Equal(t, devices.False, b.only().Mute)
	b.changed.Clear()
	lists, mutes := b.Calls("EnumAudioEndpoints"), b.Calls("GetMute")
	b.SetMute(mic(), true)
	require.Equal(t, devices.True, b.hear().Endpoints[0].Mute)
	b.SetMute(mic(), false)
	require.Equal(t, devices.False, b.hear().Endpoints[0].Mute)
	require.Equal(t, lists, b.Calls("EnumAudioEndpoints"), "a mute costs a question about it")
	require.Equal(t, mutes+2, b.Calls("GetMute"))
	for range 100 {
		b.Volume(mic())
	}
	require.Empty(t, b.changed, "a volume is no news")
}

func TestPlugsAndNamesAreHeard(t *testing.T) {
	b := newBench(t, nil)
	require.Empty(t, b.read().Endpoints)
	b.Plug(wasapitest.Microphone())
	require.Len(t, b.hear().Endpoints, 1)
	b.Rename(mic(), "Mine")
	require.Equal(t, "Mine", b.hear().Endpoints[0].Name)
	b.Choose(mic())
	require.True(t, b.hear().Endpoints[0].Default)
	pulled := wasapitest.Microphone()
	pulled.State = unplugged
	b.Plug(pulled)
	e := b.hear().Endpoints[0]
	require.Equal(t, devices.False, e.Plugged)
	require.Equal(t, devices.Unknown, e.Mute, "nobody can record from it")
	const disabled = 2
	pulled.State = disabled
	b.Plug(pulled)
	require.Empty(t, b.hear().Endpoints)
	b.Plug(wasapitest.Microphone())
	require.Equal(t, devices.False, b.hear().Endpoints[0].Mute)
	b.Unplug(mic())
	require.Empty(t, b.hear().Endpoints)
	require.Equal(t, 1, b.Callbacks(), "nobody listens to what has gone")
}

// What comes back before it was missed has the id that it had, and is another object.
func TestAReplugBetweenTwoReadings(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	require.Equal(t, devices.False, b.only().Mute)
	opened := b.Calls("Activate IAudioEndpointVolume")
	b.Unplug(mic())
	muted := wasapitest.Microphone()
	muted.Mute = true
	b.Plug(muted)
	require.Equal(t, devices.True, b.hear().Endpoints[0].Mute)
	require.Equal(t, opened+1, b.Calls("Activate IAudioEndpointVolume"))
	b.changed.Clear()
	b.SetMute(mic(), false)
	require.Equal(t, devices.False, b.hear().Endpoints[0].Mute)
}

// What can be told of the device behind an endpoint that is just coming, or going, may be nothing for a moment.
func TestADeviceThatCouldNotBeToldIsAskedForAgain(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	b.Fail("Activate IDeviceTopology", com.NotFound)
	require.Empty(t, b.only().VID)
	b.Fail("Activate IDeviceTopology", com.OK)
	b.Rename(mic(), "Acme")
	require.Equal(t, "046f", b.hear().Endpoints[0].VID)
	asked := b.Calls("Activate IDeviceTopology")
	b.Rename(mic(), "Acme One")
	require.Equal(t, "046f", b.hear().Endpoints[0].VID)
	require.Equal(t, asked, b.Calls("Activate IDeviceTopology"), "what is known does not change")
	b.Unplug(mic())
	other := wasapitest.Microphone()
	other.Adapter = `USB\VID_0B0E&PID_0420\B2`
	b.Plug(other)
	require.Equal(t, "0b0e", b.hear().Endpoints[0].VID, "another device may have come in its place")
}

// Nothing of before says anything any more: all of it is made anew.
func TestAServiceThatHasBeenStartedAnew(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	require.Equal(t, devices.False, b.only().Mute)
	b.Change(mic(), func(e *wasapitest.Endpoint) { e.Mute = true })
	require.Equal(t, devices.False, b.only().Mute, "nothing was said")
	b.changed.Clear()
	b.changes.restarted()
	require.Equal(t, devices.True, b.hear().Endpoints[0].Mute)
	require.Equal(t, 2, b.Calls("CreateInstance"))
	require.Equal(t, 2, b.Callbacks(), "nobody listens to what was before")
	b.SetMute(mic(), false)
	require.Equal(t, devices.False, b.hear().Endpoints[0].Mute)
}

func TestRemoteEndpointsAreNotReported(t *testing.T) {
	b := newBench(t, nil)
	far := wasapitest.Microphone()
	far.Form = uint32(remote)
	b.Plug(far)
	require.Empty(t, b.read().Endpoints)
	b.Change(mic(), func(e *wasapitest.Endpoint) { e.Form = nil })
	b.Rename(mic(), "of an unknown form")
	require.Len(t, b.hear().Endpoints, 1)
}

func TestNamesOfAllKinds(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range []string{"", strings.Repeat("ü", 300), "🎧 耳机 𝄞"} {
		e := wasapitest.Microphone()
		e.Name = name
		b.Plug(e)
		require.Equal(t, name, b.only().Name)
	}
}

func TestPropertiesOfWrongTypesAreFaults(t *testing.T) {
	b := newBench(t, nil)
	e := wasapitest.Microphone()
	e.Container, e.Form, e.Adapter = make([]byte, 24), "5", com.MustGUID("11223344-5566-7788-99AA-BBCCDDEEFF00")
	b.Plug(e)
	r := b.read()
	require.Len(t, r.Endpoints, 1, "what could be read is there")
	require.Equal(t, devices.Endpoint{
		ID: mic(), Type: devices.AudioInput, Name: "Headset Microphone (Acme One)", Mute: devices.False, MuteInHardware: true,
		SeenBy: []string{"wasapi"},
	}, r.Endpoints[0])
	require.Len(t, r.Faults, 1)
	require.Equal(t, "Headset Microphone (Acme One)", r.Faults[0].Endpoint)
	require.EqualError(t, r.Faults[0].Err,
		"read its form: its type is 31, not 19\nread its container: its type is 65, not 72\nread its adapter: its type is 72, not 31")
	b.Plug(wasapitest.Microphone())
	require.Empty(t, b.hear().Faults)
}

func TestADeviceGoesWhileItIsRead(t *testing.T) {
	for _, method := range []string{
		"Item", "GetId", "GetState", "OpenPropertyStore", "GetValue", "Activate IDeviceTopology", "Activate IAudioEndpointVolume",
		"RegisterControlChangeNotify", "GetMute",
	} {
		t.Run(method, func(t *testing.T) {
			b := newBench(t, nil)
			b.Plug(wasapitest.Microphone())
			b.Plug(wasapitest.Earphones())
			b.Before(method, sync.OnceFunc(func() { b.Vanish(mic()) }))
			r := b.read()
			require.Len(t, r.Endpoints, 1)
			require.Equal(t, wasapitest.Earphones().ID, r.Endpoints[0].ID)
			require.Empty(t, r.Faults, "that it has gone is no fault")
		})
	}
}

// Of an endpoint that does not even say that it is there something is wrong: it is looked for again.
func TestAStateThatCannotBeReadIsAFault(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	require.Equal(t, devices.False, b.only().Mute)
	b.Fail("GetState", com.Failure)
	b.Rename(mic(), "Acme")
	r := b.hear()
	require.Empty(t, r.Endpoints)
	require.Equal(t, []Fault{{"Headset Microphone (Acme One)", fmt.Errorf("read its state: %w", com.Failure)}}, r.Faults)
	b.Fail("GetState", com.DeviceInvalidated)
	b.Rename(mic(), "Acme")
	require.Empty(t, b.hear().Faults, "it has gone")
	b.Fail("GetState", com.OK)
	b.Rename(mic(), "Acme")
	r = b.hear()
	require.Len(t, r.Endpoints, 1)
	require.Empty(t, r.Faults)
}

func TestTheAudioServiceIsAway(t *testing.T) {
	for method, result := range map[string]com.HRESULT{
		"CreateInstance":                       com.ClassNotRegistered,
		"RegisterEndpointNotificationCallback": com.AudioNotRunning,
		"EnumAudioEndpoints":                   com.AudioNotRunning,
		"GetDefaultAudioEndpoint":              com.ServiceNotActive,
		"GetCount":                             com.Disconnected,
		"Item":                                 com.Disconnected,
		"GetId":                                com.ServerUnavailable,
		"GetState":                             com.CallFailed,
		"OpenPropertyStore":                    com.ServerDied,
		"GetValue":                             com.Disconnected,
		"Activate IAudioEndpointVolume":        com.AudioNotRunning,
		"Activate IDeviceTopology":             com.ServerUnavailable,
		"GetDevice":                            com.NotConnected,
		"RegisterControlChangeNotify":          com.Disconnected,
		"QueryHardwareSupport":                 com.Disconnected,
		"GetMute":                              com.Disconnected,
	} {
		t.Run(method, func(t *testing.T) {
			b := newBench(t, nil)
			b.Plug(wasapitest.Microphone())
			b.Fail(method, result)
			for range 2 {
				r, err := b.try()
				said, _ := health.Of(err)
				require.Equal(t, health.AudioServiceAway, said.Code)
				require.ErrorIs(t, err, result)
				require.Empty(t, r)
			}
			require.Zero(t, b.Callbacks(), "nothing is left of the tries")
			b.Fail(method, com.OK)
			require.Equal(t, devices.False, b.only().Mute)
			b.changed.Clear()
			b.SetMute(mic(), true)
			require.Equal(t, devices.True, b.hear().Endpoints[0].Mute, "it is listened to anew")
		})
	}
}

// A mute that cannot be heard would stay what it is.
func TestAMuteThatCannotBeReadIsUnknown(t *testing.T) {
	for _, method := range []string{"Activate IAudioEndpointVolume", "RegisterControlChangeNotify", "GetMute"} {
		t.Run(method, func(t *testing.T) {
			b := newBench(t, nil)
			e := wasapitest.Microphone()
			e.Mute = true
			b.Plug(e)
			require.Equal(t, devices.True, b.only().Mute)
			b.Fail(method, com.Failure)
			b.Plug(e)
			r := b.hear()
			require.Equal(t, devices.Unknown, r.Endpoints[0].Mute)
			require.Len(t, r.Faults, 1)
			require.ErrorIs(t, r.Faults[0].Err, com.Failure)
			b.Fail(method, com.NotImplemented)
			b.Plug(e)
			r = b.hear()
			require.Equal(t, devices.Unknown, r.Endpoints[0].Mute)
			require.Empty(t, r.Faults, "that an endpoint has no mute is none")
		})
	}
}

func TestACallThatHangsIsGivenUp(t *testing.T) {
	b := newBench(t, nil)
	b.Plug(wasapitest.Microphone())
	b.read()
	b.changed.Clear()
	hangs := make(chan struct{})
	b.Before("EnumAudioEndpoints", func() { <-hangs })
	b.Choose(mic())
	<-b.changed
	for range 2 { // the second for the first
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := b.Read(ctx, false)
		cancel()
		said, _ := health.Of(err)
		require.Equal(t, health.AudioServiceSilent, said.Code)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	close(hangs)
	require.True(t, b.hear().Endpoints[0].Default, "that it has returned is heard")
}

func TestTwoHundredEndpoints(t *testing.T) {
	b := newBench(t, nil)
	for i := range 200 {
		e := wasapitest.Microphone()
		e.ID = fmt.Sprintf("{0.0.%d.00000000}.{22222222-0000-4000-8000-%012d}", i%2, i)
		b.Plug(e)
	}
	r := b.read()
	require.Len(t, r.Endpoints, 200)
	require.Empty(t, r.Faults)
	again := b.read()
	require.Equal(t, r, again, "in the same order")
}

func TestAStormOfCallbacksWhileItIsClosed(t *testing.T) {
	held := com.Held()
	b := newBench(t, func(devices.Endpoint) bool { return true })
	e := wasapitest.Microphone()
	e.Effects = []wasapitest.Effect{{ID: wasapitest.EchoCancellation, On: 1}}
	b.Plug(e)
	b.Plug(wasapitest.Earphones())
	b.read()
	ended := make(chan struct{})
	var storm sync.WaitGroup
	for _, make := range []func(i int){
		func(i int) { b.SetMute(mic(), i%2 == 0) },
		func(int) { b.Rename(mic(), "Acme") },
		func(i int) { b.SetEffects(mic(), wasapitest.Effect{ID: wasapitest.EchoCancellation, On: int32(i % 2)}) },
	} {
		storm.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-ended:
					return
				default:
					make(i)
				}
			}
		})
	}
	for range 20 {
		b.hear()
	}
	b.Close()
	close(ended)
	storm.Wait()
	require.Zero(t, b.Callbacks())
	require.Equal(t, held+1, com.Held(), "all is given back but the stand-in's factory")
}

func TestEffectsAreReadWhereTheyAreWanted(t *testing.T) {
	b := newBench(t, func(e devices.Endpoint) bool { return e.VID == "046f" })
	e := wasapitest.Microphone()
	e.Effects = []wasapitest.Effect{{ID: wasapitest.EchoCancellation, On: 1}, {ID: wasapitest.NoiseSuppression}}
	b.Plug(e)
	b.Plug(wasapitest.Earphones())
	r := b.read()
	require.Equal(t,
		map[devices.Field]devices.Tri{devices.EchoCancellation: devices.True, devices.NoiseSuppression: devices.False}, r.Endpoints[0].Effects)
	require.Nil(t, r.Endpoints[1].Effects)
	b.changed.Clear()
	b.SetEffects(mic(), wasapitest.Effect{ID: wasapitest.EchoCancellation})
	require.Equal(t, map[devices.Field]devices.Tri{devices.EchoCancellation: devices.False}, b.hear().Endpoints[0].Effects,
		"what is no longer listed is unknown")
	require.Equal(t, 1, b.Calls("Initialize"))
	require.Zero(t, b.Calls("Start"), "nothing is recorded")
}

func TestEffectsThatWindowsDoesNotTellAreUnknown(t *testing.T) {
	b := newBench(t, func(devices.Endpoint) bool { return true })
	b.Plug(wasapitest.Microphone())
	r := b.read()
	require.Empty(t, r.Endpoints[0].Effects)
	require.Empty(t, r.Faults)
	b.Fail("Activate IAudioClient2", com.AccessDenied)
	b.Rename(mic(), "Acme")
	r = b.hear()
	require.Empty(t, r.Endpoints[0].Effects)
	require.Equal(t, []Fault{{"Acme", fmt.Errorf("read its effects: %w", com.AccessDenied)}}, r.Faults)
}

func TestNoStreamIsHeldForEffectsThatNobodyWants(t *testing.T) {
	b := newBench(t, nil)
	e := wasapitest.Microphone()
	e.Effects = []wasapitest.Effect{{ID: wasapitest.EchoCancellation, On: 1}}
	b.Plug(e)
	require.Empty(t, b.only().Effects)
	require.Zero(t, b.Calls("Activate IAudioClient2"))
}
