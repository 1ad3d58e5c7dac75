package audio

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab"
)

var acme = testlab.Headset{
	Name: "acme", Description: "Acme Headset 700", Vendor: "Acme", VID: "1209", PID: "0700", Serial: "A1",
}

// follower reads a source as the agent does and keeps its last observation.
type follower struct {
	t        *testing.T
	kick     signal.Signal
	mu       sync.Mutex
	last     devices.Observation
	seen     int
	observed signal.Signal
}

func watch(t *testing.T, src platform.Source) *follower {
	t.Helper()
	f := &follower{t: t, kick: signal.New(), observed: signal.New()}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		platform.Follow(ctx, src, f.kick, f.observe)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return f
}

func (f *follower) observe(o devices.Observation) {
	f.mu.Lock()
	f.last = o
	f.seen++
	f.mu.Unlock()
	f.observed.Notify()
}

func (f *follower) get() (devices.Observation, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last, f.seen
}

// until waits for an observation that fits and returns it.
func (f *follower) until(what string, fits func(devices.Observation) bool) devices.Observation {
	f.t.Helper()
	var last devices.Observation
	if !testlab.Until(func() <-chan struct{} { return f.observed }, func() bool {
		o, n := f.get()
		last = o
		return n > 0 && fits(o)
	}) {
		_, n := f.get()
		require.FailNow(f.t, "never seen: "+what, "after %d observations: %+v", n, last)
	}
	return last
}

func find(o devices.Observation, t devices.Type, id string) *devices.Endpoint {
	if o.Err != nil {
		return nil
	}
	i := slices.IndexFunc(o.Endpoints, func(e devices.Endpoint) bool { return e.Type == t && e.ID == id })
	if i < 0 {
		return nil
	}
	return &o.Endpoints[i]
}

func muted(id string, want devices.Tri) func(devices.Observation) bool {
	return func(o devices.Observation) bool {
		e := find(o, devices.AudioInput, id)
		return e != nil && e.Mute == want
	}
}

func audioOf(s *testlab.SoundServer) *source {
	return newSource(Options{Server: s.Socket(), Getenv: func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": s.Dir()}[name]
	}})
}

func TestAudio(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		platformtest.NoLeak(t)
		ctx := platformtest.Deadline(t)
		f := watch(t, audioOf(s))
		f.until("a working server", func(o devices.Observation) bool { return o.Err == nil })

		hs, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		o := f.until("the headset", func(o devices.Observation) bool {
			e := find(o, devices.AudioInput, hs.SourceName)
			return e != nil && find(o, devices.AudioOutput, hs.SinkName) != nil
		})
		e := find(o, devices.AudioInput, hs.SourceName)
		require.Equal(t, devices.Endpoint{
			Source: "audio", ID: hs.SourceName, Type: devices.AudioInput, Name: "Acme Headset 700", Bus: devices.USB,
			VID: "1209", PID: "0700", Serial: "A1", Master: e.Master, Default: e.Default, Mute: devices.False,
			SeenBy: []string{"pulse"},
		}, *e)
		for _, e := range o.Endpoints {
			require.NotContains(t, e.ID, ".monitor")
		}
		require.Empty(t, o.Notes)

		for _, mute := range []bool{true, false, true, false} { // PipeWire remembers the last one
			require.NoError(t, hs.SetMute(ctx, mute))
			f.until("the mute", muted(hs.SourceName, devices.Of(mute)))
		}
		require.NoError(t, hs.Unplug(ctx))
		f.until("the headset gone", func(o devices.Observation) bool {
			return o.Err == nil && find(o, devices.AudioInput, hs.SourceName) == nil && find(o, devices.AudioOutput, hs.SinkName) == nil
		})
		again, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		f.until("the headset back, unmuted", muted(again.SourceName, devices.False))
	})
}

func TestAudioEchoCancel(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := platformtest.Deadline(t)
		hs, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		f := watch(t, audioOf(s))
		f.until("the headset", muted(hs.SourceName, devices.False))
		module, err := s.LoadModule(ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName, "source_name=cleaned", "sink_name=cleaned_out")
		require.NoError(t, err)
		o := f.until("the cleaned source", func(o devices.Observation) bool {
			e := find(o, devices.AudioInput, "cleaned")
			return e != nil && e.Effects[devices.EchoCancellation].Known() && e.Master != ""
		})
		e := find(o, devices.AudioInput, "cleaned")
		require.True(t, e.Virtual)
		require.Equal(t, hs.SourceName, e.Master)
		require.Equal(t, devices.True, e.Effects[devices.EchoCancellation])
		require.Equal(t, devices.True, e.Effects[devices.NoiseSuppression])
		require.False(t, e.MuteInHardware, "a server's filter is no switch in a device")
		require.NoError(t, s.UnloadModule(ctx, module))
		f.until("the cleaned source gone", func(o devices.Observation) bool {
			return o.Err == nil && find(o, devices.AudioInput, "cleaned") == nil
		})
	})
}

// TestAudioMasterIsWhatIsRecorded: not what the canceller was told to record when it was loaded.
func TestAudioMasterIsWhatIsRecorded(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := platformtest.Deadline(t)
		hs, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		other := acme
		other.Name, other.Serial = "desk", "A2"
		desk, err := s.PlugHeadset(ctx, other)
		require.NoError(t, err)
		require.NoError(t, s.SetDefaultSource(ctx, desk.SourceName))
		f := watch(t, audioOf(s))
		master := func(id, want string) func(devices.Observation) bool {
			return func(o devices.Observation) bool {
				e := find(o, devices.AudioInput, id)
				return e != nil && e.Virtual && e.Master == want
			}
		}
		stream := map[testlab.SoundKind]string{testlab.PulseAudio: "Echo-Cancel Source Stream", testlab.PipeWire: "Echo-Cancel Capture"}[s.Kind()]

		cleaned, err := s.LoadModule(ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName, "source_name=cleaned", "sink_name=out")
		require.NoError(t, err)
		f.until("the microphone that it was told to record", master("cleaned", hs.SourceName))
		for _, mic := range []*testlab.PluggedHeadset{desk, hs, desk} {
			// WirePlumber overlooks a move while it still links the stream, and then nothing changes that could be observed.
			moved := testlab.Until(func() <-chan time.Time { return time.After(300 * time.Millisecond) }, func() bool {
				o, _ := f.get()
				if master("cleaned", mic.SourceName)(o) {
					return true
				}
				require.NoError(t, s.MoveStreams(ctx, "media.name", stream, mic.SourceName))
				return false
			})
			require.True(t, moved, "the microphone that the user has chosen for it: %s", mic.SourceName)
		}

		_, err = s.LoadModule(ctx, "module-remap-source", "master=cleaned", "source_name=again")
		require.NoError(t, err)
		f.until("a filter behind a filter", master("again", "cleaned"))
		require.NoError(t, s.UnloadModule(ctx, cleaned))
		f.until("the canceller gone", func(o devices.Observation) bool {
			again := find(o, devices.AudioInput, "again") // PulseAudio unloads it, too, or moves its stream
			return o.Err == nil && find(o, devices.AudioInput, "cleaned") == nil && (again == nil || again.Master != "cleaned")
		})

		_, err = s.LoadModule(ctx, "module-echo-cancel", "source_name=free", "sink_name=out2")
		require.NoError(t, err)
		f.until("the default, which it records without being told", master("free", desk.SourceName))
	})
}

// TestAudioHearsOfMovesOnPipeWire: its PulseAudio protocol has no event for them, so links tell, and nothing is read while nothing happens.
func TestAudioHearsOfMovesOnPipeWire(t *testing.T) {
	platformtest.NoLeak(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // of several moves, each of which may take some tries
	defer cancel()
	s, err := testlab.StartSound(ctx, testlab.PipeWire)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	hs, err := s.PlugHeadset(ctx, acme)
	require.NoError(t, err)
	other := acme
	other.Name, other.Serial = "desk", "A2"
	desk, err := s.PlugHeadset(ctx, other)
	require.NoError(t, err)
	a := audioOf(s)
	defer func() { require.NoError(t, a.Close()) }()
	master := func() (master string) {
		for _, e := range platformtest.MustList(t, a) {
			if e.ID == "cleaned" && e.Type == devices.AudioInput {
				master = e.Master
			}
		}
		return master
	}
	until := func(what string, fits func(master string) bool) {
		t.Helper()
		for !fits(master()) {
			require.NoError(t, a.Wait(ctx), what)
		}
	}
	until("no canceller yet", func(master string) bool { return master == "" && a.moves.links == nil && a.moves.wait() == 0 })
	_, err = s.LoadModule(ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName, "source_name=cleaned", "sink_name=out")
	require.NoError(t, err)
	until("links are listened to, and no timer runs", func(master string) bool {
		return master == hs.SourceName && a.moves.links != nil && a.moves.wait() == 0 && len(a.changed) == 0
	})
	for moved := false; !moved; { // WirePlumber overlooks some moves
		require.NoError(t, s.MoveStreams(ctx, "media.name", "Echo-Cancel Capture", desk.SourceName))
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		moved = a.Wait(short) == nil
		cancel()
		require.True(t, moved || master() == hs.SourceName, "moved without a word")
	}
	until("the other microphone, and no timer", func(master string) bool {
		return master == desk.SourceName && a.moves.wait() == 0 && len(a.changed) == 0
	})

	require.NoError(t, a.moves.links.Close())
	require.NotZero(t, a.moves.wait(), "without links there is a timer")
	until("the first one again, by the timer", func(master string) bool {
		if master == hs.SourceName {
			return true
		}
		// WirePlumber overlooks a move while it still links the stream.
		require.NoError(t, s.MoveStreams(ctx, "media.name", "Echo-Cancel Capture", hs.SourceName))
		return false
	})
}

// TestAVirtualSourceOfSeveralMicrophones has no master: its stream records another one, too, which the PulseAudio protocol does not tell.
func TestAVirtualSourceOfSeveralMicrophones(t *testing.T) {
	ctx := platformtest.Deadline(t)
	s, err := testlab.StartSound(ctx, testlab.PipeWire)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	hs, err := s.PlugHeadset(ctx, acme)
	require.NoError(t, err)
	other := acme
	other.Name, other.Serial = "desk", "A2"
	desk, err := s.PlugHeadset(ctx, other)
	require.NoError(t, err)
	_, err = s.LoadModule(ctx, "module-echo-cancel", "source_master="+hs.SourceName, "sink_master="+hs.SinkName, "source_name=cleaned", "sink_name=out")
	require.NoError(t, err)
	f := watch(t, audioOf(s))
	master := func(want string) func(devices.Observation) bool {
		return func(o devices.Observation) bool {
			e := find(o, devices.AudioInput, "cleaned")
			return e != nil && e.Master == want
		}
	}
	link := func(args ...string) {
		c := exec.CommandContext(ctx, "pw-link", append(args, desk.SourceName+":capture_FL", "echo-cancel-capture:input_FL")...)
		c.Env = s.Env()
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	f.until("one", master(hs.SourceName))
	link()
	f.until("two", master(""))
	f = watch(t, audioOf(s))
	f.until("two from the start", func(o devices.Observation) bool {
		require.False(t, master(hs.SourceName)(o))
		return master("")(o)
	})
	link("--disconnect")
	f.until("one again", master(hs.SourceName))
}

// TestStreamsMatterOnlyToVirtualSources: those of programs come and go all the time.
func TestStreamsMatterOnlyToVirtualSources(t *testing.T) {
	a := newSource(Options{})
	a.onEvent(pulse.OnSourceOutput, pulse.New, 1)
	what, _ := a.pending.take()
	require.Zero(t, what)
	a.fed.Store(true)
	a.onEvent(pulse.OnSourceOutput, pulse.Change, 1)
	a.onEvent(pulse.OnSource, pulse.Change, 2)
	what, _ = a.pending.take()
	require.Equal(t, streamsChanged|sourceChanged, what, "nothing that needs a full reading")
}

func TestAudioDefaultChange(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := platformtest.Deadline(t)
		first, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		other := acme
		other.Name, other.Serial = "acme2", "A2"
		second, err := s.PlugHeadset(ctx, other)
		require.NoError(t, err)
		f := watch(t, audioOf(s))
		for _, id := range []string{first.SourceName, second.SourceName, first.SourceName} {
			require.NoError(t, s.SetDefaultSource(ctx, id))
			f.until("default "+id, func(o devices.Observation) bool {
				e := find(o, devices.AudioInput, id)
				return e != nil && e.Default
			})
		}
	})
}

func TestAudioSurvivesItsServer(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := platformtest.Deadline(t)
		hs, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		f := watch(t, audioOf(s))
		f.until("the headset", muted(hs.SourceName, devices.False))
		for _, end := range []func() error{s.Term, s.Kill} {
			require.NoError(t, end())
			f.until("an error, not an empty list", func(o devices.Observation) bool {
				return o.Err != nil && strings.Contains(o.Err.Error(), "waiting for the sound server") // the first may be of the connection
			})
			require.NoError(t, s.Restart(ctx))
			hs, err = s.PlugHeadset(ctx, acme)
			require.NoError(t, err)
			f.until("the headset again", func(o devices.Observation) bool { return find(o, devices.AudioInput, hs.SourceName) != nil })
		}
	})
}

func TestAudioWaitsForItsServer(t *testing.T) {
	s := testlab.SoundForTest(t, testlab.PulseAudio)
	require.NoError(t, s.Kill())
	f := watch(t, audioOf(s))
	f.until("waiting", func(o devices.Observation) bool { return o.Err != nil })
	ctx := platformtest.Deadline(t)
	require.NoError(t, s.Restart(ctx))
	f.until("a working server", func(o devices.Observation) bool { return o.Err == nil })
}

// impatient is a source whose Read has next to no time while the server is known not to answer.
type impatient struct {
	*source
	now atomic.Bool
}

func (i *impatient) Read(ctx context.Context) (platform.Reading, error) {
	if i.now.Load() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
	}
	return i.source.Read(ctx)
}

// TestAudioServerHangs stops the server: what was read stays, reading anew fails in time, and
// all is well again when the server goes on.
func TestAudioServerHangs(t *testing.T) {
	s := testlab.SoundForTest(t, testlab.PulseAudio)
	ctx := platformtest.Deadline(t)
	hs, err := s.PlugHeadset(ctx, acme)
	require.NoError(t, err)
	src := &impatient{source: audioOf(s)}
	f := watch(t, src)
	f.until("the headset", muted(hs.SourceName, devices.False))
	require.NoError(t, s.Suspend())
	src.now.Store(true)
	f.kick <- struct{}{}
	f.until("a deadline", func(o devices.Observation) bool { return o.Err != nil })
	src.now.Store(false)
	require.NoError(t, s.Continue())
	f.until("the headset again", muted(hs.SourceName, devices.False))
	require.NoError(t, hs.SetMute(platformtest.Deadline(t), true))
	f.until("the mute", muted(hs.SourceName, devices.True))
}

func TestAudioStorm(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := platformtest.Deadline(t)
		hs, err := s.PlugHeadset(ctx, acme)
		require.NoError(t, err)
		f := watch(t, audioOf(s))
		f.until("the headset", muted(hs.SourceName, devices.False))
		conn, err := pulse.Dial(ctx, s.Socket(), pulse.Options{Name: "test"})
		require.NoError(t, err)
		defer conn.Close()
		for i := range 500 {
			require.NoError(t, conn.SetSourceMute(ctx, hs.SourceName, i%2 == 0))
		}
		require.NoError(t, conn.SetSourceMute(ctx, hs.SourceName, true))
		f.until("the last state", muted(hs.SourceName, devices.True))
	})
}

func TestAudioOddNames(t *testing.T) {
	s := testlab.SoundForTest(t, testlab.PulseAudio)
	ctx := platformtest.Deadline(t)
	f := watch(t, audioOf(s))
	_, err := s.LoadModule(ctx, "module-null-sink", "sink_name=odd", "sink_properties='device.description=\"Ünïcode 🎧 \xc3\x28\"'")
	if err != nil {
		t.Logf("the server refuses broken UTF-8 itself: %v", err)
		_, err = s.LoadModule(ctx, "module-null-sink", "sink_name=odd", "sink_properties='device.description=\"Ünïcode 🎧\"'")
		require.NoError(t, err)
	}
	o := f.until("the sink", func(o devices.Observation) bool { return find(o, devices.AudioOutput, "odd") != nil })
	require.Contains(t, find(o, devices.AudioOutput, "odd").Name, "nïcode 🎧")
}
