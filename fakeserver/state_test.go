package fakeserver

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestState(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	opts := Options{Profile: Desktop, Bucket: -1, StateFile: file}
	first := launch(t, opts)
	mustPost(t, first, msg("1", mic, speaker))
	mustPost(t, first, msg("2", `{}`))
	require.NoError(t, first.Close())

	second := launch(t, opts)
	require.Equal(t, []string{"mic", "out"}, ids(second.DevicesOf(clientID)))
	d, _ := second.Lookup("mic")
	require.False(t, *d.HardwareMute, "reset at the start")
	require.Equal(t, "Headset 700", d.Model.Name)
	require.Empty(t, second.Payloads())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"hardware_mute":false`)
	mustPost(t, second, msg("3", mic))
	require.Equal(t, []string{"mic", "out"}, ids(payload(t, second, 1).Previous))
	require.NoError(t, second.Restart())
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"hardware_mute":false`)
	mustPost(t, second, msg("4"))

	third := launch(t, opts)
	require.NotNil(t, third.DevicesOf(clientID))
	require.Empty(t, third.DevicesOf(clientID))
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing but the file itself")
}

func TestStateOrderOfClients(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state.json")
	lists := store{}
	lists.put("b", []Device{{ID: "x", Type: AudioInput}})
	lists.put("a", []Device{{ID: "x", Type: AudioOutput}})
	require.NoError(t, saveState(file, lists))
	again, err := loadState(file)
	require.NoError(t, err)
	require.Equal(t, "b", again[0].ClientID)
	require.Equal(t, AudioOutput, again.registry()["x"].device.Type, "the last reporter is still the last")
}

func TestStateMistakes(t *testing.T) {
	dir := t.TempDir()
	corrupt := filepath.Join(dir, "corrupt.json")
	for _, text := range []string{"", "{", `{"lists":[{"client_id":1}]}`, `[]`, `{"lists":[]} x`} {
		require.NoError(t, os.WriteFile(corrupt, []byte(text), 0o600))
		_, err := Start(Options{Ports: []int{0}, StateFile: corrupt})
		require.ErrorContains(t, err, "the state file "+corrupt+" is corrupt, mend or remove it")
		data, err := os.ReadFile(corrupt)
		require.NoError(t, err)
		require.Equal(t, text, string(data), "left as it is")
	}
	nowhere := filepath.Join(dir, "no", "state.json")
	_, err := Start(Options{Ports: []int{0}, StateFile: nowhere})
	require.ErrorContains(t, err, "cannot write the state file "+nowhere)
	_, err = Start(Options{Ports: []int{0}, StateFile: dir})
	require.ErrorContains(t, err, dir)
}

// The list counts even when it cannot be written.
func TestStateCannotBeWrittenLater(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sub")
	require.NoError(t, os.Mkdir(dir, 0o700))
	var log bytes.Buffer
	srv := launch(t, Options{StateFile: filepath.Join(dir, "state.json"), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, success("n"), mustPost(t, srv, msg("n", cameraDev)).body)
	require.Equal(t, []string{"cam"}, ids(srv.Devices()))
	require.NoError(t, srv.Close())
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), strings.ReplaceAll(filepath.Join(dir, "state.json"), `\`, `\\`), "as the log quotes it")
}

// What never ends, or never begins, is not read.
func TestStateFileIsARegularOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no such files")
	}
	for path, kind := range map[string]string{"/dev/zero": "a device", t.TempDir(): "a folder"} {
		_, err := Start(Options{Ports: []int{0}, StateFile: path})
		require.ErrorContains(t, err, path+" is "+kind+", not a regular file")
	}
}
