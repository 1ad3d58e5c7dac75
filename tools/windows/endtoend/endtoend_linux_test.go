// Package endtoend tests the agent for Windows as a whole: its programs under Wine, with clients under Wine and on Linux.
package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/fakeserver"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

var programs = flag.String("programs", "", "the folder of sidetone.exe and fakeserver.exe; none: nothing is tested")

// patience is how long what must happen is waited for. Wine starts a program in half a second, and its services in several.
const patience = 2 * time.Minute

// A prefix is a Wine of the test's own.
type prefix struct {
	t      *testing.T
	folder string
	env    []string
}

// newPrefix makes one whose sound is that of a server of the test's own.
func newPrefix(t *testing.T, socket string) prefix {
	if *programs == "" {
		t.Skip("no programs for Windows are named: 'make test-windows' does that")
	}
	folder := filepath.Join(t.TempDir(), "prefix")
	p := prefix{t, folder, append(os.Environ(), "WINEPREFIX="+folder, "PULSE_SERVER=unix:"+socket)}
	p.wine("prefix", folder)
	t.Cleanup(func() { p.wine("end") })
	return p
}

func (p prefix) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "../wine.sh", args...)
	cmd.Env = p.env
	return cmd
}

func (p prefix) wine(args ...string) {
	out, err := p.command(context.Background(), args...).CombinedOutput()
	require.NoError(p.t, err, "%s", out)
}

// path is where a program is: one that is named by its name alone is of those that are tested.
func path(program string) string {
	if strings.ContainsAny(program, `/\`) {
		return program
	}
	return filepath.Join(*programs, program)
}

// run runs a program, and returns what it says and its exit code.
func (p prefix) run(program string, args ...string) (out string, code int) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := p.command(ctx, append([]string{"run", path(program)}, args...)...)
	said, err := cmd.CombinedOutput()
	require.NoError(p.t, ctx.Err(), "%s %v says %s", program, args, said)
	if err != nil {
		require.ErrorAs(p.t, err, new(*exec.ExitError))
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// A process is a program that runs in a prefix.
type process struct {
	*exec.Cmd
	output bytes.Buffer // all that it says, when it has ended
	folder string       // of the file in which that is until then
	ended  chan struct{}
}

// start has a program run until it or the test ends, which ends all of the prefix.
func (p prefix) start(program string, args ...string) *process {
	c := &process{folder: p.t.TempDir(), ended: make(chan struct{})}
	c.Cmd = p.command(context.Background(), append([]string{"run", path(program)}, args...)...)
	c.Env = append(slices.Clone(c.Env), "TMPDIR="+c.folder)
	c.Stdout, c.Stderr = &c.output, &c.output
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(p.t, c.Start())
	go func() {
		_ = c.Wait()
		close(c.ended)
	}()
	p.t.Cleanup(func() {
		p.wine("end")
		<-c.ended
		if p.t.Failed() {
			p.t.Logf("%s %v said:\n%s", program, args, &c.output)
		}
	})
	return c
}

// said is what the program has said so far.
func (c *process) said() string {
	select {
	case <-c.ended:
		return c.output.String()
	default:
	}
	files, _ := filepath.Glob(filepath.Join(c.folder, "*"))
	if len(files) == 0 {
		return ""
	}
	text, _ := os.ReadFile(files[0])
	return string(text)
}

// microphone is that of the list.
func microphone(list []fakeserver.Device) (fakeserver.Device, bool) {
	i := slices.IndexFunc(list, func(d fakeserver.Device) bool { return d.Type == fakeserver.AudioInput })
	if i < 0 {
		return fakeserver.Device{}, false
	}
	return list[i], true
}

// A headset of PulseAudio is an endpoint of Wine's, which the agent there reports: to a client in there over its pipe, and to one on
// this side over its port. Each desk has one client: a port beside a pipe could be that of the same client, and waits.
func TestTheAgentUnderWine(t *testing.T) {
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	_, err := sound.PlugHeadset(t.Context(), testlab.Headset{Name: "headset", Description: "Acme Headset 700", VID: "1209", PID: "0700"})
	require.NoError(t, err)
	forEachTransport(t, sound.Socket(), []string{"websocket", "http"}, func(p prefix, client desk) { p.report(client) })
}

// A desk is a client, and what the agent is to be told of it.
type desk struct {
	list  func() []fakeserver.Device
	flags []string
}

// forEachTransport tests with a pipe, and with the other transports that are named, each in a prefix of its own.
func forEachTransport(t *testing.T, sound string, others []string, test func(prefix, desk)) {
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		p, kept := newPrefix(t, sound), filepath.Join(t.TempDir(), "kept.json")
		const pipes = `\\.\pipe\sidetone-test`
		p.start("fakeserver.exe", "--no-tcp", "--ipc", pipes, "--state", kept)
		test(p, desk{
			func() []fakeserver.Device { return keptBy(kept) },
			[]string{"--rpc-transports=ipc", "--rpc-ports", strconv.Itoa(ipctest.Port(t)), "--rpc-ipc-folders", pipes},
		})
	})
	for _, transport := range others {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			p := newPrefix(t, sound)
			client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			test(p, desk{client.Devices, []string{
				"--rpc-transports", transport, "--rpc-ports", strconv.Itoa(client.Port()), "--rpc-ipc-folders", `\\.\pipe\sidetone-none`,
				"--rpc-tokens=50", // which the client has, too
			}})
		})
	}
}

// runAgent has the agent run with the example's catalogue.
func (p prefix) runAgent(d desk) *process {
	catalogue := filepath.Join(p.t.TempDir(), "acme.yaml")
	require.NoError(p.t, os.WriteFile(catalogue, examples.Acme, 0o600))
	return p.start("sidetone.exe", append([]string{"run", "--catalogue", catalogue}, d.flags...)...)
}

// eventually waits for what must happen.
func (p prefix) eventually(what string, check func() bool) {
	p.t.Helper()
	require.Eventually(p.t, check, patience, 20*time.Millisecond, what)
}

// awaitList waits until the client has as many devices.
func (p prefix) awaitList(d desk, devices int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d devices are reported", devices), func() bool { return len(d.list()) == devices })
}

// awaitMute waits until the client has the mute of the microphone.
func (p prefix) awaitMute(d desk, on bool) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("the mute %t is reported", on), func() bool {
		mic, ok := microphone(d.list())
		return ok && mic.HardwareMute != nil && *mic.HardwareMute == on
	})
}

// report runs the agent, has it report the headset and a mute that another process says, and asks it what it knows.
func (p prefix) report(d desk) {
	t := p.t
	p.runAgent(d)
	p.awaitList(d, 2)
	mic, ok := microphone(d.list())
	require.True(t, ok)
	require.Regexp(t, `^\{0\.0\.1\.00000000\}\.\{[0-9A-Fa-f-]{36}\}$`, mic.ID)
	require.Equal(t, "Acme Headset 700", mic.Model.Name)
	for _, on := range []bool{true, false} {
		out, code := p.run("sidetone.exe", "push", "acme-headset-700", "hardware_mute="+strconv.FormatBool(on), "--ttl", "10m")
		require.Zero(t, code, out)
		p.awaitMute(d, on)
	}
	out, code := p.run(exampleInC(t), "acme-headset-700", "true")
	require.Zero(t, code, out)
	require.Contains(t, out, `"units":1`)
	p.awaitMute(d, true)
	for _, c := range []struct{ want, verb string }{
		{mic.ID, "devices"}, {"audio", "status"}, {mic.ID, "explain " + mic.ID}, {"The source audio works", "doctor"},
	} {
		out, _ := p.run("sidetone.exe", strings.Fields(c.verb)...)
		require.Contains(t, out, c.want, "sidetone %s", c.verb)
	}
}

// keptBy are the devices in the state file of a fakeserver.
func keptBy(path string) []fakeserver.Device {
	var state struct {
		Lists []struct {
			Devices []fakeserver.Device `json:"devices"`
		} `json:"lists"`
	}
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &state) != nil || len(state.Lists) == 0 {
		return nil
	}
	return state.Lists[0].Devices
}

// exampleInC is a vendor's program that pushes a state, for Windows.
func exampleInC(t *testing.T) string {
	program := filepath.Join(t.TempDir(), "push.exe")
	out, err := exec.Command("x86_64-w64-mingw32-gcc", "-Wall", "-o", program, "../../../examples/push/push.c", "-ladvapi32").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// What a recording, a session of learning, a catalogue and a file of endpoints come to is the same on each system, to the letter.
func TestItSaysWhatItSaysOnLinux(t *testing.T) {
	p := newPrefix(t, "/nonexistent")
	native := filepath.Join(t.TempDir(), "sidetone")
	require.NoError(t, testlab.Build(native, "sidetone/cmd/agent"))
	const top = "../../.."
	acme, mute := top+"/examples/acme.yaml", top+"/examples/traces/headset-700-mute.jsonl"
	desk := filepath.Join(t.TempDir(), "desk.yaml")
	require.NoError(t, os.WriteFile(desk, []byte(`endpoints:
  - {id: mic, type: audioinput, name: Headset, bus: usb, vid: "1209", pid: "0700", serial: A1, container: c, mute: true, default: true}
  - {id: speaker, type: audiooutput, name: Headset, bus: usb, vid: "1209", pid: "0700", serial: A1, container: c}
  - {id: other, type: audioinput, name: 'Mikrofon (ünï 🎧)', bus: usb, vid: "0b0e", pid: "0422"}
`), 0o600))
	for name, args := range map[string][]string{
		"replay":         {"replay", mute, "--catalogue", acme},
		"its lists":      {"replay", mute, "--catalogue", acme, "--lists"},
		"no recording":   {"replay", acme},
		"learn":          {"learn", "--from", top + "/internal/hid/learn/testdata/sessions/level-beside-battery.jsonl"},
		"learn nothing":  {"learn", "--from", top + "/internal/hid/learn/testdata/sessions/silent.jsonl"},
		"catalogue":      {"catalogue", "check", acme},
		"its recordings": {"catalogue", "test", acme},
		"devices": {
			"devices", "--catalogue", acme, "--sources-files", desk,
			"--sources-audio=false", "--sources-camera=false", "--sources-hid=false", "--report-audio-id=native", // else each system has its own
		},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(native, args...)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
			want, err := cmd.CombinedOutput()
			if err != nil {
				require.ErrorAs(t, err, new(*exec.ExitError))
			}
			got, code := p.run("sidetone.exe", args...)
			require.Equal(t, duration.ReplaceAllString(string(want), ""), duration.ReplaceAllString(asOnLinux.Replace(got), ""))
			require.Equal(t, cmd.ProcessState.ExitCode(), code)
		})
	}
}

// asOnLinux writes paths as Linux does, and duration is how long a replay took.
var (
	asOnLinux = strings.NewReplacer("Z:", "", "\\", "/")
	duration  = regexp.MustCompile(` in [0-9.e-]+ s \([0-9]+ x real time\)`)
)
