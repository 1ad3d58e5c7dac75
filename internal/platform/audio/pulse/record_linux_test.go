package pulse_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

var (
	recordServer = flag.String("record.server", "", "record this running server instead of private ones: path of its socket")
	recordDir    = flag.String("record.dir", "", "keep what is recorded in this folder; with -record.server it is that of this one recording")
)

// TestRecord records the replies of real servers, as those in testdata were, and reads them back.
func TestRecord(t *testing.T) {
	kept := *recordDir
	if kept == "" {
		kept = t.TempDir()
	}
	if *recordServer != "" {
		record(t, *recordServer, kept)
		return
	}
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		require.NoError(t, h.SetMute(deadline(t), true))
		_, err := s.LoadModule(deadline(t), "module-echo-cancel", "source_master="+h.SourceName, "sink_master="+h.SinkName,
			"source_name=ec", `aec_args="analog_gain_control=0 noise_suppression=1"`)
		require.NoError(t, err)
		dir := filepath.Join(kept, string(s.Kind()))
		record(t, s.Socket(), dir)
		all := pulse.Recorded(t, dir)
		require.True(t, slices.ContainsFunc(all.Sources, func(s pulse.Source) bool { return s.Name == h.SourceName && s.Mute }), "%+v", all.Sources)
		require.True(t, slices.ContainsFunc(all.Modules, func(m pulse.Module) bool { return m.Name == "module-echo-cancel" }), "%+v", all.Modules)
		for _, name := range []string{"modules.bin", "snapshot.json"} { // the arguments name the server's folder
			path := filepath.Join(dir, name)
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(b, []byte(s.Dir()), []byte("/run/lab")), 0o644))
		}
		require.NotContains(t, fmt.Sprintf("%+v", pulse.Recorded(t, dir)), s.Dir())
	})
}

func record(t *testing.T, socket, dir string) {
	c, err := pulse.Dial(deadline(t), socket, pulse.Options{})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	testlab.Eventually(t, "nothing changes while it is recorded", func() bool {
		for name := range pulse.Lists {
			body, err := c.Raw(deadline(t), name)
			require.NoError(t, err)
			if name == "server" {
				body = anonymous(t, body)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, name+".bin"), body, 0o644))
		}
		all, err := c.Snapshot(deadline(t))
		require.NoError(t, err)
		text, err := json.MarshalIndent(all, "", "\t")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "snapshot.json"), append(text, '\n'), 0o644))
		return reflect.DeepEqual(all, pulse.Recorded(t, dir))
	})
}

// anonymous replaces the names of the user and the machine that recorded.
func anonymous(t *testing.T, body []byte) []byte {
	u, err := user.Current()
	require.NoError(t, err)
	host, err := os.Hostname()
	require.NoError(t, err)
	who := []byte("t" + u.Username + "\x00t" + host + "\x00")
	require.Contains(t, string(body), string(who))
	return bytes.Replace(body, who, []byte("tuser\x00thost\x00"), 1)
}
