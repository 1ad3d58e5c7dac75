package audio

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/windows/com"
	"sidetone/internal/wine"
)

// standIn is the source on a stand-in for Core Audio, without miniaudio, which would list what Wine has.
func standIn(t *testing.T) (*wasapitest.Server, *source) {
	platformtest.NoLeak(t)
	server := wasapitest.Start(t)
	src, err := New(Options{Alone: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, src.Close()) })
	return server, src.(*source)
}

// listUntil lists, and after whatever is heard again, until the endpoints are as they should be.
func listUntil(t *testing.T, src *source, fits func(list []devices.Endpoint, err error) bool) {
	t.Helper()
	for {
		list, err := src.List(platformtest.Deadline(t))
		if fits(list, err) {
			return
		}
		require.NoError(t, src.Wait(platformtest.Deadline(t)), "last: %v %v", list, err)
	}
}

func TestTheAudioServiceComesBackByItself(t *testing.T) {
	server, src := standIn(t)
	server.Plug(wasapitest.Microphone())
	server.Fail("CreateInstance", com.ClassNotRegistered)
	tries := 0
	listUntil(t, src, func(_ []devices.Endpoint, err error) bool {
		said, _ := health.Of(err)
		require.Equal(t, health.AudioServiceAway, said.Code)
		healthtest.Raised(t, said)
		tries++
		return tries == 3
	})
	server.Fail("CreateInstance", com.OK)
	listUntil(t, src, func(list []devices.Endpoint, err error) bool { return err == nil && len(list) == 1 })
}

func TestWhatOfAnEndpointCannotBeReadIsNoted(t *testing.T) {
	server, src := standIn(t)
	e := wasapitest.Microphone()
	e.Container = "no GUID"
	server.Plug(e)
	platformtest.MustList(t, src)
	notes := src.Notes()
	require.Len(t, notes, 1)
	require.Equal(t, health.EndpointUnreadable, notes[0].Code)
	healthtest.Raised(t, notes...)
	server.Plug(wasapitest.Microphone())
	listUntil(t, src, func([]devices.Endpoint, error) bool { return len(src.Notes()) == 0 })
}

// A fault that does not last is over without an event.
func TestWhatCouldNotBeReadIsTriedAgain(t *testing.T) {
	server, src := standIn(t)
	server.Plug(wasapitest.Microphone())
	server.Fail("GetMute", com.Failure)
	require.Equal(t, devices.Unknown, platformtest.MustList(t, src)[0].Mute)
	src.changed.Clear()
	server.Fail("GetMute", com.OK)
	listUntil(t, src, func(list []devices.Endpoint, _ error) bool { return list[0].Mute == devices.False })
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
	var found []devices.Endpoint
	listUntil(t, src.(*source), func(list []devices.Endpoint, err error) bool {
		require.NoError(t, err)
		found = list
		require.NotEmpty(t, list, "Wine has no sound server here: tools/windows/test.sh starts one, and names it in $PULSE_SERVER")
		return len(list[0].SeenBy) == 2 || len(src.(*source).Notes()) > 0
	})
	seen := []string{"wasapi", "miniaudio"}
	if len(src.(*source).Notes()) > 0 { // it is not part of this build
		seen = seen[:1]
	}
	inputs := 0
	for _, e := range found {
		require.True(t, strings.HasPrefix(e.ID, "{0.0."), e.ID)
		require.Equal(t, seen, e.SeenBy, e.Name)
		if e.Type == devices.AudioInput && e.Name == "Acme One" {
			inputs++
			require.Equal(t, []string{"046f", "0001"}, []string{e.VID, e.PID})
			require.Equal(t, devices.USB, e.Bus)
			require.False(t, e.Virtual)
		}
	}
	require.Equal(t, 1, inputs)
}
