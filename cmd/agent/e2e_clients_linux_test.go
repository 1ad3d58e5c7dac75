package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

// TestClients runs the agent beside clients that are processes of their own, as on a real
// desktop.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		test func(*testing.T, *testlab.SoundServer)
	}{
		{"three desktops", threeDesktops},
		{"three desktops over HTTP", threeDesktopsOverHTTP},
		{"no token left", noTokenLeft},
		{"a client that never answers", neverAnswers},
		{"among strangers", amongStrangers},
		{"another user's client", anotherUsersClient},
		{"a file in the socket's place", fileInPlaceOfSocket},
		{"a sandboxed client that comes later", sandboxedClient},
		{"the first client only", firstClientOnly},
		{"what is left behind", leftBehind},
		{"new settings", newSettings},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, testlab.SoundForTest(t, testlab.PulseAudio))
		})
	}
}

// threeDesktops has Stable, PTB and Canary, each of which learns of everything at once.
func threeDesktops(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound)
	all := []*fake{a.fake("desktop"), a.fake("desktop"), a.fake("desktop")}
	a.start()
	hs := a.plugForTest(headset700)
	a.mute(hs, true)
	for _, f := range all {
		f.hasList(pair("Acme Headset 700", true)...)
	}
	for i, f := range all {
		later := len(all) - 1 - i // each of those clients looked whether this one's socket is abandoned
		require.Equal(t, later+2, f.connections(), "one of the agent, and this one")
	}

	all[1].kill()
	a.mute(hs, false)
	all[0].hasList(pair("Acme Headset 700", false)...)
	all[2].hasList(pair("Acme Headset 700", false)...)
	a.mute(hs, true)
	all[0].hasList(pair("Acme Headset 700", true)...) // the agent knows it
	all[1].start()
	for _, f := range all {
		f.hasList(pair("Acme Headset 700", true)...)
	}
	require.Len(t, all[1].payloads(), 1, "the full list, at once")
	require.Eventually(t, func() bool { return len(a.entries("full list sent")) == 4 }, patience, patience/1000, "the agent has the answers, too")

	a.signal(syscall.SIGTERM)
	a.exit()
	sent := make(map[string]int)
	for _, e := range a.entries("full list sent") {
		require.EqualValues(t, fakeserver.IPC, e["sent to"], e)
		sent[fmt.Sprint(e["socket"], " ", e["client"])]++
	}
	for _, f := range all {
		f.hasList()
		f.spotless(fakeserver.IPC)
		for _, g := range f.payloads() {
			require.Equal(t, f.payloads()[0].Conn, g.Conn, "one handshake for all lists")
		}
		require.Equal(t, 1, sent[f.socket+" "+program("fakeserver", f.cmd.Process.Pid)], sent)
	}
}

// threeDesktopsOverHTTP has clients without IPC, which refuse the WebSocket and take one list
// each refill. Each gets the newest state, and never an older one after it: a headset that was
// plugged in stays.
func threeDesktopsOverHTTP(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound, "SIDETONE_RPC_ORIGIN=https://acme.example", "SIDETONE_RPC_TOKEN_EVERY=300ms")
	var all []*fake
	for range 3 {
		all = append(all, a.fake("desktop", "--ipc", "off", "--refill", "300ms"))
	}
	a.start()
	want := []fakeserver.Device{}
	var first *testlab.PluggedHeadset
	for i := range 5 {
		h := headset700
		h.Name, h.Serial = fmt.Sprint("acme", i), fmt.Sprint("A700-", i)
		h.Description = fmt.Sprint("Acme Headset 700 no. ", i)
		hs := a.plugForTest(h)
		if i == 0 {
			first = hs
		}
		for _, on := range []bool{true, false, true} {
			a.mute(first, on)
		}
		want = append(want, pair(h.Description, i == 0)...)
	}
	for _, f := range all {
		f.hasDevices(want...)
		plugged := 0
		for _, g := range f.payloads() {
			require.GreaterOrEqual(t, len(g.Payload.Args.Devices), plugged, "payload %d is older than the one before", g.Seq)
			plugged = len(g.Payload.Args.Devices)
		}
		f.spotless(fakeserver.HTTP)
	}
	reasons := a.entries("transport given up")
	require.Len(t, reasons, len(all), "each client refuses once")
	for _, e := range reasons {
		require.EqualValues(t, rpcclient.WebSocket, e["transport"], e)
		require.Contains(t, e["reason"], "4001")
		require.Contains(t, e["remedy"], "rpc_origin")
	}
	for _, e := range a.entries("reported", "full list sent") {
		require.EqualValues(t, fakeserver.HTTP, e["sent to"], e)
	}
	a.signal(syscall.SIGTERM)
	a.exit()
}

// noTokenLeft has a client that lets three requests through: the WebSocket that it refuses and
// two lists. What comes after waits in the agent, and not in the client's queue. That can only
// be asked of a client in this process.
func noTokenLeft(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound, "SIDETONE_RPC_ORIGIN=https://acme.example", "SIDETONE_RPC_TOKENS=3", "SIDETONE_RPC_TOKEN_EVERY=1h")
	client, err := fakeserver.Start(fakeserver.Options{Profile: fakeserver.Desktop, Ports: []int{ipctest.Port(t)}, Bucket: 3, Refill: time.Hour})
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	a.ports = []int{client.Port()}
	d := &desk{agentRun: a, client: client}
	hs := d.plugForTest(headset700)
	d.start()
	d.hasList(pair("Acme Headset 700", false)...)
	d.mute(hs, true)
	d.hasList(pair("Acme Headset 700", true)...)
	for _, on := range []bool{false, true, false} {
		d.mute(hs, on)
	}
	require.Never(t, func() bool { return client.Stats().Waited > 0 }, quiet, quiet/10)
	d.signal(syscall.SIGTERM)
	d.exit()
	require.Contains(t, d.logged("the client keeps the last list: it could not be changed")["reason"], "over HTTP")
	st := client.Stats()
	require.Equal(t, [3]int{2, 3, 0}, [3]int{st.Payloads, st.Spent, st.Waited})
	d.spotless()
}

// neverAnswers has a client that greets and does not know the command: it gets each list once in each of its lives, as nothing is known
// to have been taken, and over the same connection, where that costs nothing.
func neverAnswers(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound, "SIDETONE_RPC_ANSWER_TIMEOUT=300ms")
	f := a.fake("arrpc")
	hs := a.plugForTest(headset700)
	a.start()
	const unknown = "client does not know certified devices"
	require.Contains(t, a.logged(unknown)["remedy"], "official client")
	askedOnce := func() {
		t.Helper()
		f.has("a list", func(list []got) bool { return len(list) > 0 })
		require.Never(t, func() bool { return len(f.payloads()) > 1 }, quiet, quiet/10)
	}
	askedOnce()
	for i := range 20 {
		a.mute(hs, i%2 == 0)
	}
	want := text(pair("Acme Headset 700", false))
	f.has(want, func(all []got) bool { return len(all) > 1 && text(all[len(all)-1].Payload.Args.Devices) == want })
	for _, p := range f.payloads() {
		require.Equal(t, [2]any{fakeserver.IPC, f.payloads()[0].Conn}, [2]any{p.Transport, p.Conn})
	}
	f.quit()
	f.start()
	a.logged(unknown)
	askedOnce()
	a.signal(syscall.SIGTERM)
	a.exit()
	require.Len(t, f.payloads(), 2)
	require.Empty(t, f.payloads()[1].Payload.Args.Devices, "the farewell: it may have taken the list")
	require.Len(t, a.entries(unknown), 2, "once for each life")
}

// amongStrangers has all that may stand where a client is looked for. The client gets
// everything, and those that have not proved to be one learn nothing.
func amongStrangers(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound, "SIDETONE_RPC_ANSWER_TIMEOUT=2s") // in which the desktop's has to answer
	arrpc, squatter, hole := a.fake("arrpc"), a.fake("squatter"), a.fake("blackhole")
	desktop := a.fake("desktop")
	a.start()
	hs := a.plugForTest(headset700)
	for i := range 6 {
		a.mute(hs, i%2 == 0)
		desktop.hasList(pair("Acme Headset 700", i%2 == 0)...)
	}
	a.logged("client does not know certified devices")
	a.signal(syscall.SIGTERM)
	a.exit()
	desktop.hasList()
	desktop.spotless(fakeserver.IPC)
	told := arrpc.payloads()
	require.Empty(t, told[len(told)-1].Payload.Args.Devices, "the farewell: it may have taken a list")
	for _, f := range []*fake{squatter, hole} {
		confided, _ := f.lists.snapshot()
		require.NotContains(t, strings.Join(confided, "\n"), "Acme", "%v", f.args)
	}
}

// anotherUsersClient has a client of this user and one of another, who is told nothing. That
// one knows no application, so it would remark on a handshake.
func anotherUsersClient(t *testing.T, sound *testlab.SoundServer) {
	needsRoot(t)
	a := newAgentRun(t, sound)
	theirs := a.newFake("desktop", "--client-id", "999999999999999999")
	theirs.user = asNobody
	theirs.start()
	ours := a.fake("desktop")
	a.start()
	hs := a.plugForTest(headset700)
	for _, on := range []bool{true, false, true} {
		a.mute(hs, on)
		ours.hasList(pair("Acme Headset 700", on)...)
	}
	a.signal(syscall.SIGTERM)
	a.exit()
	ours.hasList()
	ours.spotless(fakeserver.IPC)
	require.Equal(t, 3, theirs.connections(), "one of our client, which looked whether the socket is abandoned, one of the agent, which asked whose it is, and this one")
	require.Empty(t, theirs.payloads())
	remarks, _ := theirs.remark.snapshot()
	require.Len(t, remarks, 1, "but for where it listens")
	for _, e := range a.entries("full list sent", "reported") {
		require.Equal(t, program("fakeserver", ours.cmd.Process.Pid), e["client"], e)
	}
}

// fileInPlaceOfSocket has a file where a client would have its socket, which then takes the next.
func fileInPlaceOfSocket(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound)
	file := a.folder + "/discord-ipc-0"
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	f := a.fake("desktop")
	require.Equal(t, a.folder+"/discord-ipc-1", f.socket)
	a.start()
	a.plugForTest(headset700)
	f.hasList(pair("Acme Headset 700", false)...)
	a.signal(syscall.SIGTERM)
	a.exit()
	f.hasList()
	f.spotless(fakeserver.IPC)
	require.FileExists(t, file)
}

// sandboxedClient has a Flatpak client, whose folder does not exist before it is started.
func sandboxedClient(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound)
	folder := a.folder + "/app/com.discordapp.Discord"
	f := a.newFake("desktop", "--no-tcp", "--ipc", folder)
	a.start()
	a.mute(a.plugForTest(headset700), true)
	a.logged("no client to report to")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	f.start()
	require.Equal(t, folder+"/discord-ipc-0", f.socket)
	f.hasList(pair("Acme Headset 700", true)...)
	a.signal(syscall.SIGTERM)
	a.exit()
	f.hasList()
	f.spotless(fakeserver.IPC)
}

// TestSocketWithoutPermission is a first run as a user whom the client's socket does not let in.
func TestSocketWithoutPermission(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	file := openFolder(t) + "/endpoints.yaml"
	require.NoError(t, os.WriteFile(file, []byte(`endpoints: [{id: mic, type: audioinput, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", mute: true}]`), 0o644))
	a := newAgentRun(t, nil, "HOME=/nonexistent", "XDG_CONFIG_HOME=", brandEnv+"=/nonexistent/agent", "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_FILES="+file)
	catalogue, err := os.ReadFile(a.catalogue)
	require.NoError(t, err)
	a.catalogue = openFolder(t) + "/acme.yaml"
	require.NoError(t, os.WriteFile(a.catalogue, catalogue, 0o644))
	a.user = asNobody
	f := a.fake("desktop", "--no-tcp")
	a.start()
	require.Contains(t, a.logged("no client to report to")["reason"], "no client found on any IPC socket")
	a.signal(syscall.SIGTERM)
	a.exit()
	require.Empty(t, f.payloads())
}

// firstClientOnly serves one client, as the specification asks for, and the next when that goes.
func firstClientOnly(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound, "SIDETONE_RPC_CLIENTS=first")
	first, second := a.fake("desktop"), a.fake("desktop")
	a.start()
	hs := a.plugForTest(headset700)
	for _, on := range []bool{true, false, true} {
		a.mute(hs, on)
		first.hasList(pair("Acme Headset 700", on)...)
	}
	require.Empty(t, second.payloads())
	first.quit()
	second.hasList(pair("Acme Headset 700", true)...)
	a.mute(hs, false)
	second.hasList(pair("Acme Headset 700", false)...)
	first.start() // too late: the other one is served now
	a.mute(hs, true)
	second.hasList(pair("Acme Headset 700", true)...)
	require.Empty(t, first.payloads())
	a.signal(syscall.SIGTERM)
	a.exit()
	second.hasList()
	require.Empty(t, first.payloads())
}

// leftBehind ends the agent under each policy for that.
func leftBehind(t *testing.T, sound *testlab.SoundServer) {
	silent := pair("Acme Headset 700", true)
	silent[1].HardwareMute = nil
	for policy, want := range map[string][]fakeserver.Device{
		"clear": nil, "unmute": silent, "leave": pair("Acme Headset 700", true),
	} {
		t.Run(policy, func(t *testing.T) {
			a := newAgentRun(t, sound, "SIDETONE_RPC_ON_EXIT="+policy)
			all := a.desktops(2)
			a.start()
			a.mute(a.plugForTest(headset700), true)
			var before int
			for _, f := range all {
				f.hasList(pair("Acme Headset 700", true)...)
				before += len(f.payloads())
			}
			a.signal(syscall.SIGTERM)
			a.exit()
			for _, f := range all {
				f.hasList(want...)
				f.spotless(fakeserver.IPC)
				before -= len(f.payloads())
			}
			require.Equal(t, policy == "leave", before == 0)
		})
	}
}

// newSettings changes what the settings say of clients while three of them are served.
func newSettings(t *testing.T, sound *testlab.SoundServer) {
	a := newAgentRun(t, sound)
	file := write(t, "config.yaml", "rpc: {clients: all}\n")
	a.args = []string{"--config", file}
	all := a.desktops(3)
	change := func(content string) {
		t.Helper()
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		a.signal(syscall.SIGHUP)
	}
	a.start()
	hs := a.plugForTest(headset700)
	a.mute(hs, true)
	sent := func() (n int) {
		for _, f := range all {
			n += len(f.payloads())
		}
		return n
	}
	for _, f := range all {
		f.hasList(pair("Acme Headset 700", true)...)
	}

	before := sent()
	change("rpc: {clients: all, on_exit: clear}\n")
	a.logged("configuration read again")
	change("rpc: {clients: some}\n")
	require.Contains(t, a.logged("the old configuration stays in force")["reason"], file+":1:16: ")
	a.mute(hs, false)
	for _, f := range all {
		f.hasList(pair("Acme Headset 700", false)...)
	}
	require.Equal(t, before+len(all), sent(), "settings that change nothing send nothing")

	change("rpc: {clients: first}\n")
	all[1].hasList()
	all[2].hasList()
	a.mute(hs, true)
	all[0].hasList(pair("Acme Headset 700", true)...)
	all[1].hasList()
	all[2].hasList()

	change("rpc: {clients: all, transports: [http], tokens: 1000}\n")
	for _, f := range all {
		f.has("the list, over HTTP", func(list []got) bool {
			g := list[len(list)-1]
			return g.Transport == fakeserver.HTTP && text(g.Payload.Args.Devices) == text(pair("Acme Headset 700", true))
		})
	}
	change("rpc: {on_exit: unmute, tokens: 1000}\n")
	for _, f := range all {
		f.has("the list, over IPC again", func(list []got) bool {
			g := list[len(list)-1]
			return g.Transport == fakeserver.IPC && text(g.Payload.Args.Devices) == text(pair("Acme Headset 700", true))
		})
	}
	a.signal(syscall.SIGTERM)
	a.exit()
	silent := pair("Acme Headset 700", true)
	silent[1].HardwareMute = nil
	for _, f := range all {
		f.hasList(silent...)
	}
}
