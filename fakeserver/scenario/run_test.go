package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestExpectations(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, sent string // lists, separated by spaces
		step         string
		status       Status
		seen         string
	}{
		"mute":                   {"mic:false", "mic:true", "expect: {within: 20s, hardware_mute: true}", Passed, `hardware_mute true of "mic"`},
		"mute fails":             {"mic:false", "mic:false", "expect: {within: 10ms, hardware_mute: true}", Failed, `hardware_mute false of "mic"`},
		"mute of a device":       {"", "mic:true,out", `expect: {within: 20s, device: {model: Headset 700}, hardware_mute: true}`, Passed, `hardware_mute true of "mic"`},
		"mute of an output":      {"", "mic:true,out", `expect: {within: 10ms, device: {id: out, type: audiooutput}, hardware_mute: true}`, Failed, `hardware_mute absent of "out"`},
		"mute of no device":      {"", "mic:true", `expect: {within: 10ms, device: {model: Other}, hardware_mute: true}`, Failed, "no such device among 1"},
		"absent":                 {"", "mic", "expect: {within: 20s, hardware_mute: absent, noise_suppression: absent}", Passed, `hardware_mute absent of "mic", noise_suppression absent of "mic"`},
		"absent fails":           {"", "mic:false", "expect: {within: 10ms, hardware_mute: absent}", Failed, `hardware_mute false of "mic"`},
		"present":                {"", "cam", "expect: {within: 20s, device: {vendor: Acme, type: videoinput}, present: true}", Passed, `1 device type "videoinput" vendor "Acme"`},
		"present fails":          {"", "mic", "expect: {within: 10ms, device: {id: cam}, present: true}", Failed, `0 devices id "cam"`},
		"a device alone":         {"", "mic", "expect: {within: 10ms, device: {id: cam}}", Failed, `0 devices id "cam"`},
		"not present":            {"mic", "empty", "expect: {within: 20s, device: {id: mic}, present: false}", Passed, `0 devices id "mic"`},
		"not present fails":      {"mic", "mic", "expect: {within: 10ms, device: {id: mic}, present: false}", Failed, `1 device id "mic"`},
		"nothing was reported":   {"", "", "expect: {within: 10ms, devices: 0}", Failed, "nothing was reported"},
		"devices":                {"mic,out", "empty", "expect: {within: 20s, devices: 0}", Passed, "0 devices"},
		"devices fail":           {"", "mic", "expect: {within: 10ms, devices: 2}", Failed, "1 device"},
		"devices between":        {"", "mic,out,cam", "expect: {within: 20s, devices: {min: 2, max: 3}}", Passed, "3 devices"},
		"devices by type":        {"", "mic,out,cam", "expect: {within: 20s, device: {type: audioinput}, devices: 1}", Passed, `1 device type "audioinput"`},
		"transport":              {"", "mic", "expect: {within: 20s, transport: http}", Passed, "1 device, by http"},
		"transport fails":        {"", "mic", "expect: {within: 10ms, transport: ipc}", Failed, "1 device, by http"},
		"a refused list":         {"mic:false", "bad", "expect: {within: 10ms, devices: 1, rejected: 1}", Passed, "1 device; rejected 1"},
		"once":                   {"mic:false", "mic:true", "expect: {within: 10ms, hardware_mute: true, once: true}", Passed, `hardware_mute true of "mic"`},
		"once, twice":            {"mic:false", "mic:true mic:false mic:true", "expect: {within: 10ms, hardware_mute: true, once: true}", Failed, "it came 2 times"},
		"once, taken back":       {"mic:false", "mic:true mic:false", "expect: {within: 10ms, hardware_mute: true, once: true}", Failed, "it was taken back"},
		"once, so before":        {"mic:true", "mic:true", "expect: {within: 10ms, hardware_mute: true, once: true}", Failed, "it was so before the step"},
		"once, not at all":       {"mic:false", "mic:false", "expect: {within: 10ms, hardware_mute: true, once: true}", Failed, `hardware_mute false of "mic"`},
		"never":                  {"mic:true", "mic:true", "never: {for: 10ms, hardware_mute: false}", Passed, `hardware_mute true of "mic"`},
		"never fails":            {"mic:true", "mic:false mic:true", "never: {for: 10ms, hardware_mute: false}", Failed, `hardware_mute false of "mic"`},
		"payloads":               {"mic", "mic mic", "expect: {within: 10ms, payloads: 2}", Passed, "payloads 2"},
		"payloads, too many":     {"mic", "mic mic", "expect: {within: 10ms, payloads: {max: 1}}", Failed, "payloads 2"},
		"payloads, too few":      {"mic", "mic mic", "expect: {within: 10ms, payloads: {min: 3}}", Failed, "payloads 2"},
		"none was rejected":      {"bad", "mic", "expect: {within: 10ms, rejected: 0}", Passed, "rejected 0"},
		"some were rejected":     {"mic", "bad mic bad", "expect: {within: 10ms, rejected: 0}", Failed, "rejected 2"},
		"no warnings":            {"odd", "mic", "expect: {within: 10ms, warnings: 0}", Passed, "warnings 0"},
		"warnings":               {"mic", "odd", "expect: {within: 10ms, devices: 1, warnings: 0}", Failed, "warnings 1"},
		"an end, then something": {"mic:false", "mic:true", "expect: {within: 10ms, hardware_mute: true, payloads: {max: 1}}", Passed, `hardware_mute true of "mic"; payloads 1`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := func(lists string) string {
				out := "[EXE, report, A"
				for _, l := range strings.Fields(lists) {
					out += ", '" + l + "'"
				}
				return out + "]"
			}
			r := play(t, Options{}, fmt.Sprintf("clients:\n- {name: A, port: 0}\nsteps:\n- run: %s\n- run: %s\n- %s\n",
				args(tc.before), args(tc.sent), tc.step))
			last := r.Results[len(r.Results)-1]
			require.Equal(t, tc.status, last.Status, last.Seen)
			require.Equal(t, tc.seen, last.Seen)
			require.Equal(t, tc.status == Failed, r.Failed())
			if tc.status == Failed && tc.before != "" {
				require.Contains(t, last.Excerpt, "SET_CERTIFIED_DEVICES")
			}
		})
	}
}

// What comes after an expectation was met, and before the next action, counts too.
func TestOnceIsWatchedUntilTheNextDeed(t *testing.T) {
	const text = `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, report, A, "mic:false"]
- run: [sh, -c, '"$0" report A mic:true; (while ! test -e "$SCENARIO_DIR/go"; do sleep 0.01; done; "$0" report A mic:false; touch "$SCENARIO_DIR/gone") &', EXE]
- expect: {within: 10ms, hardware_mute: true, once: true}
%s
- expect: {within: 20s, hardware_mute: false}
`
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	// The go-ahead is given by the progress line of the expectation, which was met by then.
	giveWay := func(t *testing.T, l *string) *lines {
		return &lines{each: func(s string) {
			if strings.Contains(s, ", once") && strings.Contains(s, " ok ") {
				matches, err := filepath.Glob(filepath.Join(os.TempDir(), "scenario-*"))
				require.NoError(t, err)
				for _, m := range matches {
					_ = os.WriteFile(filepath.Join(m, "go"), nil, 0o600)
				}
			}
			*l += s
		}}
	}
	t.Setenv("TMPDIR", t.TempDir())
	var progress string
	r := play(t, Options{Progress: giveWay(t, &progress)}, fmt.Sprintf(text, ""))
	require.Equal(t, "ok ok ok FAILED ok", statuses(r), progress)
	require.Equal(t, "it was taken back before the next step", r.Results[3].Seen)
	require.Contains(t, progress, "FAILED after all: A within 10ms: hardware_mute true, once: it was taken back")

	r = play(t, Options{Progress: giveWay(t, &progress)}, fmt.Sprintf(text, "- drop: A"))
	require.Equal(t, "ok ok ok ok ok ok", statuses(r), "after the next action it may be taken back")
}

func TestClients(t *testing.T) {
	t.Parallel()
	r := play(t, Options{}, `
name: Lives
clients:
- {name: A, port: 0}
- {name: Late-one, profile: desktop, ports: [0], stopped: true, seed: 7, bucket: 1, refill: 1s, ipc: "off"}
steps:
- start: Late-one
- run: [EXE, report, LATE_ONE, mic]
- expect: {within: 20s, client: Late-one, devices: 1}
- run: [EXE, report, A, "mic:true"]
- expect: {within: 20s, client: A, hardware_mute: true}
- restart: A
- expect: {within: 10ms, client: A, devices: 1}
- run: [EXE, report, A, "mic:true"]
- expect: {within: 20s, client: A, hardware_mute: true}
- stop: A
- expect: {within: 10ms, client: A, hardware_mute: true}
- resume: A
  port: 0
- never: {for: 10ms, client: A, devices: {min: 0}}
- fault: error=1000:No
  client: A
- run: [EXE, report, A, mic]
- expect: {within: 10ms, client: A, rejected: 1}
- fault: none
  client: A
- run: [EXE, report, A, mic]
- expect: {within: 10ms, client: A, rejected: 0, devices: 1}
- drop: A
- stop: A
- start: A
- expect: {within: 10ms, client: A, devices: 1}
`)
	require.Equal(t, "ok ok ok ok ok ok ok FAILED ok ok ok ok ok ok ok ok ok ok ok ok ok ok ok FAILED", statuses(r))
	require.Contains(t, r.Results[0].Seen, "listens on 127.0.0.1:")
	require.Equal(t, "nothing was reported", r.Results[7].Seen, "a restarted client was told nothing")
	require.Equal(t, "nothing was reported", r.Results[23].Seen, "a new client was told nothing")
	require.Equal(t, "Lives: FAILED, 24 steps, 2 failed, in "+r.Took.Round(time.Millisecond).String(), r.String())
}

func TestPrivateIPC(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("named pipes are in no folder")
	}
	r := play(t, Options{}, `
clients: [{name: A, profile: desktop, port: 0, ipc: private}]
steps:
- run: [sh, -c, 'test -S "$SCENARIO_DIR/discord-ipc-0"']
`)
	require.Equal(t, "ok ok", statuses(r))
}

// Expectations in a row see one state after the other, and a wait brings them to the present.
func TestOrder(t *testing.T) {
	t.Parallel()
	r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, report, A, "mic:false", "mic:true", "mic:false"]
- expect: {within: 20s, hardware_mute: true}
- expect: {within: 20s, hardware_mute: false}
- expect: {within: 10ms, hardware_mute: true}
- run: [EXE, report, A, "mic:true", "mic:false"]
- wait: 1ms
- expect: {within: 10ms, hardware_mute: true}
`)
	require.Equal(t, "ok ok ok ok FAILED ok ok FAILED", statuses(r))
	require.Zero(t, *r.Results[2].Measured, "it came while the step was under way")
}

// The time of never begins with the step, not with the action before it.
func TestNeverLooksForItsWholeTime(t *testing.T) {
	t.Parallel()
	r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- drop: A
- wait: 200ms
- never: {for: 100ms, devices: 1}
`)
	require.Equal(t, "ok ok ok ok", statuses(r))
	require.GreaterOrEqual(t, r.Results[3].Took, 100*time.Millisecond)
}

// It is not beside others: what starts the program must not be held up until that has reported.
func TestTooLate(t *testing.T) {
	r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, agent, A]
  background: true
- expect: {within: 1us, hardware_mute: true}
- expect: {within: 20s, hardware_mute: true}
`)
	require.Equal(t, "ok ok FAILED ok", statuses(r), "a program takes longer than that to start")
	require.Positive(t, *r.Results[3].Measured)
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot ask a program to end")
	}
	t.Run("an agent is terminated", func(t *testing.T) {
		t.Parallel()
		r := play(t, Options{Repeat: 2}, `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, agent, A]
  background: true
  as: agent
- expect: {within: 20s, hardware_mute: true}
- terminate: agent
- expect: {within: 10ms, devices: 0, once: true}
`)
		require.Equal(t, strings.Repeat("ok ", 8)+"ok", statuses(r))
		require.Equal(t, "exit status 0", r.Results[3].Seen)
		require.Equal(t, []int{0, 1, 1, 1, 1, 2, 2, 2, 2}, rounds(r))
		require.Empty(t, r.Notes)
	})
	t.Run("one that stays is killed", func(t *testing.T) {
		t.Parallel()
		r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, stubborn]
  background: true
  as: mule
- run: [sh, -c, 'while ! test -e "$SCENARIO_DIR/ready"; do sleep 0.01; done']
- terminate: mule
  deadline: 10ms
- wait: 1ms
`)
		require.Equal(t, "ok ok ok FAILED skipped", statuses(r))
		require.Equal(t, "it did not end within 10ms and was killed", r.Results[3].Seen)
		require.Equal(t, "I stay\n", r.Results[3].Excerpt)
	})
	t.Run("one that has ended cannot be terminated", func(t *testing.T) {
		t.Parallel()
		r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- run: [sh, -c, 'echo it is broken; exec >/dev/null; touch "$SCENARIO_DIR/broke"; exit 3']
  background: true
  as: agent
- run: [sh, -c, 'while ! test -e "$SCENARIO_DIR/broke"; do sleep 0.01; done']
- wait: 500ms
- terminate: agent
`)
		require.Equal(t, "ok ok ok ok FAILED", statuses(r))
		require.Equal(t, "it had ended by itself: exit status 3", r.Results[4].Seen)
		require.Equal(t, []string{"agent ended by itself: exit status 3\nit is broken"}, r.Notes)
	})
	for name, tc := range map[string]struct{ step, seen, excerpt string }{
		"fails":          {"run: [EXE, fail]", "exit status 3", "it is broken\n"},
		"is not there":   {"run: [./no-such-program]", "cannot start ./no-such-program", ""},
		"takes for ever": {"run: [sh, -c, 'echo waiting; sleep 1000']\n  deadline: 500ms", "it did not end within 500ms", ""},
	} {
		t.Run("one that "+name, func(t *testing.T) {
			t.Parallel()
			var progress strings.Builder
			r := play(t, Options{Progress: &progress}, "clients: [{name: A, port: 0}]\nsteps:\n- "+tc.step+"\n- wait: 1ms\n- expect: {within: 1ms, devices: 0}\n")
			require.Equal(t, "ok FAILED skipped skipped", statuses(r))
			require.Contains(t, r.Results[1].Seen, tc.seen)
			require.Contains(t, r.Results[1].Excerpt, tc.excerpt)
			if tc.excerpt != "" {
				require.Contains(t, progress.String(), "        | "+tc.excerpt, "who looks on need not open a report")
			}
			require.True(t, r.Failed())
		})
	}
}

func rounds(r *Report) []int {
	var out []int
	for _, result := range r.Results {
		out = append(out, result.Round)
	}
	return out
}

// Relative paths start at the folder of the file.
func TestFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	sc := mustLoad(t, "clients: [{name: A, port: 0}]\nsteps:\n- run: [./here]\n")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(sc.file), "here"), []byte("#!/bin/sh\ntest -d \"$SCENARIO_DIR\"\n"), 0o700))
	r, err := sc.Run(t.Context(), Options{})
	require.NoError(t, err)
	require.Equal(t, "ok ok", statuses(r), "%+v", r.Results)
}

func TestPrompt(t *testing.T) {
	const text = "clients: [{name: A, port: 0}]\nsteps:\n- prompt: Press\n- prompt: |\n    Sure?\n    Really?\n  confirm: true\n"
	var progress lines
	asked := 0
	confirm := func(context.Context) error {
		asked++
		require.Contains(t, progress.all.String(), ">>> Sure?")
		return nil
	}
	r := play(t, Options{Progress: &progress, Confirm: confirm}, text)
	require.Equal(t, "ok ok ok", statuses(r))
	require.Equal(t, 1, asked)
	require.Contains(t, progress.all.String(), "\n>>> Press\n")
	require.Equal(t, "confirmed", r.Results[2].Seen)

	r = play(t, Options{}, text)
	require.Equal(t, "shown", r.Results[2].Seen, "unattended")

	r = play(t, Options{Confirm: func(context.Context) error { return errors.New("nobody is there") }}, text)
	require.Equal(t, "ok ok FAILED", statuses(r))
	require.Equal(t, "nobody is there", r.Results[2].Seen)
}

func TestInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := &lines{each: func(s string) {
		if strings.Contains(s, "prompt: Now") {
			cancel()
		}
	}}
	mark := filepath.Join(t.TempDir(), "mark")
	t.Setenv("MARK", mark)
	sc := mustLoad(t, `
clients: [{name: A, port: 0}]
steps:
- run: [sh, -c, 'trap "touch $MARK; exit 0" TERM; touch "$SCENARIO_DIR/up"; while :; do sleep 0.01; done']
  background: true
- run: [sh, -c, 'while ! test -e "$SCENARIO_DIR/up"; do sleep 0.01; done']
- prompt: Now
- wait: 1h
- wait: 1h
`)
	r, err := sc.Run(ctx, Options{Progress: progress, Repeat: 3})
	require.EqualError(t, err, "the run was interrupted")
	require.True(t, r.Failed())
	require.Equal(t, "ok ok ok ok skipped skipped", statuses(r))
	require.FileExists(t, mark, "programs are ended in order")
	require.Contains(t, r.String(), "FAILED, 6 steps, 2 skipped")
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]string{
		"wait":    "wait: 1h",
		"expect":  "expect: {within: 1h, devices: 1}",
		"never":   "never: {for: 1h, devices: 1}",
		"program": "run: [EXE, agent, A]\n  deadline: 1h",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := mustLoad(t, "clients: [{name: A, port: 0}]\nsteps:\n- "+step+"\n- wait: 1h\n")
			r, err := sc.Run(t.Context(), Options{Timeout: 2 * time.Second})
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "the time for the whole run, 2s, is over")
			require.Equal(t, "ok FAILED skipped", statuses(r))
			require.Contains(t, r.Results[1].Seen, "the time for the whole run")
		})
	}
}

func TestTakenPort(t *testing.T) {
	t.Parallel()
	r := play(t, Options{}, `
clients: [{name: A, port: 0}]
setup:
- run: [EXE, report, A, mic]
steps:
- expect: {within: 10ms, devices: 1}
`)
	require.Equal(t, "ok ok ok", statuses(r))
	port := strings.TrimPrefix(r.Results[0].Seen, "listens on 127.0.0.1:")
	other := fmt.Sprintf("clients: [{name: A, port: %s}, {name: B, port: %s}]\nsteps: [{wait: 1ms}]\n", port, port)
	r = play(t, Options{}, other)
	require.Equal(t, "ok FAILED skipped", statuses(r))
	require.Contains(t, r.Results[1].Seen, port)
}

func TestNoFolderForTheRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("TMPDIR means nothing there")
	}
	sc := mustLoad(t, "clients: [{name: A, port: 0}]\nsteps: [{wait: 1ms}]\n")
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	r, err := sc.Run(t.Context(), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.True(t, r.Failed())
}

// A frozen client takes nothing until it is thawed.
func TestFreezeStep(t *testing.T) {
	t.Parallel()
	r := play(t, Options{}, `
clients: [{name: A, port: 0}]
steps:
- run: [EXE, report, A, 'mic:false']
- freeze: A
- {run: [EXE, report, A, 'mic:true'], background: true}
- never: {for: 100ms, hardware_mute: true}
- thaw: A
- expect: {within: 20s, hardware_mute: true}
`)
	require.False(t, r.Failed(), "%+v", r.Results)
}
