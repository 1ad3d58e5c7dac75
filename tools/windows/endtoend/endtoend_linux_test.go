package endtoend

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
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
const patience = 30 * time.Second

// A prefix is a Wine of the test's own, whose sound is that of a server of the test's own.
type prefix struct {
	t   *testing.T
	env []string
}

func newPrefix(t *testing.T, sound *testlab.SoundServer) prefix {
	folder := filepath.Join(t.TempDir(), "prefix")
	p := prefix{t, append(os.Environ(), "WINEPREFIX="+folder, "PULSE_SERVER=unix:"+sound.Socket())}
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

// run runs a program, and returns what it says and its exit code.
func (p prefix) run(program string, args ...string) (out string, code int) {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	cmd := p.command(ctx, append([]string{"run", filepath.Join(*programs, program)}, args...)...)
	said, err := cmd.CombinedOutput()
	require.NoError(p.t, ctx.Err(), "%s %v says %s", program, args, said)
	if err != nil {
		require.ErrorAs(p.t, err, new(*exec.ExitError))
	}
	return string(said), cmd.ProcessState.ExitCode()
}

// start has a program run until the test ends, which ends all of the prefix.
func (p prefix) start(program string, args ...string) {
	cmd := p.command(context.Background(), append([]string{"run", filepath.Join(*programs, program)}, args...)...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(p.t, cmd.Start())
	p.t.Cleanup(func() {
		p.wine("end") // it says what it has to say at its end
		_ = cmd.Wait()
		if p.t.Failed() {
			p.t.Logf("%s %v said:\n%s", program, args, &said)
		}
	})
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
	if *programs == "" {
		t.Skip("no programs for Windows are named: 'make test-windows' does that")
	}
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	_, err := sound.PlugHeadset(t.Context(), testlab.Headset{Name: "headset", Description: "Acme Headset 700", VID: "1209", PID: "0700"})
	require.NoError(t, err)
	t.Run("pipe", func(t *testing.T) {
		p, kept := newPrefix(t, sound), filepath.Join(t.TempDir(), "kept.json")
		const pipes = `\\.\pipe\sidetone-test`
		p.start("fakeserver.exe", "--no-tcp", "--ipc", pipes, "--state", kept)
		p.report(func() []fakeserver.Device { return keptBy(kept) },
			"--rpc-transports=ipc", "--rpc-ports", strconv.Itoa(ipctest.Port(t)), "--rpc-ipc-folders", pipes)
	})
	for _, transport := range []string{"websocket", "http"} {
		t.Run(transport, func(t *testing.T) {
			client, err := fakeserver.Start(fakeserver.Options{Ports: []int{0}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, client.Close()) })
			newPrefix(t, sound).report(client.Devices,
				"--rpc-transports", transport, "--rpc-ports", strconv.Itoa(client.Port()), "--rpc-ipc-folders", `\\.\pipe\sidetone-none`,
				"--rpc-tokens=50") // which the client has, too
		})
	}
}

// report runs the agent with further flags, has it report the headset and a mute that another process says, and asks it what it knows.
func (p prefix) report(list func() []fakeserver.Device, flags ...string) {
	t := p.t
	catalogue := filepath.Join(t.TempDir(), "acme.yaml")
	require.NoError(t, os.WriteFile(catalogue, examples.Acme, 0o600))
	p.start("sidetone.exe", append([]string{"run", "--catalogue", catalogue}, flags...)...)
	eventually := func(what string, check func() bool) {
		t.Helper()
		require.Eventually(t, check, patience, 20*time.Millisecond, "%s: %v", what, list())
	}
	eventually("the headset is reported", func() bool { return len(list()) == 2 })
	mic, ok := microphone(list())
	require.True(t, ok)
	require.Regexp(t, `^\{0\.0\.1\.00000000\}\.\{[0-9A-Fa-f-]{36}\}$`, mic.ID)
	require.Equal(t, "Acme Headset 700", mic.Model.Name)
	for _, on := range []bool{true, false} {
		out, code := p.run("sidetone.exe", "push", "acme-headset-700", "hardware_mute="+strconv.FormatBool(on), "--ttl", "10m")
		require.Zero(t, code, out)
		eventually("its mute is reported", func() bool {
			mic, ok := microphone(list())
			return ok && mic.HardwareMute != nil && *mic.HardwareMute == on
		})
	}
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
