package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/report"
	"sidetone/internal/testlab"
	"sidetone/internal/timeline"
)

// controlled is a desk whose agent has its local API in a folder of its own.
type controlled struct {
	*desk
	socket string
}

func newControlled(t *testing.T, sound *testlab.SoundServer) *controlled {
	t.Helper()
	folder, err := os.MkdirTemp("", "api") // a socket's path has to be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	d := &controlled{desk: newDesk(t, sound), socket: filepath.Join(folder, "agent.sock")}
	d.env = append(d.env, d.setting())
	return d
}

func (d *controlled) setting() string { return "SIDETONE_CONTROL_SOCKET=" + d.socket }

// ask runs a verb of the command line against the agent of d.
func (d *controlled) ask(args ...string) (stdout, stderr string, code int) {
	d.t.Helper()
	cmd := child(d.t, privateEnv(d.t, nil, d.setting()), args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(d.t, err, &exit, errs.String())
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// request sends one HTTP request to the local API, as curl --unix-socket does.
func (d *controlled) request(method, path, body string) (status int, answer string) {
	d.t.Helper()
	c := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", d.socket)
		},
	}}
	req, err := http.NewRequestWithContext(d.ctx, method, "http://localhost"+path, strings.NewReader(body))
	require.NoError(d.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(req)
	require.NoError(d.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(d.t, err)
	return resp.StatusCode, string(text)
}

// microphone is the system's id of the only one.
func (d *controlled) microphone() string {
	d.t.Helper()
	_, answer := d.request(http.MethodGet, "/v1/devices", "")
	var list control.Devices
	require.NoError(d.t, json.Unmarshal([]byte(answer), &list), answer)
	i := slices.IndexFunc(list.Reported, func(r devices.Report) bool { return r.Type == devices.AudioInput })
	require.GreaterOrEqual(d.t, i, 0, answer)
	return list.Reported[i].Endpoints[0].ID
}

// TestControl pushes states as a vendor's software does, and asks the agent why the client has
// what it has.
func TestControl(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.start()
	d.hasNone()
	for _, path := range []string{"/v1/status", "/v1/devices"} { // with nothing to list
		_, answer := d.request(http.MethodGet, path, "")
		require.NotContains(t, answer, ":null", "%s has empty lists", path)
	}
	hs := d.plugForTest(headset700)
	d.hasList(pair("Acme Headset 700", false)...)

	t.Run("a push and the end of its lease", func(t *testing.T) {
		status, answer := d.request(http.MethodPut, "/v1/states/acme-headset-700", muteForAWhile)
		require.Equal(t, http.StatusOK, status, answer)
		require.Contains(t, answer, `"units":1`)
		require.Contains(t, answer, `"until":"20`)
		d.hasList(pair("Acme Headset 700", true)...)
		out, errs, code := d.ask("explain", "--control-socket", d.socket, d.microphone())
		require.Zero(t, code, errs)
		require.Regexp(t, `hardware_mute +true +push \(suite\)`, out)
		require.Regexp(t, `sources\[1\] +false, os_endpoint_mute .*: overruled`, out)
		status, answer = d.request(http.MethodPut, "/v1/states/acme-headset-700", `{"owner":"suite","ttl_ms":100,"state":{"hardware_mute":true}}`)
		require.Equal(t, http.StatusOK, status, answer)
		d.hasList(pair("Acme Headset 700", false)...)
		require.Contains(t, d.logged("pushed state taken back")["reason"], "lease")
	})
	t.Run("timeline", func(t *testing.T) {
		// What the client has acknowledged follows what the agent reports.
		want := []string{timeline.False, timeline.True, timeline.False}
		testlab.Eventually(t, "the timeline has the push, and that the client has it", func() bool {
			_, answer := d.request(http.MethodGet, "/v1/timeline", "")
			var tl timeline.Timeline
			require.NoError(t, json.Unmarshal([]byte(answer), &tl), answer)
			said := make(map[timeline.Kind][]string)
			for _, l := range tl.Lanes {
				for _, c := range l.Changes {
					if l.Flag == devices.HardwareMute || l.Kind == timeline.KindClient {
						said[l.Kind] = append(said[l.Kind], c.To)
					}
				}
			}
			return slices.Equal(want, said[timeline.KindFlag]) && slices.Equal(want, said[timeline.KindAcknowledged]) &&
				slices.Contains(said[timeline.KindClient], "ready")
		})
	})
	t.Run("completion", func(t *testing.T) {
		complete := func(args ...string) string {
			o := sidetone(t, []string{d.setting()}, append([]string{"__complete"}, args...)...)
			require.Equal(t, exitOK, o.code, o.stderr)
			return o.stdout
		}
		require.Contains(t, complete("push", ""), "acme-headset-700\tAcme Headset 700\n")
		flags := complete("push", "acme-headset-700", "noise_suppression=true", "")
		require.Contains(t, flags, "hardware_mute=true\nhardware_mute=false\nhardware_mute=clear\n")
		require.NotContains(t, flags, "noise_suppression")
		require.Contains(t, complete("explain", ""), d.microphone()+"\t")
	})
	t.Run("a pusher that is killed", func(t *testing.T) {
		pusher := racedChild(t, privateEnv(t, nil, d.setting()),
			"push", "acme-headset-700", "hardware_mute=true", "--ttl", "0", "--owner", "suite")
		require.NoError(t, pusher.Start())
		d.hasList(pair("Acme Headset 700", true)...)
		require.NoError(t, pusher.Process.Kill())
		_ = pusher.Wait()
		d.hasList(pair("Acme Headset 700", false)...)
	})
	t.Run("watch", func(t *testing.T) {
		watcher := racedChild(t, privateEnv(t, nil, d.setting()), "watch")
		out, err := watcher.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, watcher.Start())
		lines := bufio.NewScanner(out)
		next := func() string {
			require.True(t, lines.Scan(), "it has ended: %v", lines.Err())
			return lines.Text()
		}
		require.Regexp(t, `Acme Headset 700 plugged in; Acme Headset 700: hardware_mute is false, from os_endpoint_mute \(.*: ready`, next(), "what there is")
		d.mute(hs, true)
		require.Regexp(t, `Acme Headset 700: hardware_mute is true, from os_endpoint_mute \(.*\)$`, next())
		d.mute(hs, false)
		next()
		// As 'watch | head -3' ends: at once, and not when the next change cannot be written.
		require.NoError(t, out.Close())
		require.NoError(t, watcher.Wait())
	})
	t.Run("status", func(t *testing.T) {
		d.mute(hs, true)
		d.hasList(pair("Acme Headset 700", true)...)
		out, _, code := d.ask("status")
		require.Zero(t, code)
		require.Regexp(t, `hardware_mute +true +os_endpoint_mute \(.*\), for \d`, out)
		require.Regexp(t, `noise_suppression +unknown +not sent: no source knows`, out)
		require.Regexp(t, `audio +ok +\d+ endpoints`, out)
		require.Regexp(t, `ready +.*over (ipc|websocket).*2 devices, delivered`, out)
		d.mute(hs, false)
		d.hasList(pair("Acme Headset 700", false)...)
	})
	t.Run("refusals", func(t *testing.T) {
		for args, want := range map[string]string{
			"push acme-headset-70 hardware_mute=true": "it knows acme-headset-700",
			"explain nothing-like-that":               "'sidetone devices' lists them",
		} {
			_, errs, code := d.ask(strings.Fields(args)...)
			require.Equal(t, exitFailed, code, args)
			require.Contains(t, errs, want)
		}
		_, errs, code := d.ask("push", "acme-headset-700", "hardware_mute=yes")
		require.Equal(t, exitBadInput, code)
		require.Contains(t, errs, "want FLAG=true, FLAG=false or FLAG=clear")
		status, _ := d.request(http.MethodPost, "/v1/states/acme-headset-700", "")
		require.Equal(t, http.StatusMethodNotAllowed, status)
	})
	t.Run("figures of the process", func(t *testing.T) {
		p := d.status().Process
		require.Positive(t, p.MemoryBytes)
		require.Positive(t, p.OpenFiles)
		require.Positive(t, p.Events["delivered"]["ipc"])
		require.Positive(t, p.Events["connected"]["ipc"])
	})
	t.Run("one agent", func(t *testing.T) {
		out, errs, code := d.ask("run", "--catalogue", d.catalogue)
		require.Equal(t, exitFailed, code, out)
		require.Regexp(t, `another agent \(process \d+\) of this user runs already`, errs)
	})
	t.Run("bundle", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "bundle.zip")
		out, errs, code := d.ask("bundle", file)
		require.Zero(t, code, errs)
		require.Contains(t, errs, "nothing was written")
		require.NoFileExists(t, file)
		require.Contains(t, out, "--- devices.json")
		require.Regexp(t, `--- report.html\s+\(status.json and timeline.json as a page, [1-9]\d+ bytes\)\s+---`, out)
		require.Regexp(t, `(?s)--- timeline.json.*"kind": "acknowledged"`, out)
		require.Regexp(t, `"path": "catalogue",\s+"value": "[^"]+",\s+"layer": "flag",\s+"origin": "[^"]+"`, out, "as 'config show --json' has it")
		require.Contains(t, out, `"serial": "SERIAL-`)
		require.NotContains(t, out, headset700.Serial)
		require.Regexp(t, `(?s)--- log.txt.*msg="sidetone runs".*msg=reported.*--- catalogue`, out)
		require.Regexp(t, `"os": "[^"]+Linux [0-9.]+`, out)
		require.Regexp(t, `"audio": "pulseaudio [0-9.]+`, out)
		_, errs, code = d.ask("bundle", "--yes", file)
		require.Zero(t, code, errs)
		require.FileExists(t, file)
	})
	t.Run("report", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "report.html")
		for range 2 { // the second one takes the place of the first
			out, errs, code := d.ask("report", file)
			require.Zero(t, code, errs)
			require.Empty(t, out+errs)
		}
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
		page := read(t, file)
		require.Regexp(t, `(?s)<html lang="en" dir="ltr">.*<h1>.*Acme Audio.*</html>`, page)
		require.Contains(t, page, "accepted by")
		out, _, _ := d.ask("report", "-")
		require.Contains(t, out, report.Mark)

		require.NoError(t, os.WriteFile(file, []byte("<p>something else</p>"), 0o644))
		_, errs, code := d.ask("report", file)
		require.Equal(t, exitFailed, code)
		require.Contains(t, errs, "is no report: name another file, or overwrite it with --force")
		require.Equal(t, "<p>something else</p>", read(t, file))
		_, errs, code = d.ask("report", "--force", file)
		require.Zero(t, code, errs)
		require.Contains(t, read(t, file), report.Mark)

		_, errs, code = d.ask("report", "--lang", "tlh", file)
		require.Equal(t, exitBadInput, code)
		require.Contains(t, errs, `no language "tlh": want one of`)
	})
	t.Run("reload", func(t *testing.T) {
		status, _ := d.request(http.MethodPost, "/v1/reload", "")
		require.Equal(t, http.StatusNoContent, status)
		d.logged("configuration read again")
	})
	d.signal(syscall.SIGTERM)
	d.exit()
	_, errs, code := d.ask("status")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "the agent is not running: start it with 'sidetone run'")
}

func TestParseState(t *testing.T) {
	t.Parallel()
	state, err := parseState([]string{"hardware_mute=true", "noise_suppression=false", "echo_cancellation=clear"})
	require.NoError(t, err)
	require.True(t, *state[devices.HardwareMute])
	require.False(t, *state[devices.NoiseSuppression])
	require.Contains(t, state, devices.EchoCancellation)
	require.Nil(t, state[devices.EchoCancellation])
	for _, bad := range [][]string{{"hardware_mute"}, {"hardware_mute="}, {"hardware_mute=on"}, {"hardware_mute=true", "hardware_mute=false"}} {
		_, err := parseState(bad)
		require.Error(t, err, bad)
	}
}

func TestFindEndpoint(t *testing.T) {
	t.Parallel()
	d := control.Devices{Endpoints: []control.Endpoint{
		{Endpoint: devices.Endpoint{ID: "a", Name: "Acme Mono"}},
		{Endpoint: devices.Endpoint{ID: "b", Name: "Acme Stereo"}},
		{Endpoint: devices.Endpoint{ID: "Acme", Name: "Other"}},
	}}
	for name, want := range map[string]string{"a": "a", "Acme Mono": "a", "stereo": "b", "Acme": "Acme"} {
		e, err := findEndpoint(d, name)
		require.NoError(t, err)
		require.Equal(t, want, e.ID)
	}
	_, err := findEndpoint(d, "acme")
	require.ErrorContains(t, err, "could be any of a (), b ()")
	_, err = findEndpoint(d, "zoo")
	require.ErrorContains(t, err, `no endpoint "zoo"`)
}
