package pulse_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jfreymuth/pulse/proto"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/devices"
	"sidetone/internal/platform/audio/pulse"
	"sidetone/internal/testlab"
)

// These tests talk to real servers.

func deadline(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

func dial(tb testing.TB, s *testlab.SoundServer, onEvent func(pulse.Facility, pulse.EventType, uint32)) *pulse.Conn {
	tb.Helper()
	c, err := pulse.Dial(deadline(tb), s.Socket(), pulse.Options{Name: "sidetone test", OnEvent: onEvent})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, c.Close()) })
	return c
}

var acme = testlab.Headset{
	Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Inc", VID: "0b0e", PID: "2457", Serial: "A_0001",
}

func plug(tb testing.TB, s *testlab.SoundServer) *testlab.PluggedHeadset {
	tb.Helper()
	h, err := s.PlugHeadset(deadline(tb), acme)
	require.NoError(tb, err)
	return h
}

// listen returns an event handler and the channel on which it puts the events. What does not
// fit is dropped: an event is only a reason to look again.
func listen(size int) (func(pulse.Facility, pulse.EventType, uint32), <-chan pulse.Facility) {
	events := make(chan pulse.Facility, size)
	return func(f pulse.Facility, _ pulse.EventType, _ uint32) {
		select {
		case events <- f:
		default:
		}
	}, events
}

func find(tb testing.TB, list []pulse.Source, name string) pulse.Source {
	tb.Helper()
	for _, s := range list {
		if s.Name == name {
			return s
		}
	}
	require.Failf(tb, "no such source", "%s in %v", name, list)
	return pulse.Source{}
}

// eventually looks again at each event until ok says that it has seen what it waited for.
func eventually(tb testing.TB, events <-chan pulse.Facility, ok func() bool) {
	tb.Helper()
	require.True(tb, testlab.Until(func() <-chan pulse.Facility { return events }, ok), "the events ended too early")
}

func TestList(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		c := dial(t, s, nil)
		ctx := deadline(t)
		require.Equal(t, uint32(35), c.Version())
		all, err := c.Snapshot(ctx)
		require.NoError(t, err)

		require.Equal(t, s.Kind() == testlab.PipeWire, strings.Contains(all.Server.PackageName, "PipeWire"))
		require.NotEmpty(t, all.Server.PackageVersion)
		require.NotEmpty(t, all.Server.DefaultSink)
		require.NotEmpty(t, all.Server.DefaultSource)

		mic := find(t, all.Sources, h.SourceName)
		require.Equal(t, "Acme Headset 700", mic.Description)
		require.False(t, mic.IsMonitor())
		require.False(t, mic.MuteInHardware())
		require.Equal(t, uint32(pulse.InvalidIndex), mic.Card)
		require.NotEqual(t, uint32(pulse.InvalidIndex), mic.OwnerModule)
		for key, want := range map[string]string{
			"device.bus": "usb", "device.vendor.id": "0b0e", "device.product.id": "2457",
			"device.serial": "A_0001", "device.vendor.name": "Acme Inc", "device.form_factor": "headset",
		} {
			require.Equal(t, want, mic.Properties[key], key)
		}
		monitor := find(t, all.Sources, h.SinkName+".monitor")
		require.True(t, monitor.IsMonitor())
		require.Equal(t, h.SinkName, monitor.MonitorOfSink)

		var speaker pulse.Sink
		for _, k := range all.Sinks {
			if k.Name == h.SinkName {
				speaker = k
			}
		}
		require.Equal(t, monitor.MonitorOfSinkIndex, speaker.Index)
		require.Equal(t, "0b0e", speaker.Properties["device.vendor.id"])

		var remap pulse.Module
		for _, m := range all.Modules {
			if m.Index == mic.OwnerModule {
				remap = m
			}
		}
		require.Equal(t, "module-remap-source", remap.Name)
		require.Contains(t, remap.Argument, "source_name="+h.SourceName)

		// The single requests say the same.
		server, err := c.ServerInfo(ctx)
		require.NoError(t, err)
		require.Equal(t, all.Server, server)
		sources, err := c.Sources(ctx)
		require.NoError(t, err)
		require.Equal(t, names(all.Sources), names(sources))
		sinks, err := c.Sinks(ctx)
		require.NoError(t, err)
		require.Len(t, sinks, len(all.Sinks))
		require.Empty(t, all.Cards)
		modules, err := c.Modules(ctx)
		require.NoError(t, err)
		require.Equal(t, all.Modules, modules)
		one, err := c.Source(ctx, mic.Index)
		require.NoError(t, err)
		require.Equal(t, mic.Properties, one.Properties)
		_, err = c.Source(ctx, 123456)
		require.ErrorIs(t, err, pulse.ErrNoEntity)
	})
}

func names(sources []pulse.Source) []string {
	var list []string
	for _, s := range sources {
		list = append(list, s.Name)
	}
	return list
}

// TestEveryVersion makes the server speak each version of the protocol that we know.
func TestEveryVersion(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		for version := uint32(30); version <= 35; version++ {
			c, err := pulse.DialVersion(deadline(t), "unix:"+s.Socket(), pulse.Options{}, version)
			require.NoError(t, err)
			require.Equal(t, version, c.Version())
			all, err := c.Snapshot(deadline(t))
			require.NoError(t, err)
			find(t, all.Sources, h.SourceName)
			require.NoError(t, c.Close())
		}
	})
}

// TestSecondOpinion compares our reading with that of an independent client.
func TestSecondOpinion(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		plug(t, s)
		_, err := s.LoadModule(deadline(t), "module-echo-cancel", "source_name=ec")
		require.NoError(t, err)
		c := dial(t, s, nil)
		var ours pulse.Snapshot
		testlab.Eventually(t, "every stream has its source", func() bool {
			ours, err = c.Snapshot(deadline(t))
			require.NoError(t, err)
			return !slices.ContainsFunc(ours.Outputs, func(o pulse.SourceOutput) bool { return o.Source == pulse.InvalidIndex })
		})
		other := dialOther(t, s)

		var sources proto.GetSourceInfoListReply
		require.NoError(t, other.Request(&proto.GetSourceInfoList{}, &sources))
		require.Len(t, ours.Sources, len(sources))
		for i, theirs := range sources {
			s := ours.Sources[i]
			require.Equal(t, theirs.SourceName, s.Name)
			require.Equal(t, theirs.SourceIndex, s.Index)
			require.Equal(t, theirs.Device, s.Description)
			require.Equal(t, theirs.Mute, s.Mute)
			require.Equal(t, theirs.Flags, uint32(s.Flags))
			require.Equal(t, theirs.ModuleIndex, s.OwnerModule)
			require.Equal(t, theirs.CardIndex, s.Card)
			require.Equal(t, theirs.MonitorSourceName, s.MonitorOfSink)
			require.Equal(t, theirs.MonitorSourceIndex, s.MonitorOfSinkIndex)
			require.Len(t, s.Plugged, len(theirs.Ports))
			require.Len(t, s.Properties, len(theirs.Properties))
			for key, value := range theirs.Properties {
				require.Equal(t, value.String(), s.Properties[key])
			}
		}
		var sinks proto.GetSinkInfoListReply
		require.NoError(t, other.Request(&proto.GetSinkInfoList{}, &sinks))
		require.Len(t, ours.Sinks, len(sinks))
		for i, theirs := range sinks {
			require.Equal(t, theirs.SinkName, ours.Sinks[i].Name)
			require.Equal(t, theirs.ModuleIndex, ours.Sinks[i].OwnerModule)
		}
		var modules proto.GetModuleInfoListReply
		require.NoError(t, other.Request(&proto.GetModuleInfoList{}, &modules))
		require.Len(t, ours.Modules, len(modules))
		for i, theirs := range modules {
			require.Equal(t, theirs.ModuleIndex, ours.Modules[i].Index)
			require.Equal(t, theirs.ModuleName, ours.Modules[i].Name)
			require.Equal(t, theirs.ModuleArgs, ours.Modules[i].Argument)
		}
		var outputs proto.GetSourceOutputInfoListReply
		require.NoError(t, other.Request(&proto.GetSourceOutputInfoList{}, &outputs))
		require.NotEmpty(t, outputs)
		require.Len(t, ours.Outputs, len(outputs))
		for i, theirs := range outputs {
			o := ours.Outputs[i]
			require.Equal(t, theirs.SourceOutpuIndex, o.Index)
			require.Equal(t, theirs.ModuleIndex, o.OwnerModule)
			require.Equal(t, theirs.SourceIndex, o.Source)
			require.Equal(t, theirs.Properties["media.name"].String(), o.Properties["media.name"])
		}
	})
}

// dialOther connects the independent client.
func dialOther(tb testing.TB, s *testlab.SoundServer) *proto.Client {
	tb.Helper()
	nc, err := net.Dial("unix", s.Socket())
	require.NoError(tb, err)
	c := &proto.Client{}
	c.SetTimeout(30 * time.Second)
	closed := make(chan struct{})
	c.Callback = func(m any) {
		if _, ok := m.(*proto.ConnectionClosed); ok {
			close(closed)
		}
	}
	c.Open(nc)
	var auth proto.AuthReply
	require.NoError(tb, c.Request(&proto.Auth{Version: c.Version(), Cookie: make([]byte, 256)}, &auth))
	c.SetVersion(auth.Version)
	require.NoError(tb, c.Request(&proto.SetClientName{Props: proto.PropList{}}, &proto.SetClientNameReply{}))
	tb.Cleanup(func() {
		// Half closing makes the server hang up, which is the only end that this client survives.
		require.NoError(tb, nc.(*net.UnixConn).CloseWrite())
		<-closed
		require.NoError(tb, nc.Close())
	})
	return c
}

func TestMuteEvent(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		ctx := deadline(t)
		type change struct {
			f     pulse.Facility
			e     pulse.EventType
			index uint32
		}
		events := make(chan change, 100)
		c := dial(t, s, func(f pulse.Facility, e pulse.EventType, i uint32) { events <- change{f, e, i} })
		require.NoError(t, c.Subscribe(ctx, pulse.OnSource))
		sources, err := c.Sources(ctx)
		require.NoError(t, err)
		mic := find(t, sources, h.SourceName)
		require.False(t, mic.Mute)

		require.NoError(t, h.SetMute(ctx, true))
		for {
			select {
			case got := <-events:
				require.Equal(t, pulse.OnSource, got.f)
				if got.index != mic.Index || got.e != pulse.Change {
					continue
				}
				if mic, err = c.Source(ctx, mic.Index); err == nil && mic.Mute {
					return
				}
				require.NoError(t, err)
			case <-ctx.Done():
				require.Fail(t, "no event shows the mute")
			}
		}
	})
}

func TestMuteStorm(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		ctx := deadline(t)
		onEvent, events := listen(1) // one slot is enough to lose nothing
		c := dial(t, s, onEvent)
		require.NoError(t, c.Subscribe(ctx, pulse.OnSource))
		sources, err := c.Sources(ctx)
		require.NoError(t, err)
		index := find(t, sources, h.SourceName).Index
		button := dial(t, s, nil)

		const toggles = 500
		over := make(chan struct{})
		go func() {
			defer close(over)
			for i := range toggles {
				if err := button.SetSourceMute(ctx, h.SourceName, i%2 == 0); err != nil {
					t.Error(err)
				}
			}
			if err := button.SetSourceMute(ctx, fmt.Sprint(index), true); err != nil { // the last word
				t.Error(err)
			}
		}()
		// Only what is read after an event counts, so a lost last event would show.
		var muted bool
		seen := map[bool]bool{}
		for running := over; running != nil || !muted; {
			select {
			case <-events:
				mic, err := c.Source(ctx, index)
				require.NoError(t, err)
				muted = mic.Mute
				seen[muted] = true
			case <-running:
				running = nil
			case <-ctx.Done():
				require.Fail(t, "no event shows the last state")
			}
		}
		require.Len(t, seen, 2)
	})
}

func TestPlugAndUnplug(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := deadline(t)
		onEvent, events := listen(1)
		c := dial(t, s, onEvent)
		require.NoError(t, c.Subscribe(ctx, pulse.OnSource, pulse.OnSink, pulse.OnCard, pulse.OnModule, pulse.OnServer))
		has := func(name string) bool {
			all, err := c.Snapshot(ctx)
			require.NoError(t, err)
			return strings.Contains(strings.Join(names(all.Sources), " "), name)
		}
		require.False(t, has(acme.Name))
		h := plug(t, s)
		eventually(t, events, func() bool { return has(h.SourceName) })
		require.NoError(t, h.Unplug(ctx))
		eventually(t, events, func() bool { return !has(h.SourceName) })
	})
}

func TestServerDies(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		for _, end := range []func() error{s.Kill, s.Term} {
			c := dial(t, s, nil)
			require.NoError(t, end())
			<-c.Done()
			require.Error(t, c.Err())
			_, err := c.Sources(deadline(t))
			require.ErrorIs(t, err, c.Err())
			_, err = pulse.Dial(deadline(t), s.Socket(), pulse.Options{})
			require.ErrorContains(t, err, "is a sound server running")
			require.NoError(t, s.Restart(deadline(t)))
			dial(t, s, nil) // the same socket works again
		}
	})
}

func TestServerHangs(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		c := dial(t, s, nil)
		before := goleak.IgnoreCurrent()
		require.NoError(t, s.Suspend())
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if _, err := c.Snapshot(ctx); err == nil {
					t.Error("a stopped server answered")
				}
			})
		}
		all.Wait()
		<-c.Done()
		require.ErrorIs(t, c.Err(), context.DeadlineExceeded)

		ctx, cancel = context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_, err := pulse.Dial(ctx, s.Socket(), pulse.Options{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "restart it")
		goleak.VerifyNone(t, before)

		require.NoError(t, s.Continue())
		again := dial(t, s, nil)
		_, err = again.Snapshot(deadline(t))
		require.NoError(t, err)
	})
}

func TestManyConnections(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		open := func() {
			c, err := pulse.Dial(deadline(t), s.Socket(), pulse.Options{})
			require.NoError(t, err)
			_, err = c.Sources(deadline(t))
			require.NoError(t, err)
			require.NoError(t, c.Close())
			require.ErrorIs(t, c.Err(), pulse.ErrClosed)
		}
		open()
		goroutines, files := goleak.IgnoreCurrent(), openFiles(t)
		for range 1000 {
			open()
		}
		goleak.VerifyNone(t, goroutines)
		require.Equal(t, files, openFiles(t))
	})
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

func TestOddText(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		_, err := s.LoadModule(deadline(t), "module-null-sink", "sink_name=odd",
			// PulseAudio reads hex: as raw bytes, PipeWire as text and takes the raw bytes after it.
			"sink_properties='device.serial=hex:41ff00fe42 device.description=\"M\xfcller \xe2\x82 \u00fc\"'")
		if err != nil { // PulseAudio wants text to be UTF-8
			_, err = s.LoadModule(deadline(t), "module-null-sink", "sink_name=odd",
				"sink_properties='device.serial=hex:41ff00fe42 device.description=\"\u00fc\"'")
		}
		require.NoError(t, err)
		all, err := dial(t, s, nil).Snapshot(deadline(t))
		require.NoError(t, err)
		var odd pulse.Sink
		for _, k := range all.Sinks {
			if k.Name == "odd" {
				odd = k
			}
		}
		require.NotEmpty(t, odd.Properties)
		for key, value := range odd.Properties {
			require.True(t, utf8.ValidString(value), key)
			require.NotContains(t, value, "\x00", key)
		}
		require.Contains(t, odd.Description, "\u00fc")
		if s.Kind() == testlab.PulseAudio {
			require.Equal(t, "A\uFFFD\uFFFD\uFFFDB", odd.Properties["device.serial"])
		}
	})
}

func TestEchoCanceller(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		h := plug(t, s)
		ctx := deadline(t)
		onEvent, events := listen(1)
		c := dial(t, s, onEvent)
		require.NoError(t, c.Subscribe(ctx, pulse.OnSource, pulse.OnModule))

		// What is known of the source that a canceller made; ok is false if there is none.
		look := func() (e pulse.EchoCancel, ok bool) {
			all, err := c.Snapshot(ctx)
			require.NoError(t, err)
			cancels := pulse.EchoCancels(all.Server, all.Modules)
			for _, s := range all.Sources {
				if found, is := pulse.ProcessingOf(cancels, s); is {
					require.NotEqual(t, h.SourceName, s.Name)
					require.False(t, s.MuteInHardware(), "no switch in a virtual microphone, whatever its flags say")
					e, ok = found, true
				}
			}
			return e, ok
		}
		_, ok := look()
		require.False(t, ok)

		for _, args := range [][]string{
			{"source_master=" + h.SourceName, "sink_master=" + h.SinkName},
			{"source_master=" + h.SourceName, "sink_master=" + h.SinkName, "source_name=ec", `aec_args="analog_gain_control=0 noise_suppression=1"`},
		} {
			module, err := s.LoadModule(ctx, "module-echo-cancel", args...)
			require.NoError(t, err)
			var e pulse.EchoCancel
			eventually(t, events, func() bool {
				e, ok = look()
				return ok
			})
			require.Equal(t, module, e.Module)
			require.Equal(t, devices.True, e.EchoCancellation)
			require.Equal(t, devices.True, e.NoiseSuppression)
			gain := devices.Of(s.Kind() == testlab.PulseAudio && len(args) == 2) // only PulseAudio's default is on
			require.Equal(t, gain, e.GainControl)

			require.NoError(t, s.UnloadModule(ctx, module))
			eventually(t, events, func() bool {
				_, ok = look()
				return !ok
			})
		}
	})
}

// TestReset has a peer that goes away with our request unread, which the kernel reports as a
// reset and not as an end.
func TestReset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer l.Close()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadFull(nc, make([]byte, 4)) // there is more
		_ = nc.Close()
	}()
	_, err = pulse.Dial(deadline(t), path, pulse.Options{})
	require.ErrorIs(t, err, syscall.ECONNRESET)
}
