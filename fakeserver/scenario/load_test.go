package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/strictyaml"
)

// head is five lines that come before the steps of a test.
const head = "clients:\n- name: Stable\n- name: PTB\n  stopped: true\nsteps:\n"

func TestLoadRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want string // one problem a line
	}{
		"empty":          {"", "f:1:1: the file is empty"},
		"only a comment": {"# nothing\n", "f:1:1: the file is empty"},
		"a list":         {"- a\n", "f:1:1: want keys with values, found a list"},
		"text":           {"name\n", `f:1:1: want keys with values, found text "name"`},
		"nothing needed": {"name: x\n", "f:1:1: \"clients\" is missing\nf:1:1: \"steps\" is missing"},
		"unknown key": {
			"clients:\n- name: A\nstep:\n- wait: 1s\n",
			"f:1:1: \"steps\" is missing\n" +
				"f:3:1: unknown key \"step\" (did you mean \"steps\"?)",
		},
		"duplicate key": {"clients:\n- name: A\n  name: B\nsteps:\n- wait: 1s\n", `f:3:3: duplicate key "name" (first on line 2)`},
		"no value":      {"name:\nclients:\n- name: A\nsteps:\n- wait:\n", "f:1:1: \"name\" has no value\nf:5:3: \"wait\" has no value"},
		"empty lists": {
			"clients: []\nsteps: []\n",
			"f:1:10: the list is empty, want a list of clients\n" +
				"f:2:8: the list is empty, want a list of steps",
		},
		"no lists": {
			"clients: A\nsteps: {wait: 1s}\n",
			"f:1:10: want a list of clients, found text \"A\"\n" +
				"f:2:8: want a list of steps, found keys with values",
		},
		"not YAML":        {"clients: [\n", `f:1:10: the closing ']' is missing: "["`},
		"tab":             {"clients:\n\t- name: A\n", "f:2:1: tab used for indentation, use spaces"},
		"anchor":          {"name: &a x\n", `f:1:7: anchors are not supported: "&" (put text that starts with & in quotes)`},
		"two documents":   {"name: a\n---\nname: b\n", `f:2:1: a second document begins here: "---" (one document per file)`},
		"control":         {"name: a\x1bb\n", "f:1:8: control character U+001B (remove it)"},
		"not UTF-8":       {"name: \xff\n", "f:1:7: not UTF-8 text (save the file as UTF-8)"},
		"text goes on":    {"name: a\n  b\n", `f:1:7: unquoted text goes on in the next line: "a b" (check the indentation, or put the text in quotes)`},
		"deep":            {"name: " + strings.Repeat("[", 40) + strings.Repeat("]", 40), `f:1:26: more than 20 levels deep: "["`},
		"large":           {strings.Repeat("#", strictyaml.MaxSize+1), "f:1:1: the file is larger than the limit of 1048576 bytes"},
		"many blanks":     {strings.Repeat("\n", 200), "f:101:1: more than 100 blank lines in a row (remove them)"},
		"escapes in keys": {"\"a\\nb\": 1\nclients: [{name: A}]\nsteps: [{wait: 1s}]\n", `f:1:1: unknown key "a\nb" (want one of: name, setup)`},

		"client": {
			"clients:\n- {profil: desktop, port: 70000, seed: -1, bucket: none, refill: 5, stopped: no}\nsteps: [{wait: 1s}]\n",
			"f:2:3: \"name\" is missing\n" +
				"f:2:4: unknown key \"profil\" (did you mean \"profile\"?)\n" +
				"f:2:27: want a number from 0 to 65535, found 70000\n" +
				"f:2:40: want a number from 0 to 2147483647, found -1\n" +
				"f:2:52: want a whole number, found text \"none\"\n" +
				"f:2:66: want a time such as 100ms, 2s or 1m, found a number \"5\" (add a unit: 5ms)\n" +
				"f:2:78: want true or false, found text \"no\"",
		},
		"client profile": {"clients: [{name: A, profile: dekstop}]\nsteps: [{wait: 1s}]\n", `f:1:30: unknown value "dekstop" (did you mean "desktop"?)`},
		"client names": {
			"clients: [{name: a-b}, {name: A_B}, {name: a b}, {name: 1}]\nsteps: [{wait: 1s}]\n",
			"f:1:31: the name \"A_B\" is taken (line 1)\n" +
				"f:1:44: the name \"a b\" has more than letters, digits, - and _\n" +
				"f:1:57: want text, found a number (put it in quotes: \"1\")",
		},
		"client ports": {"clients: [{name: A, port: 1, ports: [x]}]\nsteps: [{wait: 1s}]\n", "f:1:30: \"ports\" does not go with \"port\""},

		"step nothing":   {head + "- title: x\n", "f:6:3: the step does nothing, want one of: start, stop, restart, resume, drop, freeze, thaw, fault, prompt, run, terminate, wait, expect, never"},
		"step misspelt":  {head + "- strat: PTB\n", `f:6:3: unknown key "strat" (did you mean "start"?)`},
		"step twice":     {head + "- wait: 1s\n  stop: Stable\n", `f:7:3: a step does one thing, and this one does "wait" already`},
		"step option":    {head + "- wait: 1s\n  confirm: true\n", `f:7:3: "confirm" does not go with "wait"`},
		"step no keys":   {head + "- wait\n", `f:6:3: want keys with values, found text "wait"`},
		"unknown client": {head + "- stop: Stabel\n", `f:6:9: there is no client "Stabel" (did you mean "Stable"?)`},
		"client needed": {
			head + "- fault: none\n- expect: {within: 1s, devices: 1}\n",
			"f:6:3: \"client\" is missing\n" +
				"f:7:11: \"client\" is missing",
		},
		"runs already": {head + "- start: Stable\n", "f:6:10: Stable runs already at this step"},
		"does not run": {head + "- stop: Stable\n- restart: Stable\n", "f:7:12: Stable does not run at this step"},
		"never ran":    {head + "- resume: PTB\n- stop: PTB\n", "f:6:11: PTB has never run at this step; use start"},
		"freeze does not run": {
			head + "- freeze: PTB\n- thaw: PTB\n",
			"f:6:11: PTB does not run at this step\n" +
				"f:7:9: PTB does not run at this step",
		},
		"fault never ran": {
			head + "- {fault: hang, client: PTB}\n- expect: {within: 1s, client: PTB, devices: 1}\n",
			"f:6:11: PTB has never run at this step\n" +
				"f:7:11: PTB has never run at this step",
		},
		"fault":             {head + "- {fault: hong, client: Stable}\n", `f:6:11: unknown fault "hong", did you mean "hang"?`},
		"port":              {head + "- restart: Stable\n  port: http\n", `f:7:9: want a whole number, found text "http"`},
		"wait without unit": {head + "- wait: 200\n", `f:6:9: want a time such as 100ms, 2s or 1m, found a number "200" (add a unit: 200ms)`},
		"wait backwards":    {head + "- wait: -2s\n", "f:6:9: want a time such as 100ms, 2s or 1m, above zero"},
		"run as text":       {head + "- run: ls -l\n", `f:6:8: want a list of a program and its arguments, found text "ls -l"`},
		"run number":        {head + "- run: [sleep, 1]\n", `f:6:16: want text, found a number (put it in quotes: "1")`},
		"run deadline":      {head + "- {run: [a], background: true, deadline: 1s}\n", `f:6:32: "deadline" does not go with "background": it runs until the end`},
		"run as":            {head + "- {run: [a], as: x}\n", `f:6:14: "as" goes with "background: true" only`},
		"run as twice":      {head + "- {run: [a], background: true, as: x}\n- {run: [b], background: true, as: x}\n", `f:7:36: the name "x" is taken (line 6)`},
		"terminate": {
			head + "- terminate: a\n- {run: [a], background: true, as: agent}\n- terminate: agnet\n",
			"f:6:14: no step before this one runs a program as \"a\" (there is none)\n" +
				"f:8:14: no step before this one runs a program as \"agnet\" (did you mean \"agent\"?)",
		},
		"prompt":         {head + "- prompt: \"\"\n  confirm: yes\n", "f:6:11: empty text\nf:7:12: want true or false, found text \"yes\""},
		"expect no time": {head + "- expect: {client: Stable, devices: 1}\n", `f:6:11: "within" is missing`},
		"expect nothing": {head + "- expect: {within: 1s, client: Stable}\n", "f:6:11: nothing is expected"},
		"expect key": {
			head + "- expect: {within: 1s, client: Stable, hardware_muted: true}\n",
			"f:6:11: nothing is expected\n" +
				"f:6:40: unknown key \"hardware_muted\" (did you mean \"hardware_mute\"?)",
		},
		"expect flag": {
			head + "- expect: {within: 1s, client: Stable, hardware_mute: absend, noise_suppression: 1}\n",
			"f:6:55: unknown value \"absend\" (did you mean \"absent\"?)\n" +
				"f:6:82: want one of true, false, absent, found a number \"1\"",
		},
		"expect transport": {head + "- expect: {within: 1s, client: Stable, transport: htp}\n", `f:6:51: unknown value "htp" (did you mean "http"?)`},
		"expect once":      {head + "- expect: {within: 1s, client: Stable, once: true, payloads: 1}\n", `f:6:40: "once" needs a state that is brought once`},
		"expect present":   {head + "- expect: {within: 1s, client: Stable, present: true, devices: 1}\n", "f:6:49: \"present\" needs a \"device\""},
		"expect both":      {head + "- expect: {within: 1s, client: Stable, device: {id: a}, present: true, devices: 1}\n", "f:6:66: \"present\" does not go with \"devices\""},
		"expect gone flag": {head + "- expect: {within: 1s, client: Stable, device: {id: a}, present: false, hardware_mute: true}\n", "f:6:66: a device that is not present has no flags"},
		"expect device":    {head + "- expect: {within: 1s, client: Stable, device: {}}\n", "f:6:48: no device is named, want id, model, vendor or type"},
		"expect device type": {
			head + "- expect: {within: 1s, client: Stable, device: {type: mic, modell: x}}\n",
			"f:6:55: unknown value \"mic\" (want one of: audioinput, audiooutput, videoinput)\n" +
				"f:6:60: unknown key \"modell\" (did you mean \"model\"?)",
		},
		"expect counts": {
			head + "- expect: {within: 1s, client: Stable, payloads: {max: 1, min: 2}, rejected: {}, warnings: 1.5}\n",
			"f:6:50: the least number, 2, is above the greatest, 1\n" +
				"f:6:78: no bound is given, want min or max\n" +
				"f:6:92: want a whole number, found a number \"1.5\"",
		},
		"never": {
			head + "- never: {client: Stable, within: 1s}\n",
			"f:6:10: \"for\" is missing\n" +
				"f:6:10: nothing is said that must not be\n" +
				"f:6:27: unknown key \"within\" (want one of: for, device, present, devices, transport, hardware_mute, echo_cancellation, noise_suppression, automatic_gain_control)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc, problems := Load("f", []byte(tc.in))
			require.Nil(t, sc)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			require.Equal(t, tc.want, strings.Join(got, "\n"))
		})
	}
}

func TestLoadExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/scenarios/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		sc, problems := Load(file, data)
		require.Empty(t, problems)
		require.NotEmpty(t, sc.Name())
	}
}

func TestLoadKeepsWhatIsWritten(t *testing.T) {
	sc, problems := Load("lab/full.yaml", []byte(`
clients:
- {name: Stable, profile: flaky, ports: [0, 6463], ipc: sockets, seed: 7, bucket: off, refill: 5s}
steps:
- title: The script
  run:
    - sh
    - -c
    - |
      echo "a: b" # no comment
      exit 0
- fault: 2*http/answer-late=1s
- expect: {within: 1m, device: {id: "1", model: m, vendor: v, type: audioinput}, hardware_mute: absent, payloads: {max: 3}}
`))
	require.Empty(t, problems)
	require.Equal(t, "full", sc.Name())
	o := sc.clients[0].options
	require.Equal(t, []int{0, 6463}, o.Ports)
	require.Equal(t, filepath.Join("lab", "sockets"), o.IPCDir)
	require.Equal(t, -1, o.Bucket)
	require.EqualValues(t, 7, o.Seed)
	require.Equal(t, "The script", sc.steps[0].title)
	require.Equal(t, []string{"sh", "-c", "echo \"a: b\" # no comment\nexit 0\n"}, sc.steps[0].do.(runAction).args)
	require.Equal(t, "fault 2*http/answer-late=1s on Stable", sc.steps[1].title)
	require.Equal(t, "Stable within 1m0s", sc.steps[2].title)
	require.Equal(t, `hardware_mute absent of type "audioinput" vendor "v" model "m" id "1"; payloads at most 3`, sc.steps[2].do.(expectAction).expected())
}

func TestLoadKnowsEveryProfile(t *testing.T) {
	for line := range strings.Lines(fakeserver.ProfileHelp()) {
		name := strings.Fields(line)[0]
		_, problems := Load("f", []byte("clients: [{name: A, profile: "+name+"}]\nsteps: [{wait: 1s}]\n"))
		require.Empty(t, problems)
	}
}

// FuzzLoad: no input panics, a scenario comes with no problem and a problem with none, and
// every problem is inside the file and on one line.
func FuzzLoad(f *testing.F) {
	files, _ := filepath.Glob("../../examples/scenarios/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(data)
	}
	for _, s := range []string{
		head + "- prompt: |\n    a\n   b\n", "clients: [{name: A}]\nsteps: [{expect: {within: 1s, devices: {min: 1}}}]\n", "a: &x\nb: *x\n",
		"? a\n: b\n", "- - - -\n", "\"\n", "a: >\n\n\n", "---\n---\n", "a: !!int 1\n", "{", "a: 'b\n\nc'\n", "\tx", "a: 1\r\rb: 2",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sc, problems := Load("f", data)
		require.Equal(t, sc == nil, len(problems) > 0)
		text := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(string(data), "\uFEFF"))
		lines := strings.Split(text, "\n")
		for _, p := range problems {
			require.NotContains(t, p.String(), "\n")
			if len(data) > strictyaml.MaxSize {
				continue
			}
			require.True(t, p.Line >= 1 && p.Line <= len(lines), "%v", p)
			require.True(t, p.Column >= 1 && p.Column <= utf8.RuneCountInString(lines[p.Line-1])+1, "%v", p)
		}
	})
}
