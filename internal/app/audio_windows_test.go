package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/health"
	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/testlab/ipctest"
)

// acmeMicrophone and acmeEarphones are those of a headset of the example catalogue.
func acmeMicrophone() wasapitest.Endpoint { return acme(wasapitest.Microphone()) }

func acmeEarphones() wasapitest.Endpoint { return acme(wasapitest.Earphones()) }

func acme(e wasapitest.Endpoint) wasapitest.Endpoint {
	e.Adapter = `USB\VID_1209&PID_0700&MI_00\7&1A2B3C&0&0000`
	return e
}

// listeningClient is a client over one transport, and settings to find no other.
func listeningClient(t *testing.T, tr policy.Transport) (*fakeserver.Server, *Settings) {
	set := bareSettings(t)
	set.Config.Sources.Audio = true
	set.Config.RPC.Transports = []policy.Transport{tr}
	folder := ipctest.Folder(t)
	client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}, IPCDir: folder})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	if set.Config.RPC.IPCFolders = []string{filepath.Join(folder, "none")}; tr == policy.IPC {
		set.Config.RPC.IPCFolders = []string{folder}
	} else {
		set.Config.RPC.Ports = []int{client.Port()}
	}
	return client, set
}

// awaitDevices waits until the client has a list that fits.
func awaitDevices(t *testing.T, client *fakeserver.Server, fits func([]fakeserver.Device) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return fits(client.Devices()) }, patience, time.Millisecond, "it has %v", client.Devices())
}

func muteIs(on bool) func([]fakeserver.Device) bool {
	return func(list []fakeserver.Device) bool {
		for _, d := range list {
			if d.Type == fakeserver.AudioInput {
				return d.HardwareMute != nil && *d.HardwareMute == on
			}
		}
		return false
	}
}

// What Core Audio says goes through the whole agent to the client.
func TestCoreAudioReachesTheClient(t *testing.T) {
	for _, tr := range []policy.Transport{policy.IPC, policy.WebSocket, policy.HTTP} {
		t.Run(string(tr), func(t *testing.T) {
			audio := wasapitest.Start(t)
			audio.Plug(acmeMicrophone())
			audio.Plug(acmeEarphones())
			client, set := listeningClient(t, tr)
			a := startApp(t, Options{Settings: set})
			mic, ears := acmeMicrophone().ID, acmeEarphones().ID
			awaitDevices(t, client, muteIs(false))
			list := client.Devices()
			require.Len(t, list, 2)
			for i, d := range list {
				other := list[1-i].ID
				require.Contains(t, []string{mic, ears}, d.ID, "the whole id")
				require.Equal(t, []string{other}, d.Related)
			}
			audio.SetMute(mic, true)
			awaitDevices(t, client, muteIs(true))
			audio.Fail("EnumAudioEndpoints", com.AudioNotRunning)
			audio.Choose(mic)
			require.Eventually(t, func() bool {
				src := a.Status().Sources[0]
				return src.Reason != nil && src.Reason.Code == health.AudioServiceAway
			}, patience, time.Millisecond)
			require.True(t, muteIs(true)(client.Devices()), "its last word, until it is too old")
		})
	}
}
