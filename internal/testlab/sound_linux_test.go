package testlab_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sidetone/internal/testlab"
)

const childKind = "SOUNDLAB_TEST_CHILD"

// TestMain also is the program that TestServerDiesWithItsParent kills.
func TestMain(m *testing.M) {
	if kind := os.Getenv(childKind); kind != "" {
		s, err := testlab.StartSound(context.Background(), testlab.SoundKind(kind))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.ProcessGroup())
		select {}
	}
	goleak.VerifyTestMain(m)
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func pactl(t *testing.T, s *testlab.SoundServer, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(deadline(t), "pactl", args...)
	cmd.Env = append(s.Env(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// running returns the processes of a group that are not dead.
func running(t *testing.T, group int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var list []string
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended in the meantime
		}
		// pid (name) state ppid pgrp …, and the name may hold anything.
		name, rest, ok := bytes.Cut(b, []byte(") "))
		fields := bytes.Fields(rest)
		if ok && len(fields) > 2 && string(fields[2]) == strconv.Itoa(group) && string(fields[0]) != "Z" {
			list = append(list, string(name))
		}
	}
	return list
}

func TestStartAndClose(t *testing.T) {
	for kind, programs := range map[testlab.SoundKind]int{testlab.PulseAudio: 1, testlab.PipeWire: 4} {
		t.Run(string(kind), func(t *testing.T) {
			require.NoError(t, testlab.SoundAvailable(kind))
			s, err := testlab.StartSound(deadline(t), kind)
			require.NoError(t, err)
			group := s.ProcessGroup()
			require.Len(t, running(t, group), programs)
			require.Equal(t, kind, s.Kind())
			info := pactl(t, s, "info")
			require.Contains(t, info, "Server String: unix:"+s.Socket())
			require.Contains(t, info, "Default Sink: auto_null")
			require.Equal(t, kind == testlab.PipeWire, strings.Contains(info, "on PipeWire"))
			require.Empty(t, pactl(t, s, "list", "short", "cards"), "no hardware in a private server")

			require.NoError(t, s.Close())
			require.Empty(t, running(t, group))
			require.NoDirExists(t, s.Dir())
			require.NoError(t, s.Close(), "closing twice does no harm")
		})
	}
}

func TestHeadset(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := deadline(t)
		h, err := s.PlugHeadset(ctx, testlab.Headset{
			Name: "acme", Description: "Acme Headset 700", Vendor: "Acme Inc", VID: "0b0e", PID: "2457", Serial: "A_0001",
		})
		require.NoError(t, err)
		for what, name := range map[string]string{"sources": h.SourceName, "sinks": h.SinkName} {
			entry := section(pactl(t, s, "list", what), name)
			for _, property := range []string{
				`device.description = "Acme Headset 700"`,
				`device.vendor.name = "Acme Inc"`,
				`device.vendor.id = "0b0e"`,
				`device.product.id = "2457"`,
				`device.serial = "A_0001"`,
				`device.bus = "usb"`,
				`device.form_factor = "headset"`,
				`device.class = "sound"`,
			} {
				require.Contains(t, entry, property)
			}
		}
		require.Contains(t, section(pactl(t, s, "list", "sources"), h.SourceName), "Mute: no")
		require.NoError(t, h.SetMute(ctx, true))
		require.Contains(t, section(pactl(t, s, "list", "sources"), h.SourceName), "Mute: yes")
		require.NoError(t, h.SetMute(ctx, false))
		require.Contains(t, section(pactl(t, s, "list", "sources"), h.SourceName), "Mute: no")

		_, err = s.PlugHeadset(ctx, testlab.Headset{Name: "acme"})
		require.ErrorContains(t, err, "plugged in already")
		require.NoError(t, h.Unplug(ctx))
		require.NotContains(t, pactl(t, s, "list", "short"), "acme")
	})
}

// section returns the part of a pactl listing that is about the named device.
func section(list, name string) string {
	for _, part := range strings.Split(list, "\n\n") {
		if strings.Contains(part, "\tName: "+name+"\n") {
			return part
		}
	}
	return ""
}

func TestHeadsetWithUnusableText(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		for _, h := range []testlab.Headset{
			{Name: ""},
			{Name: "two words"},
			{Name: "a", Description: `6" long`},
			{Name: "a", Serial: "1\n2"},
		} {
			_, err := s.PlugHeadset(deadline(t), h)
			require.ErrorContains(t, err, "headset")
		}
		_, err := s.LoadModule(deadline(t), "module-no-such")
		require.ErrorContains(t, err, "load module-no-such")
	})
}

func TestSignals(t *testing.T) {
	testlab.ForEachSound(t, func(t *testing.T, s *testlab.SoundServer) {
		ctx := deadline(t)
		require.NoError(t, s.Suspend())
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := s.LoadModule(short, "module-null-sink")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, s.Continue())
		pactl(t, s, "info")

		for _, end := range []func() error{s.Term, s.Kill} {
			group := s.ProcessGroup()
			require.NoError(t, end())
			require.Empty(t, running(t, group))
			_, err = net.Dial("unix", s.Socket())
			require.Error(t, err)
			require.NoError(t, end(), "ending twice does no harm")
			require.NoError(t, s.Restart(ctx))
			pactl(t, s, "info")
		}
		require.NoError(t, s.Suspend())
		require.NoError(t, s.Term(), "a suspended server can end")
	})
}

func TestSeveralAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		s := testlab.SoundForTest(t, testlab.SoundKinds[i%2])
		name := fmt.Sprintf("acme%d", i)
		all.Go(func() {
			_, err := s.PlugHeadset(deadline(t), testlab.Headset{Name: name})
			if err != nil {
				t.Error(err)
			}
			listing, err := s.LoadModule(deadline(t), "module-null-sink", "sink_name=after_"+name)
			if err != nil || listing == 0 {
				t.Error(listing, err)
			}
		})
		t.Cleanup(func() {
			list := pactl(t, s, "list", "short", "sources")
			for j := range 4 {
				require.Equal(t, i == j, strings.Contains(list, fmt.Sprintf("acme%d_mic", j)), list)
			}
		})
	}
	all.Wait()
}

func TestUnusableTempDir(t *testing.T) {
	for _, dir := range []string{"/" + strings.Repeat("x", 90), "/my files"} {
		t.Setenv("TMPDIR", dir)
		s := testlab.SoundForTest(t, testlab.PulseAudio)
		require.True(t, strings.HasPrefix(s.Dir(), "/tmp/"))
	}
}

func TestEnvironmentIsPrivate(t *testing.T) {
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "PULSE_SINK", "PIPEWIRE_REMOTE"} {
		t.Setenv(name, "host's")
	}
	t.Setenv("XDG_RUNTIME_DIR", "/host")
	t.Setenv("SOMETHING_ELSE", "stays")
	s := testlab.SoundForTest(t, testlab.PulseAudio)
	env := s.Env()
	require.Contains(t, env, "SOMETHING_ELSE=stays")
	require.Contains(t, env, "XDG_RUNTIME_DIR="+s.Dir())
	require.Contains(t, env, "PULSE_SERVER=unix:"+s.Socket())
	for _, entry := range env {
		require.NotContains(t, entry, "host's")
		require.NotContains(t, entry, "=/host")
	}
}

func TestStartFails(t *testing.T) {
	require.NoError(t, testlab.SoundAvailable(testlab.PulseAudio))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir, err := os.MkdirTemp("", "lab")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	t.Setenv("TMPDIR", dir)
	_, err = testlab.StartSound(ctx, testlab.PulseAudio)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestServerDiesWithItsParent(t *testing.T) {
	for _, kind := range testlab.SoundKinds {
		t.Run(string(kind), func(t *testing.T) {
			require.NoError(t, testlab.SoundAvailable(kind))
			dir, err := os.MkdirTemp("", "lab")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
			cmd := exec.CommandContext(deadline(t), os.Args[0])
			cmd.Env = append(os.Environ(), childKind+"="+string(kind), "TMPDIR="+dir)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			line, err := bufio.NewReader(out).ReadString('\n')
			require.NoError(t, err)
			group, err := strconv.Atoi(strings.TrimSpace(line))
			require.NoError(t, err, line)
			require.NotEmpty(t, running(t, group))

			require.NoError(t, cmd.Process.Kill())
			_ = cmd.Wait()
			testlab.Eventually(t, "its group has ended", func() bool { return len(running(t, group)) == 0 })
		})
	}
}
