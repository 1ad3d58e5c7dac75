package pulse

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// recording is a folder of testdata: the replies of a real server, one file for each list,
// and what they mean as JSON. They are made by: go test -run '^TestRecord$' -record.dir testdata
// Those named -usb come from Debian's kernel with a USB headset, made in the virtual machine
// of tools/vm with an emulated headset plugged in and -record.server set.
type recording string

func recordings(tb testing.TB) []recording {
	tb.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "*", "sources.bin"))
	require.NoError(tb, err)
	require.NotEmpty(tb, dirs)
	var list []recording
	for _, path := range dirs {
		list = append(list, recording(filepath.Dir(path)))
	}
	return list
}

// has reports whether a list was recorded. Those of -usb are older than the list of streams.
func (r recording) has(name string) bool {
	_, err := os.Stat(filepath.Join(string(r), name))
	return err == nil
}

func (r recording) read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(string(r), name))
	require.NoError(tb, err)
	return b
}

// parse reads all lists as Snapshot does.
func (r recording) parse(tb testing.TB) Snapshot {
	tb.Helper()
	var s Snapshot
	var err error
	s.Server, err = parse(r.read(tb, "server.bin"), ourVersion, serverInfo)
	require.NoError(tb, err)
	s.Sources, err = parse(r.read(tb, "sources.bin"), ourVersion, listOf(source))
	require.NoError(tb, err)
	s.Sinks, err = parse(r.read(tb, "sinks.bin"), ourVersion, listOf(sink))
	require.NoError(tb, err)
	s.Cards, err = parse(r.read(tb, "cards.bin"), ourVersion, listOf(card))
	require.NoError(tb, err)
	s.Modules, err = parse(r.read(tb, "modules.bin"), ourVersion, listOf(module))
	require.NoError(tb, err)
	if r.has("outputs.bin") {
		s.Outputs, err = parse(r.read(tb, "outputs.bin"), ourVersion, listOf(sourceOutput))
		require.NoError(tb, err)
	}
	return s
}

func TestRecorded(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(filepath.Base(string(r)), func(t *testing.T) {
			got, err := json.MarshalIndent(r.parse(t), "", "\t")
			require.NoError(t, err)
			require.JSONEq(t, string(r.read(t, "snapshot.json")), string(got))
		})
	}
}

// TestRecordedCut cuts real replies at every byte.
func TestRecordedCut(t *testing.T) {
	for _, r := range recordings(t) {
		cutAnywhere(t, r.read(t, "sources.bin"), source)
		if r.has("outputs.bin") {
			cutAnywhere(t, r.read(t, "outputs.bin"), sourceOutput)
		}
	}
}

func cutAnywhere[T any](t *testing.T, b []byte, entry func(*decoder) T) {
	whole := 0
	for n := range b {
		list, err := parse(b[:n], ourVersion, listOf(entry))
		if err == nil { // cut between two of them
			whole++
			require.Len(t, list, whole-1)
			continue
		}
		require.ErrorIs(t, err, errMalformed)
	}
}

// TestRecordedHardware looks at what only a real driver reports.
func TestRecordedHardware(t *testing.T) {
	for _, name := range []string{"pulseaudio-usb", "pipewire-usb"} {
		s := recording(filepath.Join("testdata", name)).parse(t)
		require.Len(t, s.Cards, 1)
		require.Equal(t, "Acme_Acme_Headset_700_SN0042", s.Cards[0].Properties["device.serial"])
		var mics int
		for _, source := range s.Sources {
			require.Equal(t, s.Cards[0].Index, source.Card)
			require.Equal(t, !source.IsMonitor(), source.MuteInHardware(), source.Name)
			if !source.IsMonitor() {
				mics++
				require.Equal(t, []devices.Tri{devices.Unknown}, source.Plugged)
			}
		}
		require.Equal(t, 1, mics)
	}
}
