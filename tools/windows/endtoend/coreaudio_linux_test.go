package endtoend

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// standIn puts the stand-in for Core Audio into a prefix, with the headset of the example's catalogue. It returns what has another process
// do something to it.
func (p prefix) standIn() (do func(what ...string), program string) {
	folder := p.t.TempDir()
	out, err := exec.Command("../standin/audio.sh", folder).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
	program = filepath.Join(folder, "coreaudio.exe")
	do = func(what ...string) {
		p.t.Helper()
		out, code := p.run(program, what...)
		require.Zero(p.t, code, "%s", out)
	}
	do("install", filepath.Join(folder, "sidetoneaudio.dll"))
	do("plug")
	return do, program
}

// What another process does to Core Audio reaches the client, and the service for sound may stop and start meanwhile.
func TestWhatOtherProcessesDoToCoreAudio(t *testing.T) {
	forEachTransport(t, "/nonexistent", []string{"websocket"}, func(p prefix, d desk) {
		do, program := p.standIn()
		ask := func(verb string, wants ...string) {
			p.t.Helper()
			out, _ := p.run("sidetone.exe", verb)
			for _, want := range wants {
				require.Contains(p.t, out, want, "sidetone %s", verb)
			}
		}
		const remedy = "Start the service 'Windows Audio' ('net start Audiosrv' as administrator)"
		do("0x80040154") // REGDB_E_CLASSNOTREG: there is no audio service at all
		agent := p.runAgent(d)
		p.eventually("the agent knows", func() bool { return strings.Contains(agent.said(), "the class is not registered (0x80040154)") })
		ask("status", "the audio service of Windows is not there", remedy)
		ask("doctor", "the class is not registered", remedy)
		do("0x80010108") // RPC_E_DISCONNECTED: it has died
		p.eventually("the agent knows", func() bool { return strings.Contains(agent.said(), "the object has lost its server (0x80010108)") })
		ask("status", "the audio service of Windows is not there: ", "the object has lost its server (0x80010108)", remedy)
		ask("doctor", "the object has lost its server", remedy)
		do("stop", "start")
		p.awaitList(d, 2)
		p.awaitMute(d, false)
		ask("devices", "container {11223344-5566-7788-99AA-BBCCDDEEFF00}", "seen by wasapi")

		watch := p.start("sidetone.exe", "watch")
		heard := func(what string) {
			p.t.Helper()
			p.eventually("watch says: "+what, func() bool { return strings.Contains(watch.said(), what) })
		}
		heard("Acme Headset 700: hardware_mute is false, from os_endpoint_mute")
		do("mute")
		p.awaitMute(d, true)
		heard("Acme Headset 700: hardware_mute is true, from os_endpoint_mute")
		do("unmute")
		p.awaitMute(d, false)
		do("unplug")
		p.awaitList(d, 0)
		do("plug", "mute")
		p.awaitMute(d, true)

		do("stop") // of which no call and no object says anything
		heard("problem: The source audio cannot be read")
		ask("status", "the audio service does not run (0x88890010)", remedy)
		ask("doctor", "the audio service does not run (0x88890010)", remedy)
		do("start")
		heard("over: The source audio cannot be read")
		do("unmute")
		p.awaitMute(d, false)

		p.start(program, "storm")
		p.awaitMute(d, true)
		ask("stop")
		<-agent.ended
		require.Zero(p.t, agent.ProcessState.ExitCode(), agent.said())
		p.awaitList(d, 0)
	})
}

// What Windows 11 does to the sound of a microphone reaches the client if the user wants that, where the catalogue asks for it. Windows is
// asked for no effects else.
func TestEffectsOfCoreAudio(t *testing.T) {
	forEachTransport(t, "/nonexistent", []string{"websocket"}, func(p prefix, d desk) {
		do, _ := p.standIn()
		do("cancel")
		unasked := p.runAgent(d)
		p.awaitMute(d, false)
		mic, _ := microphone(d.list())
		require.Nil(p.t, mic.EchoCancellation)
		out, code := p.run("sidetone.exe", "stop")
		require.Zero(p.t, code, out)
		<-unasked.ended
		p.awaitList(d, 0)

		asked := d
		asked.flags = append(slices.Clone(d.flags), "--sources-effects=true")
		p.runAgent(asked)
		for _, on := range []bool{true, false, true} {
			do(map[bool]string{true: "cancel", false: "leave"}[on])
			p.eventually(fmt.Sprintf("echo cancellation is %t", on), func() bool {
				mic, ok := microphone(d.list())
				return ok && mic.EchoCancellation != nil && *mic.EchoCancellation == on
			})
		}
		mic, _ = microphone(d.list())
		require.False(p.t, *mic.NoiseSuppression)
		require.Nil(p.t, mic.AutomaticGainControl, "Windows does not list it")
		out, _ = p.run("sidetone.exe", "explain", mic.ID)
		require.Regexp(p.t, `echo_cancellation +true +os_effects`, out)
	})
}
