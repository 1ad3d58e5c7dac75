package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/testlab"
)

// recordRun is 'sidetone record' as a process.
type recordRun struct {
	t    *testing.T
	cmd  *exec.Cmd
	file string
	said bytes.Buffer
}

// record starts a recording, and returns when its beginning is in the file.
func (d *controlled) record(args ...string) *recordRun {
	d.t.Helper()
	r := &recordRun{t: d.t, file: filepath.Join(d.t.TempDir(), "recording.jsonl")}
	r.cmd = racedChild(d.t, privateEnv(d.t, nil, d.setting()), append([]string{"record", r.file}, args...)...)
	r.cmd.Stderr = &r.said
	require.NoError(d.t, r.cmd.Start())
	r.holds(`"begin":`)
	return r
}

func (r *recordRun) text() string {
	text, _ := os.ReadFile(r.file) // it may not be there yet
	return string(text)
}

// holds waits until the file has what is given.
func (r *recordRun) holds(part string) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return strings.Contains(r.text(), part) }, patience, 5*time.Millisecond, part)
}

// ends waits for the end of the process, and returns what it has said.
func (r *recordRun) ends() (said string, code int) {
	r.t.Helper()
	_ = r.cmd.Wait()
	return r.said.String(), r.cmd.ProcessState.ExitCode()
}

func (r *recordRun) interrupt() (said string, code int) {
	r.t.Helper()
	require.NoError(r.t, r.cmd.Process.Signal(os.Interrupt))
	return r.ends()
}

// lines are those of the file that are of a kind.
func (r *recordRun) lines(kind string) (found []string) {
	for line := range strings.Lines(r.text()) {
		if strings.Contains(line, `,"`+kind+`":`) && !strings.Contains(line, `"recording":`) {
			found = append(found, line)
		}
	}
	return found
}

const muteForAWhile = `{"owner":"suite","ttl_ms":86400000,"state":{"hardware_mute":true}}`

// TestRecordAndReplay records what happens to a headset, in the middle of it, and replays it.
func TestRecordAndReplay(t *testing.T) {
	t.Parallel()
	sound := testlab.SoundForTest(t, testlab.PulseAudio)
	d := newControlled(t, sound)
	d.start()
	d.hasNone()
	hs := d.plug(headset700)
	d.hasList(pair("Acme Headset 700", false)...)

	r := d.record()
	d.mute(hs, true)
	d.hasList(pair("Acme Headset 700", true)...)
	d.mute(hs, false)
	d.hasList(pair("Acme Headset 700", false)...)
	status, answer := d.request(http.MethodPut, "/v1/states/acme-headset-700", muteForAWhile)
	require.Equal(t, http.StatusOK, status, answer)
	d.hasList(pair("Acme Headset 700", true)...)
	status, _ = d.request(http.MethodPost, "/v1/reload", "")
	require.Equal(t, http.StatusNoContent, status)
	status, _ = d.request(http.MethodPut, "/v1/states/acme-headset-700", strings.Replace(muteForAWhile, "true", "null", 1))
	require.Equal(t, http.StatusOK, status)
	d.hasList(pair("Acme Headset 700", false)...)
	require.NoError(t, hs.Unplug(d.ctx))
	d.hasNone()
	said, code := r.interrupt()
	require.Equal(t, exitOK, code, said)
	require.Regexp(t, `^recorded \d+ inputs? and [5-9] lists in [0-9.]+m?s to `+r.file+"\n$", said)
	require.Regexp(t, `\n\{"t":"[^"]+","end":\{\}\}\n$`, r.text(), "the last line")
	info, err := os.Stat(r.file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.NotEmpty(t, r.lines("client"))
	require.Contains(t, strings.Join(r.lines("client"), ""), `"event":"delivered","to":"`)
	require.Contains(t, strings.Join(r.lines("client"), ""), `"event":"ready"`)
	require.Len(t, r.lines("configure"), 1)
	d.signal(syscall.SIGTERM)
	d.exit()

	t.Run("replay", func(t *testing.T) {
		o := sidetone(t, nil, "replay", r.file)
		require.Equal(t, exitOK, o.code, o.stdout+o.stderr)
		require.Regexp(t, `^replayed \d+ inputs of [0-9.]+m?s in \S+ s \(\d+ x real time\): \d lists, all as recorded\n$`, o.stdout)
		require.Empty(t, o.stderr)
		o = sidetone(t, nil, "replay", "--lists", r.file)
		require.Equal(t, exitOK, o.code)
		require.Equal(t, strings.Join(r.lines("list"), ""), o.stdout, "byte for byte")
		require.Contains(t, o.stderr, "all as recorded")
	})
	t.Run("a list that was tampered with", func(t *testing.T) {
		file := write(t, "tampered.jsonl", strings.Replace(r.text(), `"hardware_mute":true}`, `"hardware_mute":false}`, 1))
		o := sidetone(t, nil, "replay", file)
		require.Equal(t, exitFailed, o.code)
		require.Contains(t, o.stdout, "1 difference to the recording\nat ")
		require.Regexp(t, `another list:\n  audioinput "Acme Headset 700[^"]*": hardware_mute recorded false, replayed true\n$`, o.stdout)
		o = sidetone(t, nil, "replay", "--json", file)
		require.Equal(t, exitFailed, o.code)
		var v verdict
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
		require.Len(t, v.Differences, 1)
		require.True(t, v.Exact)
		require.True(t, *v.Differences[0].Replayed.List.Devices[1].HardwareMute)
		require.False(t, *v.Differences[0].Recorded.List.Devices[1].HardwareMute)
	})
	t.Run("what another catalogue would have changed", func(t *testing.T) {
		o := sidetone(t, nil, "replay", "--catalogue", acme(t, "schema: 1", "schema: 1"), r.file)
		require.Equal(t, exitOK, o.code, o.stdout)
		o = sidetone(t, nil, "replay", "--catalogue", acme(t, "require_hardware_support: false", "require_hardware_support: true"), r.file)
		require.Equal(t, exitFailed, o.code)
		require.Contains(t, o.stdout, "a list that does not come", "the OS's mute counts no more")
		require.Contains(t, o.stdout, "another list", "and is not reported as false either")
	})
	t.Run("a file that exists", func(t *testing.T) {
		o := sidetone(t, nil, "record", r.file)
		require.Equal(t, exitFailed, o.code)
		require.Contains(t, o.stderr, "the agent is not running")
	})
}

// TestRecordings records twice at the same time. Both end in order with the agent.
func TestRecordings(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	file := write(t, "endpoints.yaml", "endpoints: []\n")
	d.env = append(d.env, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false", "SIDETONE_SOURCES_FILES="+file)
	d.start()
	d.hasNone()
	first := d.record()
	plugged := `endpoints: [{id: mic, type: audioinput, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", mute: false}]` + "\n"
	rename := func(text string) { require.NoError(t, os.Rename(write(t, "new.yaml", text), file)) }
	rename(plugged)
	d.hasMute(false)
	second := d.record()
	rename(strings.Replace(plugged, "false", "true", 1))
	d.hasMute(true)
	for _, r := range []*recordRun{first, second} {
		r.holds(`"hardware_mute":true`)
	}

	o := runToEnd(t, racedChild(t, privateEnv(t, nil, d.setting()), "record", first.file))
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stderr, "file exists (--force overwrites it)")
	require.NotContains(t, first.text(), `"end":`)
	forced := write(t, "forced.jsonl", strings.Repeat("something else\n", 10_000))
	require.NoError(t, os.Chmod(forced, 0o644))
	o = runToEnd(t, child(t, privateEnv(t, nil, d.setting()), "record", "--force", "--for", "100ms", forced))
	require.Equal(t, exitOK, o.code, o.stderr)
	info, err := os.Stat(forced)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "not open to others as it was before")
	require.Equal(t, exitOK, sidetone(t, nil, "replay", forced).code)
	o = runToEnd(t, child(t, privateEnv(t, nil, d.setting()), "record", "--for", "1ms", "-"))
	require.Equal(t, exitOK, o.code, o.stderr)
	replayed := child(t, privateEnv(t, nil), "replay", "-")
	replayed.Stdin = strings.NewReader(o.stdout)
	require.Contains(t, runToEnd(t, replayed).stdout, "all as recorded")

	d.signal(syscall.SIGTERM)
	d.exit()
	for _, r := range []*recordRun{first, second} {
		said, code := r.ends()
		require.Equal(t, exitOK, code, said)
		require.Regexp(t, `^recorded \d+ inputs? and \d lists?`, said)
		require.Contains(t, r.text(), `"end":{}`)
		o := sidetone(t, nil, "replay", r.file)
		require.Equal(t, exitOK, o.code, o.stdout+o.stderr)
		require.Empty(t, o.stderr, "it is whole")
	}
}

// TestRecordOfKilledAgent has no last line, and is not taken for a whole one.
func TestRecordOfKilledAgent(t *testing.T) {
	t.Parallel()
	d := newControlled(t, nil)
	d.env = append(d.env, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_HID=false", "SIDETONE_SOURCES_FILES="+write(t, "e.yaml", "endpoints: []\n"))
	d.start()
	d.hasNone()
	r := d.record()
	d.signal(syscall.SIGKILL)
	said, code := r.ends()
	require.Equal(t, exitFailed, code)
	require.Contains(t, said, "cut off")
	o := sidetone(t, nil, "replay", r.file)
	require.Equal(t, exitOK, o.code, "what is there is as recorded")
	require.Contains(t, o.stderr, "ends before its time: it has no last line")
	var v verdict
	require.NoError(t, json.Unmarshal([]byte(sidetone(t, nil, "replay", "--json", r.file).stdout), &v))
	require.NotEmpty(t, v.Cut)
	require.NotNil(t, v.Differences)
}
