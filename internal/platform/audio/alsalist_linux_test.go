package audio

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/platform/linux"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/testlab"
)

var headsetPCMs = []alsaPCM{
	{"hw:CARD=Headset,DEV=0", "Acme Headset 700, USB Audio (Direct hardware device without any conversions)", devices.AudioInput},
	{"hw:CARD=Headset,DEV=0", "Acme Headset 700, USB Audio (Direct hardware device without any conversions)", devices.AudioOutput},
}

// quietMachine is the source on a machine without a trace of a sound server, on which ALSA lists a headset, started as long ago as a sound
// server may take. Its sound server would have its socket at native.
func quietMachine(t *testing.T, change func(o *Options, env map[string]string)) (a *source, native string) {
	root := t.TempDir()
	env := map[string]string{"HOME": root, "XDG_RUNTIME_DIR": filepath.Join(root, "user")}
	o := Options{Etc: filepath.Join(root, "etc"), Run: filepath.Join(root, "run"), Getenv: func(name string) string { return env[name] }}
	native = filepath.Join(root, "user/pulse/native")
	require.NoError(t, os.MkdirAll(filepath.Dir(native), 0o700))
	if change != nil {
		change(&o, env)
	}
	a = newSource(o)
	a.alsa = newALSAList(func() ([]alsaPCM, error) { return headsetPCMs, nil }, a.changed.Notify)
	a.alsa.start = a.alsa.start.Add(-alsaDelay)
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a, native
}

func byALSA(e devices.Endpoint) bool { return slices.Contains(e.SeenBy, "alsa") }

// TestALSAListsWhereNoSoundServerEverWas, from ten seconds after the start on, and says so.
func TestALSAListsWhereNoSoundServerEverWas(t *testing.T) {
	platformtest.NoLeak(t)
	a, _ := quietMachine(t, nil)
	a.alsa.start = time.Now()
	r, err := a.Read(platformtest.Deadline(t))
	require.ErrorContains(t, err, "waiting for the sound server", "it may be about to start")
	require.Empty(t, r.Notes)
	a.alsa.start = a.alsa.start.Add(-alsaDelay)
	r, err = a.Read(platformtest.Deadline(t))
	require.NoError(t, err)
	require.Len(t, r.Endpoints, 2)
	for _, e := range r.Endpoints {
		require.Equal(t, devices.Endpoint{Type: e.Type, ID: "hw:CARD=Headset,DEV=0", Name: "Acme Headset 700, USB Audio", SeenBy: []string{"alsa"}}, e)
	}
	require.Len(t, r.Notes, 1)
	require.Equal(t, health.SoundServerNone, r.Notes[0].Code)
	healthtest.Raised(t, r.Notes...)
}

func TestALSAWaitsTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newALSAList(func() ([]alsaPCM, error) { return nil, nil }, func() {})
		require.Equal(t, alsaDelay, l.wait())
		time.Sleep(alsaDelay - 1)
		require.False(t, l.due())
		time.Sleep(l.wait())
		require.True(t, l.due())
		require.Zero(t, l.wait(), "no timer runs from then on")
		l.bar()
		require.False(t, l.due())
	})
	require.Zero(t, newALSAList(nil, nil).wait(), "a build without miniaudio")
	require.False(t, newALSAList(nil, nil).due())
	require.Zero(t, newSource(Options{Alone: true}).alsa.wait(), "safe mode")
}

// TestATraceOfASoundServerBarsALSA, also when the trace is gone.
func TestATraceOfASoundServerBarsALSA(t *testing.T) {
	file := func(path string) func(o *Options, env map[string]string) {
		return func(_ *Options, env map[string]string) {
			path := filepath.Join(env["HOME"], path)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
			require.NoError(t, os.WriteFile(path, []byte("autospawn = no\n"), 0o600))
		}
	}
	for name, change := range map[string]func(o *Options, env map[string]string){
		"a socket that nobody serves":     file("user/pulse/native"),
		"a socket for all users":          file("run/pulse/native"),
		"PipeWire's socket":               file("user/pipewire-0"),
		"the user's client.conf":          file(".config/pulse/client.conf"),
		"the administrator's client.conf": file("etc/pulse/client.conf"),
		"the setting":                     func(o *Options, _ map[string]string) { o.Server = "/nonexistent" },
		"PULSE_SERVER":                    func(_ *Options, env map[string]string) { env["PULSE_SERVER"] = "/nonexistent" },
		"PULSE_SERVER of another machine": func(_ *Options, env map[string]string) { env["PULSE_SERVER"] = "tcp:studio" },
		"no place to look at":             func(_ *Options, env map[string]string) { delete(env, "XDG_RUNTIME_DIR") },
	} {
		t.Run(name, func(t *testing.T) {
			var root string
			a, _ := quietMachine(t, func(o *Options, env map[string]string) {
				root = env["HOME"]
				change(o, env)
			})
			_, err := a.Read(platformtest.Deadline(t))
			require.Error(t, err)
			for _, folder := range []string{"user", "run", ".config", "etc"} {
				require.NoError(t, os.RemoveAll(filepath.Join(root, folder)))
			}
			r, err := a.Read(platformtest.Deadline(t))
			require.Error(t, err)
			require.Empty(t, r.Notes)
		})
	}
}

// oneLister is a source that fails its test if ALSA lists anything beside or after a sound server.
type oneLister struct {
	*source
	t      *testing.T
	served atomic.Bool
}

func (o *oneLister) Read(ctx context.Context) (platform.Reading, error) {
	r, err := o.source.Read(ctx)
	ofALSA := slices.ContainsFunc(r.Endpoints, byALSA)
	if err == nil && !ofALSA {
		o.served.Store(true)
	}
	if ofALSA && o.served.Load() {
		o.t.Errorf("ALSA lists where a sound server has: %v", r.Endpoints)
	}
	return r, err
}

// TestNoListOfALSABesideASoundServer: neither beside one that comes late, nor while it restarts, however long that takes.
func TestNoListOfALSABesideASoundServer(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		a, native := quietMachine(t, nil)
		f := watch(t, &oneLister{source: a, t: t})
		f.until("ALSA's list", func(o devices.Observation) bool { return len(o.Endpoints) == 2 && byALSA(o.Endpoints[0]) })
		ctx := platformtest.Deadline(t)
		for _, end := range []func() error{s.Term, s.Kill} {
			headset, err := s.PlugHeadset(ctx, acme)
			require.NoError(t, err)
			require.NoError(t, os.Symlink(s.Socket(), native))
			o := f.until("the server's list", func(o devices.Observation) bool { return find(o, devices.AudioInput, headset.SourceName) != nil })
			require.Empty(t, o.Notes)
			require.NoError(t, os.Remove(native))
			require.NoError(t, end())
			for range 3 {
				_, seen := f.get()
				f.until("an error", func(o devices.Observation) bool {
					_, n := f.get()
					return n > seen && o.Err != nil
				})
			}
			require.NoError(t, s.Restart(ctx))
		}
	})
}

// TestALSAHangs: a call that does not return costs one goroutine, however often it is tried, and keeps nobody from ending.
func TestALSAHangs(t *testing.T) {
	platformtest.NoLeak(t)
	a, _ := quietMachine(t, nil)
	calls, release := atomic.Int32{}, make(chan struct{})
	a.alsa.pcms = func() ([]alsaPCM, error) {
		calls.Add(1)
		<-release
		return headsetPCMs, nil
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := a.Read(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		said, _ := health.Of(err)
		require.Equal(t, health.SoundServerAway, said.Code)
	}
	require.Equal(t, int32(1), calls.Load())
	close(release)
	platformtest.AwaitSignal(t, a.changed)
	require.Len(t, platformtest.MustList(t, a), 2)

	a.alsa.pcms = func() ([]alsaPCM, error) { return nil, errors.New("no such library") }
	_, err := a.Read(platformtest.Deadline(t))
	require.ErrorContains(t, err, "there is no sound server, and ALSA cannot be listed: no such library")
}

// TestALSAEndpoints: one for each direction of the hardware, whatever else ALSA calls it, with the identity of its USB device.
func TestALSAEndpoints(t *testing.T) {
	tree := platformtest.NewSysTree(t)
	tree.Device("pci0000:00/usb1/1-1", map[string]string{"idVendor": "1209", "idProduct": "0700", "serial": "A1"})
	tree.Device("pci0000:00/usb1/1-1/1-1:1.0/sound/card1", map[string]string{"id": "Headset"})
	tree.Device("pci0000:00/sound/card0", map[string]string{"id": "PCH"})
	tree.Dir("sys/class/sound")
	for name, at := range map[string]string{"card0": "pci0000:00/sound/card0", "card1": "pci0000:00/usb1/1-1/1-1:1.0/sound/card1"} {
		require.NoError(t, os.Symlink("../../devices/"+at, tree.Path("sys/class/sound/"+name)))
	}
	usb := devices.Endpoint{
		ID: "hw:CARD=Headset,DEV=0", Name: "Acme Headset 700, USB Audio", SeenBy: []string{"alsa"},
		Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:pci0000:00/usb1/1-1",
	}
	in, out := usb, usb
	in.Type, out.Type = devices.AudioInput, devices.AudioOutput
	pci := devices.Endpoint{ID: "hw:CARD=PCH,DEV=3", Type: devices.AudioOutput, Name: "HDA (rev. 2), HDMI 0", SeenBy: []string{"alsa"}}
	pcm := func(name, what string, typ devices.Type) alsaPCM { return alsaPCM{name, what, typ} }
	for _, names := range [][]string{
		{"hw:CARD=Headset,DEV=0"},
		{"front:CARD=Headset,DEV=0"}, // what alsa-lib lists unless a distribution changes that
		{"front:CARD=Headset,DEV=0", "hw:CARD=Headset,DEV=0"},
		{
			"null", "default", "default:CARD=Headset", "sysdefault:CARD=Headset", "plughw:CARD=Headset,DEV=0", "plug:hw", "dmix:CARD=Headset,DEV=0",
			"dsnoop:CARD=Headset,DEV=0", "usbstream:CARD=Headset", "surround51:CARD=Headset,DEV=0", "iec958:CARD=Headset,DEV=0", "hw", "hw:0,0",
			"pulse", "hw:CARD=Headset,DEV=0",
		},
	} {
		var pcms []alsaPCM
		for _, name := range names {
			pcms = append(pcms, pcm(name, "Acme Headset 700, USB Audio (Any)", in.Type), pcm(name, "Acme Headset 700, USB Audio (Any)", out.Type))
		}
		pcms = append(pcms, pcm("hw:CARD=PCH,DEV=3", "HDA (rev. 2), HDMI 0 (Any)", devices.AudioOutput))
		require.Equal(t, []devices.Endpoint{in, out, pci}, alsaEndpoints(pcms, linux.TreeIn(tree.Root)), "%v", names)
	}
	require.Equal(t, []devices.Endpoint{}, alsaEndpoints(nil, linux.TreeIn(tree.Root)), "none, which is known")
}
