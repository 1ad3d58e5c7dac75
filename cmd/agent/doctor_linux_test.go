package main

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/health"
	"sidetone/internal/testlab"
)

// doctor asks until the answer has a finding of that severity and text: an agent that has just
// started still looks around. It returns the answer, whose exit code must fit.
func (d *controlled) doctor(how health.Severity, message string) doctorAnswer {
	d.t.Helper()
	var a doctorAnswer
	var out, errs string
	found := func() bool {
		var code int
		out, errs, code = d.ask("doctor", "--json")
		a = doctorAnswer{}
		if json.Unmarshal([]byte(out), &a) != nil || a.OK != (code == exitOK) || !a.OK != (code == exitFailed) {
			return false
		}
		return slices.ContainsFunc(a.Findings, func(f finding) bool { return f.Severity == how && strings.Contains(f.Message, message) })
	}
	for limit := time.Now().Add(patience); !found(); {
		require.True(d.t, time.Now().Before(limit), "never said: %s %s\n%s\n%s", how, message, out, errs)
	}
	return a
}

// problems are those of an answer.
func (a doctorAnswer) problems() []finding {
	return slices.DeleteFunc(slices.Clone(a.Findings), func(f finding) bool { return f.Severity != health.Problem })
}

// newUnraced prepares an agent without the race detector: other tests ask agents that have it.
func newUnraced(t *testing.T) *controlled {
	t.Helper()
	d := newControlled(t, testlab.SoundForTest(t, testlab.PulseAudio))
	d.raceDetector = false
	return d
}

// TestDoctor asks it about real agents, in the states in which users ask.
func TestDoctor(t *testing.T) {
	t.Parallel()
	t.Run("all well", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		d.start()
		hs := d.plugForTest(headset700)
		d.mute(hs, true)
		d.hasList(pair("Acme Headset 700", true)...)
		a := d.doctor(health.OK, "has accepted the latest list, of 2 devices")
		require.True(t, a.OK, text(a))
		all := text(a)
		require.Contains(t, all, `\"Acme Headset 700\" is muted, by the button or in the sound settings (os_endpoint_mute`)
		require.Contains(t, all, "set the input device to")
		out, errs, code := d.ask("doctor")
		require.Equal(t, exitOK, code, errs)
		require.Empty(t, errs)
		require.Contains(t, out, "\nnothing is wrong")
	})
	t.Run("no client", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		require.NoError(t, d.client.Close())
		d.start()
		d.plugForTest(headset700)
		d.doctor(health.OK, "Acme Headset 700 is plugged in")
		a := d.doctor(health.Problem, "No client found on any IPC socket")
		require.Len(t, a.problems(), 1, text(a))
		require.Contains(t, a.problems()[0].Remedy, "Start the client")
	})
	t.Run("a client that does not know the command", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		require.NoError(t, d.client.Close())
		d.env = append(d.env, "SIDETONE_RPC_ANSWER_TIMEOUT=300ms")
		d.fake("arrpc")
		d.start()
		d.plugForTest(headset700)
		d.doctor(health.OK, "Acme Headset 700 is plugged in")
		a := d.doctor(health.Problem, "does not know certified devices")
		require.Len(t, a.problems(), 1, text(a))
		require.Contains(t, a.problems()[0].Remedy, "official client")
	})
	t.Run("no device", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		d.start()
		d.hasNone()
		a := d.doctor(health.OK, "has accepted the latest list, of 0 devices")
		require.Len(t, a.problems(), 1, text(a))
		require.Contains(t, a.problems()[0].Message, "No product of the catalogue is plugged in")
	})
	t.Run("a model that the catalogue does not know", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		d.start()
		d.hasNone()
		unknown := headset700
		unknown.Name, unknown.Description, unknown.PID = "novel", "Acme Headset 900", "0900"
		d.plugForTest(unknown)
		a := d.doctor(health.Problem, "(USB id 1209:0900) is a device of this vendor")
		require.Len(t, a.problems(), 1, text(a))
		require.Contains(t, a.problems()[0].Remedy, d.catalogue)
	})
	t.Run("no agent", func(t *testing.T) {
		t.Parallel()
		d := newUnraced(t)
		d.start()
		hs := d.plugForTest(headset700)
		d.mute(hs, true)
		d.hasList(pair("Acme Headset 700", true)...)
		d.signal(syscall.SIGTERM)
		d.exit()
		env := privateEnv(t, d.sound.Env(), d.setting(), "SIDETONE_CATALOGUE="+d.catalogue)
		o := runToEnd(t, child(t, env, "doctor", "--json"))
		require.Equal(t, exitFailed, o.code, o.stderr)
		require.Empty(t, o.stderr)
		var a doctorAnswer
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &a))
		require.Len(t, a.problems(), 1, o.stdout)
		require.Contains(t, a.problems()[0].Message, "No agent runs")
		require.Contains(t, o.stdout, "read by this command itself")
		require.Contains(t, o.stdout, `\"Acme Headset 700\" is muted, by the button or in the sound settings (os_endpoint_mute`)
	})
}

// TestDoctorWhereNoTrayIsShown: a desktop such as GNOME without its extension is told of the remedy.
func TestDoctorWhereNoTrayIsShown(t *testing.T) {
	t.Parallel()
	bus := testlab.StartBus(t)
	out, _ := racedChild(t, privateEnv(t, nil, "DISPLAY=:0", "DBUS_SESSION_BUS_ADDRESS="+bus.Address()), "doctor").Output()
	require.Contains(t, string(out), "On GNOME install the extension 'AppIndicator and KStatusNotifierItem Support'")
}
