package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
)

const headset = `endpoints:
  - id: alsa_input.usb-Acme
    type: audioinput
    name: Acme Headset
    bus: usb
    vid: "0b0e"
    pid: "0422"
    serial: SN1
    container: usb:1-1
    default: true
    mute: true
    mute_in_hardware: true
    effects: {noise_suppression: true, echo_cancellation: false}
    controls: {"Auto Gain Control": false}
  - id: alsa_output.usb-Acme
    type: audiooutput
`

func TestDecodeEndpoints(t *testing.T) {
	got, problems := decodeEndpoints("e.yaml", []byte(headset))
	require.Empty(t, problems)
	require.Equal(t, []devices.Endpoint{
		{
			ID: "alsa_input.usb-Acme", Type: devices.AudioInput, Name: "Acme Headset", Bus: devices.USB, VID: "0b0e", PID: "0422", Serial: "SN1",
			Container: "usb:1-1", Default: true, Mute: devices.True, MuteInHardware: true,
			Effects:  map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.True, devices.EchoCancellation: devices.False},
			Controls: map[string]devices.Tri{"Auto Gain Control": devices.False},
		},
		{ID: "alsa_output.usb-Acme", Type: devices.AudioOutput},
	}, got)

	got, problems = decodeEndpoints("e.json", []byte(`{"endpoints": [{"id": "a", "type": "videoinput", "source": "camera", "stale": true}]}`))
	require.Empty(t, problems)
	require.Equal(t, []devices.Endpoint{{ID: "a", Type: devices.VideoInput}}, got, "what the agent knows better is dropped")

	got, problems = decodeEndpoints("e.yaml", []byte("endpoints: []\n"))
	require.Empty(t, problems)
	require.Empty(t, got)
}

func TestDecodeEndpointsProblems(t *testing.T) {
	const mic = "  - {id: a, type: audioinput}\n"
	for _, c := range []struct {
		name, content string
		want          []string // beginning of each problem
	}{
		{"truncated to nothing", "", []string{"e.yaml:1:1: "}},
		{"another file", "products: []\n", []string{"e.yaml:1:1: missing key", "e.yaml:1:1: unknown key"}},
		{"an unknown key", "endpoints:\n  - {id: a, type: audioinput, muted: true}\n", []string{"e.yaml:2:31: "}},
		{"no id", "endpoints:\n  - {id: '', type: audioinput}\n", []string{"e.yaml:2:10: the id is empty"}},
		{"an unknown type", "endpoints:\n  - {id: a, type: microphone}\n", []string{"e.yaml:2:19: "}},
		{"an unknown flag", "endpoints:\n  - {id: a, type: audioinput, effects: {reverb: true}}\n", []string{"e.yaml:2:41: "}},
		{"twice", "endpoints:\n" + mic + "  - {id: a, type: audiooutput}\n" + mic, []string{`e.yaml:4:10: this type and id are there already: "a" (see line 2)`}},
		{"usb ids", "endpoints:\n  - {id: a, type: audioinput, vid: '0B0E', pid: '422'}\n", []string{
			`e.yaml:2:36: not a USB id: "0B0E" (4 lower-case hex digits in quotes)`, `e.yaml:2:49: not a USB id: "422"`,
		}},
		{"cut within a line", "endpoints:\n  - id: a\n    type: audioinput\n    na", []string{"e.yaml:"}},
	} {
		_, problems := decodeEndpoints("e.yaml", []byte(c.content))
		var got []string
		for i, p := range problems {
			got = append(got, p.String())
			if i < len(c.want) {
				require.True(t, strings.HasPrefix(p.String(), c.want[i]), "%s: %s", c.name, p)
			}
		}
		require.Len(t, got, len(c.want), "%s: %s", c.name, got)
	}
}

func FuzzEndpointFile(f *testing.F) {
	f.Add([]byte(headset))
	f.Add([]byte(`{"endpoints": [{"id": "a", "type": "videoinput", "attached": "2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte("endpoints: [{id: a, type: audioinput}, {id: a, type: audioinput}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		endpoints, problems := decodeEndpoints("f", data)
		if len(problems) > 0 {
			for _, p := range problems {
				require.True(t, strings.HasPrefix(p.String(), "f:") && !strings.ContainsAny(p.String(), "\n\r\x1b"), "%q", p.String())
			}
			return
		}
		seen := map[devices.Key]bool{}
		for _, e := range endpoints {
			require.NotEmpty(t, e.ID)
			require.Contains(t, devices.Types, e.Type)
			require.False(t, seen[e.Key()])
			seen[e.Key()] = true
		}
		again, err := json.Marshal(map[string]any{"endpoints": endpoints})
		require.NoError(t, err)
		_, problems = decodeEndpoints("f", again)
		require.Empty(t, problems, "%s", again)
	})
}

// follow opens path as a source that is closed, and whose goroutines have ended, at the end.
func follow(t *testing.T, path string) platform.Source {
	platformtest.NoLeak(t)
	source, err := NewEndpoints(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	return source
}

// becomes waits for source to list exactly the given ids, without error.
func becomes(t *testing.T, source platform.Source, ids ...string) {
	t.Helper()
	until(t, source, fmt.Sprint("endpoints ", ids), func(got []devices.Endpoint, err error) bool {
		return err == nil && fmt.Sprint(idsOf(got)) == fmt.Sprint(ids)
	})
}

// until waits for a reading that is good; the first one must be announced by an event too.
func until(t *testing.T, source platform.Source, what string, good func([]devices.Endpoint, error) bool) {
	t.Helper()
	ctx := platformtest.Deadline(t)
	for {
		waitErr := source.Wait(ctx)
		got, err := platformtest.List(t, source)
		if waitErr != nil {
			t.Fatalf("no event led to %s; the last reading: %v, %v, %v", what, got, err, platformtest.Notes(t, source))
		}
		if good(got, err) {
			return
		}
	}
}

func idsOf(endpoints []devices.Endpoint) (ids []string) {
	for _, e := range endpoints {
		ids = append(ids, e.ID)
	}
	return ids
}

func fileIDs(t *testing.T, source platform.Source) []string {
	t.Helper()
	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	return idsOf(got)
}

func absent(_ []devices.Endpoint, err error) bool { return errors.Is(err, fs.ErrNotExist) }

func write(t *testing.T, path string, ids ...string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content(ids...)), 0o600))
}

func content(ids ...string) string {
	text := "endpoints:\n"
	for _, id := range ids {
		text += "  - {id: " + id + ", type: audioinput}\n"
	}
	if len(ids) == 0 {
		text = "endpoints: []\n"
	}
	return text
}

// replace renames a new file over the one at path.
func replace(t *testing.T, path string, ids ...string) {
	write(t, path+".new", ids...)
	require.NoError(t, os.Rename(path+".new", path))
}

func TestFileChangesAreNoticed(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"written in place":   func(t *testing.T, path string) { write(t, path, "new") },
		"renamed into place": func(t *testing.T, path string) { replace(t, path, "new") },
		"moved away and made anew, as editors do": func(t *testing.T, path string) {
			require.NoError(t, os.Rename(path, path+"~"))
			write(t, path, "new")
		},
		"removed and made anew": func(t *testing.T, path string) {
			require.NoError(t, os.Remove(path))
			write(t, path, "new")
		},
		"its folder is exchanged": func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			require.NoError(t, os.Mkdir(dir+".new", 0o755))
			write(t, filepath.Join(dir+".new", filepath.Base(path)), "new")
			require.NoError(t, os.Rename(dir, dir+".old"))
			require.NoError(t, os.Rename(dir+".new", dir))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "etc", "e.yaml")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
			write(t, path, "old", "file")
			source := follow(t, path)
			require.Equal(t, "file:"+path, source.Name())
			require.Equal(t, []string{"old", "file"}, fileIDs(t, source))
			change(t, path)
			becomes(t, source, "new")
			write(t, path)
			becomes(t, source)
			require.NoError(t, os.Remove(path))
			until(t, source, "the file's end", absent)
			write(t, path, "again")
			becomes(t, source, "again")
		})
	}
}

func TestFileThatComesLate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "some", "folder", "e.json")
	source := follow(t, path)
	_, err := platformtest.List(t, source)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, path)
	require.Empty(t, platformtest.Notes(t, source))

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	write(t, path, "late")
	becomes(t, source, "late")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "some")))
	until(t, source, "the folder's end", absent)
}

func TestFileBehindLinks(t *testing.T) {
	skipWithoutLinks(t)
	for name, c := range map[string]struct {
		change func(t *testing.T, at func(...string) string)
		want   []string
	}{
		"the target is written": {func(t *testing.T, at func(...string) string) {
			write(t, at("v1", "e.yaml"), "written")
		}, []string{"written"}},
		"the target is replaced": {func(t *testing.T, at func(...string) string) {
			replace(t, at("v1", "e.yaml"), "replaced")
		}, []string{"replaced"}},
		"the link leads elsewhere": {func(t *testing.T, at func(...string) string) {
			write(t, at("own.yaml"), "own")
			require.NoError(t, os.Symlink(at("own.yaml"), at("etc", "next")))
			require.NoError(t, os.Rename(at("etc", "next"), at("etc", "e.yaml")))
		}, []string{"own"}},
		"a folder on the way leads elsewhere, as on container platforms": {func(t *testing.T, at func(...string) string) {
			require.NoError(t, os.Symlink("v2", at("next")))
			require.NoError(t, os.Rename(at("next"), at("current")))
		}, []string{"v2"}},
		"the link becomes a file": {func(t *testing.T, at func(...string) string) {
			replace(t, at("etc", "e.yaml"), "file")
		}, []string{"file"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
			for _, d := range []string{"v1", "v2"} {
				require.NoError(t, os.Mkdir(at(d), 0o755))
				write(t, at(d, "e.yaml"), d)
			}
			require.NoError(t, os.Mkdir(at("etc"), 0o755))
			require.NoError(t, os.Symlink("v1", at("current")))
			require.NoError(t, os.Symlink(filepath.Join("..", "current", "e.yaml"), at("etc", "e.yaml")))
			require.Equal(t, []string{at("etc", "e.yaml"), at("current"), at("v1", "e.yaml")}, pointsTo(at("etc", "e.yaml")))

			source := follow(t, at("etc", "e.yaml"))
			require.Equal(t, []string{"v1"}, fileIDs(t, source))
			c.change(t, at)
			becomes(t, source, c.want...)
			target, err := filepath.EvalSymlinks(at("etc", "e.yaml"))
			require.NoError(t, err)
			require.NoError(t, os.Remove(target))
			until(t, source, "the end of the target", absent)
			write(t, target, "back")
			becomes(t, source, "back")
		})
	}
}

// skipWithoutLinks asks for the link, too: Wine says that it has made one, and has not.
func skipWithoutLinks(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	err := os.Symlink("x", link)
	if err == nil {
		_, err = os.Readlink(link)
	}
	if err != nil && runtime.GOOS == "windows" {
		t.Skipf("this system lets this user make no symbolic links: %v", err)
	}
	require.NoError(t, err)
}

func pointsTo(path string) (points []string) {
	for _, s := range stepsTo([]string{path}) {
		if point, ok := s.point(); ok {
			points = append(points, point)
		}
	}
	return points
}

func TestStepsOfACircle(t *testing.T) {
	skipWithoutLinks(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Symlink("b", filepath.Join(dir, "a")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "b")))
	require.Subset(t, pointsTo(filepath.Join(dir, "a")), []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")})
	require.Equal(t, []string{filepath.Join(dir, "missing")}, pointsTo(filepath.Join(dir, "missing", "e.yaml")))
}

func TestFileBrokenKeepsTheLastGoodContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	require.NoError(t, os.WriteFile(path, []byte("endpoints: ["), 0o600))
	source := follow(t, path)
	_, err := platformtest.List(t, source)
	require.ErrorContains(t, err, path+":1:", "there is no good content yet")

	write(t, path, "good")
	becomes(t, source, "good")
	require.Empty(t, platformtest.Notes(t, source))

	for name, broken := range map[string]string{
		"half a file":   content("good")[:20],
		"empty":         "",
		"two problems":  "endpoints:\n  - {id: a, type: mic}\n  - {id: b, type: cam}\n",
		"not text":      "endpoints:\n  - {id: \xff, type: audioinput}\n",
		"far too large": strings.Repeat("#", 2<<20),
	} {
		require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
		until(t, source, name, func(got []devices.Endpoint, err error) bool {
			require.NoError(t, err)
			require.Equal(t, []devices.Endpoint{{ID: "good", Type: devices.AudioInput}}, got)
			notes := health.English.Phrases(platformtest.Notes(t, source))
			require.LessOrEqual(t, len(notes), 1)
			if len(notes) == 1 {
				require.Contains(t, notes[0], path)
				require.Contains(t, notes[0], "; keeping the last good content")
				healthtest.Raised(t, platformtest.Notes(t, source)...)
			}
			return len(notes) == 1 && (name != "two problems" || strings.Contains(notes[0], path+":2:19: ") && strings.Contains(notes[0], ", and 1 more"))
		})
	}
	write(t, path, "fine")
	becomes(t, source, "fine")
	require.Empty(t, platformtest.Notes(t, source))

	require.NoError(t, os.Remove(path))
	until(t, source, "the file's end", absent)
	require.NoError(t, os.Mkdir(path, 0o755))
	until(t, source, "a folder in its place", func(_ []devices.Endpoint, err error) bool {
		return err != nil && strings.Contains(err.Error(), "folder")
	})
}

// What Read hands out is the caller's: Follow writes into it.
func TestFileListIsACopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	write(t, path, "good")
	source := follow(t, path)
	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	got[0].ID = "spoilt"
	require.NoError(t, os.WriteFile(path, []byte("broken"), 0o600))
	got, err = platformtest.List(t, source)
	require.NoError(t, err)
	require.Equal(t, "good", got[0].ID)
}

func TestFileSaysEachTroubleOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	write(t, path, "good")
	source, err := NewEndpoints(path)
	require.NoError(t, err)
	defer source.Close()
	_, err = platformtest.List(t, source)
	require.NoError(t, err)
	noted := func() []health.Condition { return platformtest.Notes(t, source) }
	require.Empty(t, noted())
	require.NoError(t, os.WriteFile(path, []byte("broken"), 0o600))
	for range 3 {
		_, err = platformtest.List(t, source)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(strings.Join(health.English.Phrases(noted()), ""), "keeping the last good content"))
	}
}

func TestFileThatCannotBeWatchedIsReadNowAndThen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "e.yaml")
	write(t, path, "good")
	source, err := NewEndpoints(path)
	require.NoError(t, err)
	require.NoError(t, source.Close())
	got, err := platformtest.List(t, source)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Len(t, platformtest.Notes(t, source), 1)
	require.Contains(t, health.English.Phrases(platformtest.Notes(t, source))[0], "changes of "+path+" cannot be watched, so it is read every 30s: ")
	healthtest.Raised(t, platformtest.Notes(t, source)...)
	require.ErrorIs(t, source.Wait(t.Context()), os.ErrClosed)

	synctest.Test(t, func(t *testing.T) {
		open := &fileSource{fileWatch: &fileWatch{changed: signal.New(), closed: make(chan struct{}), watchErr: errors.New("no")}}
		start := time.Now()
		require.NoError(t, open.Wait(t.Context()))
		require.Equal(t, fileRetry, time.Since(start))
	})
}

func TestFileWaitJoinsOneWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fileSource{fileWatch: &fileWatch{changed: signal.New(), closed: make(chan struct{})}}
		s.changed.Notify()
		go func() {
			for range 10 {
				time.Sleep(fileSettle / 15)
				s.changed.Notify()
			}
		}()
		require.NoError(t, s.Wait(t.Context()))
		require.Empty(t, s.changed)
		s.changed.Notify()
		close(s.closed)
		require.ErrorIs(t, s.Wait(t.Context()), os.ErrClosed)
	})
}

// TestAReadingThatIsLateIsAnEvent: what was read too late would else count only after the next change.
func TestAReadingThatIsLateIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &fileWatch{guard: platform.NewCallGuard(), changed: signal.New(), closed: make(chan struct{})}
		hung := make(chan struct{})
		read := func() (string, error) {
			<-hung
			return "new", nil
		}
		for _, why := range []string{"no answer in time", "an earlier call has not returned"} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := platform.CallWithContext(ctx, w.guard, w.changed.Notify, read)
			cancel()
			require.ErrorContains(t, err, why)
			synctest.Wait()
			require.Empty(t, w.changed, "it would be read again at once, and without end")
		}
		close(hung)
		require.NoError(t, w.Wait(t.Context()))
		got, err := platform.CallWithContext(t.Context(), w.guard, w.changed.Notify, read)
		require.NoError(t, err)
		require.Equal(t, "new", got)
		require.Empty(t, w.changed, "one that was taken is none")
	})
}

// A folder that appears between the look at what there is and the watch makes no event.
func TestArmHearsWhatCameMeanwhile(t *testing.T) {
	platformtest.NoLeak(t)
	dir := t.TempDir()
	file, err := watchFile("endpoints file", filepath.Join(dir, "suite", "e.yaml"))
	require.NoError(t, err)
	defer file.Close()
	found := stepsTo(file.watch.paths)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "suite"), 0o700))
	_, errs := file.watch.follow(found)
	require.Empty(t, errs)
	require.NoError(t, file.Wait(platformtest.Deadline(t)))
	require.NoError(t, file.arm())
	require.Empty(t, file.changed)
}
