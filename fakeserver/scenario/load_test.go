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
		"text":           {"name\n", `f:1:1: want keys with values, found text: "name"`},
		"nothing needed": {"name: x\n", "f:1:1: missing key: \"clients\"\n" +
			`f:1:1: missing key: "steps"`},
		"unknown key": {
			"clients:\n- name: A\nstep:\n- wait: 1s\n",
			"f:1:1: missing key: \"steps\"\n" +
				`f:3:1: unknown key: "step" (did you mean "steps"?)`,
		},
		"duplicate key": {"clients:\n- name: A\n  name: B\nsteps:\n- wait: 1s\n", `f:3:3: duplicate key: "name" (first on line 2)`},
		"no value": {"name:\nclients:\n- name: A\nsteps:\n- wait:\n", "f:1:1: the value is missing (write one, or leave the key out)\n" +
			"f:5:3: the value is missing (write one, or leave the key out)"},
		"empty lists": {
			"clients: []\nsteps: []\n",
			"f:1:10: the value is missing (write one, or leave the key out)\n" +
				"f:2:8: the value is missing (write one, or leave the key out)",
		},
		"no lists": {
			"clients: A\nsteps: {wait: 1s}\n",
			"f:1:10: want a list, found text: \"A\"\n" +
				"f:2:8: want a list, found keys with values",
		},
		"not YAML":        {"clients: [\n", `f:1:10: the closing bracket is missing: "["`},
		"tab":             {"clients:\n\t- name: A\n", "f:2:1: tab used for indentation, use spaces"},
		"anchor":          {"name: &a x\n", `f:1:7: anchors are not supported: "&" (put text that starts with & in quotes)`},
		"two documents":   {"name: a\n---\nname: b\n", `f:2:1: a second document begins here: "---" (one document per file)`},
		"control":         {"name: a\x1bb\n", "f:1:8: control character U+001B (remove it)"},
		"not UTF-8":       {"name: \xff\n", "f:1:7: not UTF-8 text (save the file as UTF-8)"},
		"text goes on":    {"name: a\n  b\n", `f:1:7: unquoted text continues on the next line: "a b" (check the indentation, or put the text in quotes)`},
		"large":           {strings.Repeat("#", strictyaml.MaxSize+1), "f:1:1: the file is larger than the limit of 1048576 bytes"},
		"only blanks":     {strings.Repeat("\n", 200), "f:1:1: the file is empty"},
		"escapes in keys": {"\"a\\nb\": 1\nclients: [{name: A}]\nsteps: [{wait: 1s}]\n", `f:1:1: unknown key: "a\nb" (want one of: name, setup)`},

		"client": {
			"clients:\n- {profil: desktop, port: 70000, seed: -1, bucket: none, refill: 5, stopped: no}\nsteps: [{wait: 1s}]\n",
			"f:2:3: missing key: \"name\"\n" +
				"f:2:4: unknown key: \"profil\" (did you mean \"profile\"?)\n" +
				"f:2:27: want a number from 0 to 65535: \"70000\"\n" +
				"f:2:40: want a number from 0 to 2147483647: \"-1\"\n" +
				"f:2:52: want a whole number from 1 to 1000, or off: \"none\"\n" +
				"f:2:66: want a duration such as 250ms, 5s or 2m, found a number: \"5\" (add a unit: 5s)\n" +
				`f:2:78: want true or false, found text: "no"`,
		},
		"client profile": {"clients: [{name: A, profile: dekstop}]\nsteps: [{wait: 1s}]\n", `f:1:30: unknown value: "dekstop" (did you mean "desktop"?)`},
		"client names": {
			"clients: [{name: a-b}, {name: A_B}, {name: a b}, {name: 1}]\nsteps: [{wait: 1s}]\n",
			"f:1:31: the name is taken: \"A_B\" (first on line 1)\n" +
				"f:1:44: the name has more than letters, digits, - and _: \"a b\"\n" +
				`f:1:57: want text, found a number: "1" (put it in quotes: "1")`,
		},
		"client ports": {"clients: [{name: A, port: 1, ports: [2]}]\nsteps: [{wait: 1s}]\n", `f:1:37: "ports" does not go with "port" (remove one of them)`},

		"step nothing":   {head + "- title: x\n", "f:6:3: the step does nothing (want one of: start, stop, restart, resume, drop, freeze, thaw, fault, prompt, run, terminate, wait, expect, never)"},
		"step misspelt":  {head + "- strat: PTB\n", `f:6:3: unknown key: "strat" (did you mean "start"?)`},
		"step twice":     {head + "- wait: 1s\n  stop: Stable\n", `f:6:9: a step does one thing, and this one does "stop" already: "1s" (make it a step of its own)`},
		"step option":    {head + "- wait: 1s\n  confirm: true\n", `f:7:12: "confirm" does not go with "wait": "true"`},
		"step no keys":   {head + "- wait\n", `f:6:3: want keys with values, found text: "wait"`},
		"unknown client": {head + "- stop: Stabel\n", `f:6:9: there is no such client: "Stabel" (did you mean "Stable"?)`},
		"client needed": {
			head + "- fault: none\n- expect: {within: 1s, devices: 1}\n",
			"f:6:3: \"client\" is missing (want one of: Stable, PTB)\n" +
				`f:7:11: "client" is missing (want one of: Stable, PTB)`,
		},
		"runs already": {head + "- start: Stable\n", `f:6:10: this client runs already at this step: "Stable"`},
		"does not run": {head + "- stop: Stable\n- restart: Stable\n", `f:7:12: this client does not run at this step: "Stable" (start it first)`},
		"never ran":    {head + "- resume: PTB\n- stop: PTB\n", `f:6:11: this client has never run at this step: "PTB" (use start)`},
		"freeze does not run": {
			head + "- freeze: PTB\n- thaw: PTB\n",
			"f:6:11: this client does not run at this step: \"PTB\" (start it first)\n" +
				`f:7:9: this client does not run at this step: "PTB" (start it first)`,
		},
		"fault never ran": {
			head + "- {fault: hang, client: PTB}\n- expect: {within: 1s, client: PTB, devices: 1}\n",
			"f:6:25: this client has never run at this step: \"PTB\" (start it first)\n" +
				`f:7:32: this client has never run at this step: "PTB" (start it first)`,
		},
		"fault":             {head + "- {fault: hong, client: Stable}\n", `f:6:11: unknown fault "hong", did you mean "hang"?`},
		"port":              {head + "- restart: Stable\n  port: http\n", `f:7:9: want a whole number, found text: "http"`},
		"wait without unit": {head + "- wait: 200\n", `f:6:9: want a duration such as 250ms, 5s or 2m, found a number: "200" (add a unit: 200s)`},
		"wait backwards":    {head + "- wait: -2s\n", `f:6:9: want a time above zero: "-2s" (such as 100ms, 2s or 1m)`},
		"run as text":       {head + "- run: ls -l\n", `f:6:8: want a list, found text: "ls -l"`},
		"run number":        {head + "- run: [sleep, 1]\n", `f:6:16: want text, found a number: "1" (put it in quotes: "1")`},
		"run deadline":      {head + "- {run: [a], background: true, deadline: 1s}\n", `f:6:42: "deadline" does not go with "background": "1s" (it runs until the end)`},
		"run as":            {head + "- {run: [a], as: x}\n", `f:6:18: "as" goes with "background: true" only: "x"`},
		"run as twice":      {head + "- {run: [a], background: true, as: x}\n- {run: [b], background: true, as: x}\n", `f:7:36: the name is taken: "x" (first on line 6)`},
		"terminate": {
			head + "- terminate: a\n- {run: [a], background: true, as: agent}\n- terminate: agnet\n",
			"f:6:14: no step before this one runs a program under this name: \"a\" (give it one with \"background: true\" and \"as\")\n" +
				`f:8:14: no step before this one runs a program under this name: "agnet" (did you mean "agent"?)`,
		},
		"prompt": {head + "- prompt: \"\"\n  confirm: yes\n", "f:6:11: the value is missing (write one, or leave the key out)\n" +
			`f:7:12: want true or false, found text: "yes"`},
		"expect no time": {head + "- expect: {client: Stable, devices: 1}\n", `f:6:11: missing key: "within"`},
		"expect nothing": {head + "- expect: {within: 1s, client: Stable}\n", "f:6:11: nothing is expected (say of which device or list, or how many payloads)"},
		"expect key": {
			head + "- expect: {within: 1s, client: Stable, hardware_muted: true}\n",
			`f:6:40: unknown key: "hardware_muted" (did you mean "hardware_mute"?)`,
		},
		"expect flag": {
			head + "- expect: {within: 1s, client: Stable, hardware_mute: absend, noise_suppression: 1}\n",
			"f:6:55: want true, false or absent: \"absend\"\n" +
				`f:6:82: want true, false or absent: "1"`,
		},
		"expect transport": {head + "- expect: {within: 1s, client: Stable, transport: htp}\n", `f:6:51: unknown value: "htp" (did you mean "http"?)`},
		"expect once":      {head + "- expect: {within: 1s, client: Stable, once: true, payloads: 1}\n", `f:6:46: "once" needs a state that is brought once: "true"`},
		"expect present":   {head + "- expect: {within: 1s, client: Stable, present: true, devices: 1}\n", `f:6:49: "present" needs a "device": "true"`},
		"expect both":      {head + "- expect: {within: 1s, client: Stable, device: {id: a}, present: true, devices: 1}\n", `f:6:66: "present" does not go with "devices": "true" (remove one of them)`},
		"expect gone flag": {head + "- expect: {within: 1s, client: Stable, device: {id: a}, present: false, hardware_mute: true}\n", `f:6:66: a device that is not present has no flags: "false"`},
		"expect device":    {head + "- expect: {within: 1s, client: Stable, device: {}}\n", "f:6:48: the value is missing (write one, or leave the key out)"},
		"expect device type": {
			head + "- expect: {within: 1s, client: Stable, device: {type: mic, modell: x}}\n",
			"f:6:55: unknown value: \"mic\" (want one of: audioinput, audiooutput, videoinput)\n" +
				`f:6:60: unknown key: "modell" (did you mean "model"?)`,
		},
		"expect counts": {
			head + "- expect: {within: 1s, client: Stable, payloads: {max: 1, min: 2}, rejected: {}, warnings: 1.5}\n",
			"f:6:50: the greatest number is below the least\n" +
				"f:6:78: the value is missing (write one, or leave the key out)\n" +
				`f:6:92: want a whole number up to 1000000, or its bounds such as {min: 1, max: 3}: "1.5"`,
		},
		"expect spans": {
			head + "- expect: {within: 1s, client: Stable, payloads: {min: 1, min: 2}, rejected: {most: 1}, warnings: {max: -1}, devices: {Min: 1}}\n",
			"f:6:59: duplicate key: \"min\" (first on line 6)\n" +
				"f:6:78: want a whole number up to 1000000, or its bounds such as {min: 1, max: 3}\n" +
				"f:6:99: want a whole number up to 1000000, or its bounds such as {min: 1, max: 3}\n" +
				"f:6:119: want a whole number up to 1000000, or its bounds such as {min: 1, max: 3}",
		},
		"port in a list":   {"clients: [{name: A, ports: [1, 99999]}]\nsteps: [{wait: 1s}]\n", `f:1:32: want a number from 0 to 65535: "99999"`},
		"no client at all": {"clients: [{name: ''}]\nsteps: [{never: {for: 1s, devices: 1}}]\n", "f:1:18: the value is missing (write one, or leave the key out)"},
		"no step at all":   {"clients: [{name: A}]\nsteps: [~]\n", `f:2:9: the value is missing: "~" (write one, or leave the key out)`},
		"bucket": {
			"clients: [{name: A, bucket: 0}, {name: B, bucket: \"5\"}, {name: C, bucket: 1001}, {name: D, bucket: [1]}]\nsteps: [{wait: 1s}]\n",
			"f:1:29: want a whole number from 1 to 1000, or off: \"0\"\n" +
				"f:1:51: want a whole number from 1 to 1000, or off: \"5\"\n" +
				"f:1:75: want a whole number from 1 to 1000, or off: \"1001\"\n" +
				"f:1:100: want a whole number from 1 to 1000, or off",
		},
		"never": {
			head + "- never: {client: Stable, within: 1s}\n",
			"f:6:10: missing key: \"for\"\n" +
				`f:6:27: unknown key: "within" (want one of: for, device, hardware_mute, echo_cancellation, noise_suppression, automatic_gain_control, present, devices, transport)`,
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
		require.NotEmpty(t, sc.name)
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
	require.Equal(t, "full", sc.name)
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
