package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/fakeserver"
)

// plainHeadset is the headset as an endpoint file says it, whose mute nobody knows.
const plainHeadset = `endpoints: [{id: mic, type: audioinput, name: Acme Headset 700, bus: usb, vid: "1209", pid: "0700", serial: A1}]`

// TestStateFile runs the agent beside software that can write files and nothing else.
func TestStateFile(t *testing.T) {
	t.Parallel()
	endpoints, path := write(t, "endpoints.yaml", plainHeadset), filepath.Join(t.TempDir(), "states.json")
	d := newControlled(t, nil)
	d.env = append(d.env, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_FILES="+endpoints)
	d.args = []string{"--state-file", path}
	unknown := []fakeserver.Device{device700(fakeserver.AudioInput, "Acme Headset 700")}
	known := func(mute bool) []fakeserver.Device {
		return []fakeserver.Device{muted(device700(fakeserver.AudioInput, "Acme Headset 700"), mute)}
	}
	state := func(value, ttl string) string {
		return `{"product": "acme-headset-700", "owner": "acme-suite", "ttl_ms": ` + ttl + `, "state": {"hardware_mute": ` + value + `}}` + "\n"
	}
	replace := func(content string, ago time.Duration) {
		t.Helper()
		require.NoError(t, os.WriteFile(path+".next", []byte(content), 0o600))
		then := time.Now().Add(-ago)
		require.NoError(t, os.Chtimes(path+".next", then, then))
		require.NoError(t, os.Rename(path+".next", path))
	}
	d.start()
	d.hasList(unknown...)

	replace(state("true", "600000"), 0)
	d.hasList(known(true)...)
	require.Contains(t, d.logged("reported")["what"], "mic muted (push)")
	out, _, code := d.ask("status")
	require.Zero(t, code)
	require.Regexp(t, `state-file +ok +states, see below\n`, out)
	require.Regexp(t, `acme-headset-700 +acme-suite +hardware_mute true, for another \d+m`, out)

	require.NoError(t, os.WriteFile(path, []byte(state("false", "600000")), 0o600))
	d.hasList(known(false)...)

	t.Run("the end of its lease", func(t *testing.T) {
		replace(state("true", "600000"), 0)
		d.hasList(known(true)...)
		replace(state("true", "10000"), 5*time.Second) // not before a machine that was just started
		d.hasList(unknown...)
		require.Contains(t, d.logged("pushed state taken back")["reason"], "lease")
	})
	t.Run("a file that is bad", func(t *testing.T) {
		replace(state("true", "600000"), 0)
		d.hasList(known(true)...)
		replace(state("true", "600000")[:50], 0)
		require.Contains(t, d.logged("source remarks")["note"], path+":1:51: not JSON")
		out, _, _ := d.ask("status")
		require.Regexp(t, `states\.json:1:51: not JSON: .*rename it into place.*; what it said before ends with its lease`, out)
		require.Contains(t, out, "hardware_mute true, for another")
	})
	t.Run("a file of somebody else", func(t *testing.T) {
		for _, plant := range []func() error{
			func() error { return unix.Mkfifo(path, 0o600) },
			func() error { return os.Symlink(endpoints, path) },
			func() error {
				require.NoError(t, os.WriteFile(path+".next", []byte(state("false", "600000")), 0o600))
				require.NoError(t, os.Chmod(path+".next", 0o622))
				return os.Rename(path+".next", path)
			},
		} {
			require.NoError(t, os.RemoveAll(path))
			require.NoError(t, plant())
			require.Contains(t, d.logged("source remarks")["note"], "state file "+path+": ")
		}
		replace(state("false", "600000"), 0)
		d.hasList(known(false)...)
		require.NoError(t, os.Remove(path))
		d.hasList(unknown...)
	})
	t.Run("restart", func(t *testing.T) {
		replace(state("true", "600000"), 0)
		d.hasList(known(true)...)
		d.signal(syscall.SIGKILL)
		<-d.ended
		d.start()
		d.logged("full list sent")
		d.hasList(known(true)...)

		d.signal(syscall.SIGKILL)
		<-d.ended
		replace(state("true", "600000"), time.Hour) // as it is after the night
		d.start()
		d.logged("full list sent")
		d.hasList(unknown...)
	})
	d.signal(syscall.SIGTERM)
	d.exit()
	d.spotless()
}

// A state of a product that the catalogue did not know is in force once it does.
func TestStateFileAfterReload(t *testing.T) {
	t.Parallel()
	endpoints, path := write(t, "endpoints.yaml", plainHeadset), filepath.Join(t.TempDir(), "states.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"product": "acme-headset-700", "owner": "suite", "ttl_ms": 7200000, "state": {"hardware_mute": true}}]`), 0o600))
	d := newControlled(t, nil)
	d.env = append(d.env, "SIDETONE_SOURCES_AUDIO=false", "SIDETONE_SOURCES_CAMERA=false", "SIDETONE_SOURCES_FILES="+endpoints)
	d.args = []string{"--state-file", path}
	example, err := os.ReadFile(d.catalogue)
	require.NoError(t, err)
	d.catalogue = write(t, "acme.yaml", strings.ReplaceAll(string(example), "acme-headset-700", "acme-headset-7"))
	d.start()
	require.Contains(t, d.logged("source remarks")["note"], `no product "acme-headset-700"`)
	require.NoError(t, os.WriteFile(d.catalogue, example, 0o600))
	d.signal(syscall.SIGHUP)
	d.hasList(muted(device700(fakeserver.AudioInput, "Acme Headset 700"), true))
	d.signal(syscall.SIGTERM)
	d.exit()
	d.spotless()
}

func TestStateFileFlag(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, flag := range []string{"--state-file", "--push-state-file"} {
		isBadInput(t, sidetone(t, nil, "run", flag, filepath.Join(folder, "s.json")), "no catalogue")
	}
	isBadInput(t, sidetone(t, nil, "run", "--state-fil", "x"), "--state-fil")
	o := sidetone(t, []string{"SIDETONE_PUSH_STATE_FILE=" + filepath.Join(folder, "s.json")}, "config", "show")
	require.Regexp(t, `push\.state_file +.*s\.json +SIDETONE_PUSH_STATE_FILE`, o.stdout)
}
