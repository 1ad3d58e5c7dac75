package audio

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/windows/com"
	"sidetone/internal/wine"
)

// standIn is the source on a stand-in for Core Audio.
func standIn(t *testing.T) (*wasapitest.Server, *source) {
	platformtest.NoLeak(t)
	server := wasapitest.Start(t)
	src, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, src.Close()) })
	return server, src.(*source)
}

// readUntil reads, and after whatever is heard again, until the reading is as it should be.
func readUntil(t *testing.T, src platform.Source, fits func(r platform.Reading, err error) bool) {
	t.Helper()
	for {
		r, err := src.Read(platformtest.Deadline(t))
		if fits(r, err) {
			return
		}
		require.NoError(t, src.Wait(platformtest.Deadline(t)), "last: %v %v", r, err)
	}
}

func TestTheAudioServiceComesBackByItself(t *testing.T) {
	server, src := standIn(t)
	server.Plug(wasapitest.Microphone())
	server.Fail("CreateInstance", com.ClassNotRegistered)
	tries := 0
	readUntil(t, src, func(_ platform.Reading, err error) bool {
		said, _ := health.Of(err)
		require.Equal(t, health.AudioServiceAway, said.Code)
		healthtest.Raised(t, said)
		tries++
		return tries == 3
	})
	server.Fail("CreateInstance", com.OK)
	readUntil(t, src, func(r platform.Reading, err error) bool { return err == nil && len(r.Endpoints) == 1 })
}

func TestWhatOfAnEndpointCannotBeReadIsNoted(t *testing.T) {
	server, src := standIn(t)
	e := wasapitest.Microphone()
	e.Container = "no GUID"
	server.Plug(e)
	notes := platformtest.Notes(t, src)
	require.Len(t, notes, 1)
	require.Equal(t, health.EndpointUnreadable, notes[0].Code)
	healthtest.Raised(t, notes...)
	server.Plug(wasapitest.Microphone())
	readUntil(t, src, func(r platform.Reading, _ error) bool { return len(r.Notes) == 0 })
}

// A fault that does not last is over without an event.
func TestWhatCouldNotBeReadIsTriedAgain(t *testing.T) {
	server, src := standIn(t)
	server.Plug(wasapitest.Microphone())
	server.Fail("GetMute", com.Failure)
	require.Equal(t, devices.Unknown, platformtest.MustList(t, src)[0].Mute)
	src.changed.Clear()
	server.Fail("GetMute", com.OK)
	readUntil(t, src, func(r platform.Reading, _ error) bool { return r.Endpoints[0].Mute == devices.False })
}

// TestWineEndpoints reads what Wine makes of the PulseAudio that tools/windows/test.sh starts.
func TestWineEndpoints(t *testing.T) {
	if !wine.Is() {
		t.Skip("Windows has the endpoints of the machine that it runs on")
	}
	platformtest.NoLeak(t)
	src, err := New(Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, src.Close()) })
	var last platform.Reading
	readUntil(t, src, func(r platform.Reading, err error) bool {
		require.NoError(t, err)
		last = r
		require.NotEmpty(t, r.Endpoints, "Wine has no sound server here: tools/windows/test.sh starts one, and names it in $PULSE_SERVER")
		return true
	})
	inputs := 0
	for _, e := range last.Endpoints {
		require.True(t, strings.HasPrefix(e.ID, "{0.0."), e.ID)
		require.Equal(t, []string{"wasapi"}, e.SeenBy, e.Name)
		if e.Type == devices.AudioInput && e.Name == "Acme One" {
			inputs++
			require.Equal(t, []string{"046f", "0001"}, []string{e.VID, e.PID})
			require.Equal(t, devices.USB, e.Bus)
			require.False(t, e.Virtual)
		}
	}
	require.Equal(t, 1, inputs)
}
