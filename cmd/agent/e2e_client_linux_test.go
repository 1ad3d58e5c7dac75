package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

// forTransports runs f for each transport, each with a PulseAudio of its own: what the client does is the
// same on every sound server.
func forTransports(t *testing.T, f func(t *testing.T, sound *testlab.SoundServer, tr rpcclient.Transport)) {
	for _, tr := range transports {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			f(t, testlab.SoundForTest(t, testlab.PulseAudio), tr)
		})
	}
}

func TestClientRestartsOnAnotherPort(t *testing.T) {
	t.Parallel()
	forTransports(t, func(t *testing.T, sound *testlab.SoundServer, tr rpcclient.Transport) {
		d := newDesk(t, sound, over(tr))
		second := ipctest.Port(t)
		d.env = append(d.env, fmt.Sprintf("SIDETONE_RPC_PORTS=%d,%d", d.client.Port(), second))
		d.start()
		hs := d.plugForTest(headset700)
		d.mute(hs, true)
		d.hasList(pair("Acme Headset 700", true)...)
		d.everyChangeIsLogged()

		before := d.client.Stats().Payloads
		require.NoError(t, d.client.Restart(second))
		// The client has forgotten the mute, as always when it starts. The agent has not.
		d.hasList(pair("Acme Headset 700", true)...)
		require.Equal(t, before+1, d.client.Stats().Payloads)
		if e := d.logged("full list sent"); tr != rpcclient.IPC {
			require.EqualValues(t, second, e["port"])
		}
		d.mute(hs, false)
		d.hasList(pair("Acme Headset 700", false)...)
		d.stop()
	})
}

func TestClientComesLater(t *testing.T) {
	t.Parallel()
	forTransports(t, func(t *testing.T, sound *testlab.SoundServer, tr rpcclient.Transport) {
		d := newDesk(t, sound, over(tr))
		d.client.Stop()
		d.start()
		hs := d.plugForTest(headset700)
		d.mute(hs, true)
		require.Contains(t, d.logged("no client to report to")["remedy"], "start the client")
		require.NoError(t, d.client.Resume())
		d.hasList(pair("Acme Headset 700", true)...)
		d.stop()
	})
}

func TestClientDiesMidPayload(t *testing.T) {
	t.Parallel()
	forTransports(t, func(t *testing.T, sound *testlab.SoundServer, tr rpcclient.Transport) {
		d := running(t, sound, over(tr))
		hs := d.plugForTest(headset700)
		d.hasList(pair("Acme Headset 700", false)...)
		for _, on := range []bool{true, false, true} {
			require.NoError(t, d.client.SetFault(fakeserver.Fault{Kind: fakeserver.FaultDie, Times: 1}))
			faults := d.client.Stats().Faults
			d.mute(hs, on)
			d.hasList(pair("Acme Headset 700", on)...)
			require.Equal(t, faults+1, d.client.Stats().Faults)
		}
		d.stop()
	})
}

// TestClientRefusesWebSocket: a client that lets nobody in without a registered origin, or
// lets nobody act without an authorization, is served over HTTP.
func TestClientRefusesWebSocket(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"close-code=4001", "websocket/error=4006:Not authenticated"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, testlab.SoundForTest(t, testlab.PulseAudio), over(rpcclient.WebSocket, rpcclient.HTTP))
			f, err := fakeserver.ParseFault(fault)
			require.NoError(t, err)
			require.NoError(t, d.client.SetFault(f))
			d.start()
			hs := d.plugForTest(headset700)
			for _, on := range []bool{true, false} {
				d.mute(hs, on)
				d.hasList(pair("Acme Headset 700", on)...)
			}
			all := d.client.Payloads()
			require.Equal(t, fakeserver.HTTP, all[len(all)-1].Transport)
			d.stop()
		})
	}
}

// TestClientNeverAnswers: a client that greets and does not answer may have lost one answer, so it gets the next list over its open link.
// Nothing but the next list and a start anew is a reason to ask it again.
func TestClientNeverAnswers(t *testing.T) {
	t.Parallel()
	for _, tr := range []rpcclient.Transport{rpcclient.IPC, rpcclient.WebSocket} {
		t.Run(string(tr), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, testlab.SoundForTest(t, testlab.PulseAudio), over(tr, rpcclient.HTTP), "SIDETONE_RPC_ANSWER_TIMEOUT=2s", "SIDETONE_RPC_ORIGIN=https://acme.example")
			require.NoError(t, d.client.SetFault(fakeserver.Fault{Kind: fakeserver.FaultNoAnswer}))
			hs := d.plugForTest(headset700) // before the agent starts, so that its microphone is in the first list
			d.start()
			require.EqualValues(t, tr, d.logged("client does not know certified devices")["client"].(map[string]any)["transport"])
			require.Never(t, func() bool { return d.client.Stats().Payloads > 1 }, quiet, quiet/10)
			require.NoError(t, d.client.SetFault(fakeserver.Fault{}))
			d.mute(hs, true)
			d.hasList(pair("Acme Headset 700", true)...)
			require.NoError(t, d.client.Restart())
			d.hasList(pair("Acme Headset 700", true)...)
			require.Eventually(t, func() bool { return d.client.Stats().Payloads == 3 }, patience, quiet/100)
			d.signal(syscall.SIGTERM)
			d.exit()
			require.Empty(t, d.client.Devices())
		})
	}
}

// TestEnds ends the agent in every way that is asked for, whatever the client does meanwhile.
func TestEnds(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, fault := range []fakeserver.FaultKind{fakeserver.FaultNone, fakeserver.FaultNoAnswer, fakeserver.FaultRefuse} {
			t.Run(strings.TrimSpace(fmt.Sprint(s, " ", fault)), func(t *testing.T) {
				var settings []string
				if fault == fakeserver.FaultNoAnswer {
					settings = []string{limitsEnv + "=1"} // it gives up after a while
				}
				d := running(t, sound, settings...)
				d.plugForTest(headset700)
				d.hasList(pair("Acme Headset 700", false)...)
				require.NoError(t, d.client.SetFault(fakeserver.Fault{Kind: fault}))
				d.signal(s)
				d.exit()
				if fault == fakeserver.FaultNoAnswer {
					d.logged("the client keeps the last list: it could not be changed")
				} else {
					require.Empty(t, d.client.Devices())
				}
				d.logged("sidetone has stopped")
				d.spotless()
			})
		}
	}
	t.Run("while the sound server hangs", func(t *testing.T) {
		d := running(t, sound)
		d.plugForTest(headset700)
		d.hasList(pair("Acme Headset 700", false)...)
		require.NoError(t, sound.Suspend())
		defer func() { require.NoError(t, sound.Continue()) }()
		late := running(t, sound) // never gets through to it
		late.ready()
		for _, d := range []*desk{d, late} {
			d.signal(syscall.SIGTERM)
			d.exit()
			require.Empty(t, d.client.Devices())
		}
	})
	t.Run("without a client", func(t *testing.T) {
		d := newDesk(t, sound)
		d.client.Stop()
		d.start()
		d.logged("no client to report to")
		d.signal(syscall.SIGTERM)
		d.exit()
	})
}

// TestReload changes the catalogue under the running agent. A broken one changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newDesk(t, sound)
	acme, err := os.ReadFile(d.catalogue)
	require.NoError(t, err)
	d.catalogue = write(t, "catalogue.yaml", string(acme))
	change := func(content string) {
		require.NoError(t, os.WriteFile(d.catalogue, []byte(content), 0o600))
		d.signal(syscall.SIGHUP)
	}
	renamed := func(name string, mute bool) []fakeserver.Device {
		list := pair("Acme Headset 700", mute)
		for i := range list {
			list[i].Model.Name = name
		}
		return list
	}
	d.start()
	hs := d.plugForTest(headset700)
	d.hasList(pair("Acme Headset 700", false)...)

	change(strings.Replace(string(acme), "name: Acme Headset 700\n", "name: Acme Headset 701\n", 1))
	d.hasList(renamed("Acme Headset 701", false)...)
	d.logged("configuration read again")

	sent := d.client.Stats().Payloads
	change("schema: 1\nvendor: [\n")
	require.Contains(t, d.logged("the old configuration stays in force")["reason"], "catalogue.yaml:")
	change(strings.NewReplacer("url: https://acme.example/headset-700\n", "url: headset-700\n", "url: https://acme.example/webcam\n", "url: webcam\n").Replace(string(acme)))
	reason := d.logged("the old configuration stays in force")["reason"]
	require.Contains(t, reason, `"headset-700"`)
	require.Contains(t, reason, `"webcam"`, "each problem is in the log, as every other line is")
	require.NoError(t, os.Remove(d.catalogue))
	d.signal(syscall.SIGHUP)
	require.Contains(t, d.logged("the old configuration stays in force")["reason"], "catalogue.yaml")
	require.Equal(t, sent, d.client.Stats().Payloads)
	d.mute(hs, true)
	d.hasList(renamed("Acme Headset 701", true)...)

	change(string(acme))
	d.hasList(pair("Acme Headset 700", true)...)
	d.logged("configuration read again")

	// Another application id is another agent: the client keeps one list for each.
	sent = d.client.Stats().Payloads
	change(strings.Replace(string(acme), clientID, "123456789012345679", 1))
	require.Contains(t, d.logged("the old configuration stays in force")["reason"], "restart it")
	require.Equal(t, sent, d.client.Stats().Payloads)
	require.Empty(t, d.client.DevicesOf("123456789012345679"))
	d.signal(syscall.SIGTERM)
	d.exit()
}

// TestEndpointFile adds a webcam by a file while the agent runs.
func TestEndpointFile(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	file := write(t, "endpoints.yaml", "endpoints: []\n")
	d := running(t, sound, "SIDETONE_SOURCES_FILES="+file)
	d.hasNone()
	put := func(content string) { require.NoError(t, os.WriteFile(file, []byte(content), 0o600)) }
	put(`endpoints: [{id: /dev/video0, type: videoinput, name: Acme Webcam 4K, bus: usb, vid: "1209", pid: "0720", bus_info: usb-1}]`)
	webcam := fakeserver.Device{
		Type: fakeserver.VideoInput, ID: "usb-1", Vendor: acmeAudio, Related: []string{},
		Model: fakeserver.Named{Name: "Acme Webcam 4K", URL: "https://acme.example/webcam"},
	}
	d.hasList(webcam)
	hs := d.plugForTest(headset700)
	d.mute(hs, true)
	d.hasList(append(pair("Acme Headset 700", true), webcam)...)
	put("endpoints: [\n") // as while it is being written
	d.logged("source remarks")
	d.mute(hs, false)
	d.hasList(append(pair("Acme Headset 700", false), webcam)...)
	require.NoError(t, os.Remove(file))
	d.logged("source fails; its last good endpoints are kept for now")
	put("endpoints: []\n")
	d.hasList(pair("Acme Headset 700", false)...)
	d.stop()
}
