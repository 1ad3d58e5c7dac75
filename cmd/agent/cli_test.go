package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
)

// acme is the example catalogue with one mistake in it.
func acme(t *testing.T, old, mistaken string) string {
	t.Helper()
	require.Contains(t, string(examples.Acme), old)
	return write(t, "acme.yaml", strings.Replace(string(examples.Acme), old, mistaken, 1))
}

// TestBadInput makes the mistakes of a new user. Each must be answered by the exit code 2, by
// nothing on standard output and by one line that says where and what is wrong.
func TestBadInput(t *testing.T) {
	t.Parallel()
	const clientID = `client_id: "123456789012345678"`
	good := acme(t, "schema: 1", "schema: 1")
	folder := t.TempDir()
	missing := filepath.Join(folder, "missing.yaml")
	cases := []struct {
		name string
		args string // without --catalogue
		file string // the catalogue; "" = none
		env  string
		want []string // parts of the line
	}{
		{name: "no catalogue", args: "run", want: []string{"no catalogue", "--catalogue FILE", "SIDETONE_CATALOGUE"}},
		{name: "missing catalogue", args: "run", file: missing, want: []string{missing, "cannot read"}},
		{name: "folder instead of a file", args: "run", file: folder, want: []string{folder, "folder"}},
		{name: "empty catalogue", args: "run", file: write(t, "acme.yaml", ""), want: []string{"acme.yaml", "empty"}},
		{name: "tab", args: "run", file: acme(t, "    name: Acme Headset 700", "\tname: Acme Headset 700"), want: []string{"acme.yaml:18:1: ", "tab", "spaces"}},
		{name: "wrong type", args: "run", file: acme(t, "priority: 1", "priority: first"), want: []string{"acme.yaml:20:15: ", "whole number", `"first"`}},
		{name: "unknown key", args: "run", file: acme(t, "    priority: 1", "    colour: red\n    priority: 1"), want: []string{"acme.yaml:20:5: ", "unknown key", `"colour"`}},
		{name: "duplicate product", args: "run", file: acme(t, "acme-studio-mic", "acme-headset-700"), want: []string{"acme.yaml:73:9: ", "duplicate product id", `"acme-headset-700"`}},
		{name: "client id in words", args: "run", file: acme(t, clientID, "client_id: abc"), want: []string{"acme.yaml:13:14: ", "client_id", `"abc"`, "17 to 20 digits"}},
		{name: "client id without quotes", args: "run", file: acme(t, clientID, "client_id: 123456789012345678"), want: []string{"acme.yaml:13:14: ", "quotes"}},
		{name: "newer catalogue", args: "run", file: acme(t, "schema: 1", "schema: 2"), want: []string{"acme.yaml:7:9: ", "2"}},
		{name: "bad expression", args: "run", file: acme(t, "(?i)echo[-_ ]?cancel", "(?i)echo[-_ ?cancel"), want: []string{"acme.yaml:37:21: ", "bad expression", "(?i)echo[-_ ?cancel"}},
		{name: "port range reversed", args: "run --rpc-ports 6473-6463", file: good, want: []string{"--rpc-ports", "6473-6463", "backwards"}},
		{name: "port range reversed in the environment", args: "run", file: good, env: "SIDETONE_RPC_PORTS=6473-6463", want: []string{"SIDETONE_RPC_PORTS", "backwards"}},
		{name: "port too high", args: "run --rpc-ports 65536", file: good, want: []string{"--rpc-ports", "65535"}},
		{name: "misspelt variable", args: "run", file: good, env: "SIDETONE_RPC_PORT=6463", want: []string{"SIDETONE_RPC_PORT:", `did you mean "SIDETONE_RPC_PORTS"`}},
		{name: "unknown transport", args: "run --rpc-transports ipc,carrier-pigeon", file: good, want: []string{"--rpc-transports", "carrier-pigeon", "websocket"}},
		{name: "unknown transport in the environment", args: "run", file: good, env: "SIDETONE_RPC_TRANSPORTS=pipe", want: []string{"SIDETONE_RPC_TRANSPORTS", `"pipe"`, "ipc, websocket, http"}},
		{name: "transport listed twice", args: "run", file: good, env: "SIDETONE_RPC_TRANSPORTS=ipc,http,ipc", want: []string{"SIDETONE_RPC_TRANSPORTS", "twice", `"ipc"`}},
		{name: "settings file without a name", args: "run --config=", file: good, want: []string{"--config", "names no file"}},
		{name: "settings file without a name, to ask", args: "status --config=", want: []string{"--config", "names no file"}},
		{name: "octal port", args: "run --rpc-ports 06463", file: good, want: []string{"--rpc-ports", `"06463"`, "6463-6473"}},
		{name: "no grace", args: "run --engine-removal-grace 0", file: good, want: []string{"--engine-removal-grace", "want 10ms to 1m"}},
		{name: "another user's home", args: "run --catalogue=~joe/acme.yaml", want: []string{"--catalogue", `"~joe/acme.yaml"`, "write the whole path"}},
		{name: "no transport", args: "run --rpc-transports=", file: good, want: []string{"--rpc-transports", "no transport", "ipc, websocket, http"}},
		{name: "empty transport", args: "run", file: good, env: "SIDETONE_RPC_TRANSPORTS=ipc,", want: []string{"SIDETONE_RPC_TRANSPORTS", "unknown value", "ipc, websocket, http"}},
		{name: "setting of older versions", args: "run", file: good, env: "SIDETONE_RPC_TRANSPORT=http", want: []string{"SIDETONE_RPC_TRANSPORT:", `did you mean "SIDETONE_RPC_TRANSPORTS"`}},
		{name: "unknown choice of clients", args: "run --rpc-clients last", file: good, want: []string{"--rpc-clients", `"last"`, "all, first"}},
		{name: "unknown farewell", args: "run --rpc-on-exit empty", file: good, want: []string{"--rpc-on-exit", `"empty"`, "clear, unmute, leave"}},
		{name: "no tokens", args: "run --rpc-tokens 0", file: good, want: []string{"--rpc-tokens", `"0"`}},
		{name: "duration without a unit", args: "run --engine-stale-after 30", file: good, want: []string{"--engine-stale-after", "30"}},
		{name: "missing settings", args: "run --config " + missing, file: good, want: []string{missing, "cannot read"}},
		{name: "misspelt flag", args: "run --catalog acme.yaml", want: []string{"--catalog", `did you mean "--catalogue"?`, "sidetone run --help"}},
		{name: "flag with one dash", args: "version -json", want: []string{`did you mean "--json"?`}},
		{name: "flag that is gone", args: "run --state-file x", want: []string{"unknown flag: --state-file, push.state_file is gone: push over"}},
		{name: "flag of a verb that is gone", args: "pause --until-login", want: []string{"unknown flag: --until-login, a pause lasts until 'resume'"}},
		{name: "unknown flag", args: "version --xml", want: []string{"unknown flag: --xml, want one of: --help, --json, --lang (see"}},
		{name: "fewer lines than none", args: "service logs -n -5", want: []string{"--lines -5: want 0 or more"}},
		{name: "push of nothing", args: "push", want: []string{"name PRODUCT and FLAG=true|false|clear (see 'sidetone push --help')"}},
		{name: "push without a flag", args: "push acme", want: []string{": name FLAG=true|false|clear (see"}},
		{name: "push of a misspelt flag", args: "push acme hardware_mut=true", want: []string{`"hardware_mut"`, `did you mean "hardware_mute"?`}},
		{name: "push of a lease of two days", args: "push acme hardware_mute=true --ttl 48h", want: []string{"--ttl 48h0m0s", "24h0m0s"}},
		{name: "push of no lease", args: "push acme hardware_mute=true --ttl 1us", want: []string{"--ttl 1µs", "1ms"}},
		{name: "explain nothing", args: "explain", want: []string{": name ENDPOINT (see"}},
		{name: "name in two words", args: "explain Acme Headset", want: []string{`unexpected argument "Headset": this verb takes ENDPOINT only (see`}},
		{name: "two devices", args: "learn hidraw0 hidraw1", want: []string{`unexpected argument "hidraw1": this verb takes [VID:PID | NODE] only (see`}},
		{name: "record without a file", args: "record", want: []string{": name FILE (see"}},
		{name: "bundle without a file", args: "bundle", want: []string{": name FILE.zip (see"}},
		{name: "two kinds of output", args: "replay --lists --json x", want: []string{"--lists and --json"}},
		{name: "help with an unknown verb", args: "help runn", want: []string{`"runn"`, `did you mean "run"?`, "(see 'sidetone --help')\n"}},
		{name: "help with too much", args: "help catalogue test it", want: []string{`"it"`, "'sidetone catalogue test --help'"}},
		{name: "completion for no shell", args: "completion", want: []string{"sidetone completion --help"}},
		{name: "completion for an unknown shell", args: "completion nushell", want: []string{`"nushell"`, "sidetone completion --help"}},
		{name: "completion for two shells", args: "completion bash zsh", want: []string{`unexpected argument "zsh"`}},
		{name: "extra argument", args: "run acme.yaml", want: []string{"acme.yaml", "sidetone run --help"}},
		{name: "file without an argument", args: "catalogue check", want: []string{": name FILE (see 'sidetone catalogue check --help')"}},
		{name: "unknown verb", args: "runn", want: []string{`"runn"`, `did you mean "run"`}},
		{name: "unknown verb of a noun", args: "catalogue chek", want: []string{`"chek"`, `did you mean "check"`}},
		{name: "noun without a verb", args: "catalogue", want: []string{"sidetone catalogue --help"}},
		{name: "devices", args: "devices", file: missing, want: []string{missing}},
		{name: "config check", args: "config check --engine-removal-grace -1s", want: []string{"--engine-removal-grace", "-1s"}},
		{name: "config show", args: "config show --report-fields hardware_mute,mute", want: []string{"--report-fields", `"mute"`, "hardware_mute"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.args)
			if c.file != "" {
				args = append(args, "--catalogue", c.file)
			}
			var env []string
			if c.env != "" {
				env = append(env, c.env)
			}
			isBadInput(t, sidetone(t, env, args...), c.want...)
		})
	}
}

func isBadInput(t *testing.T, o output, want ...string) {
	t.Helper()
	require.Equal(t, exitBadInput, o.code, "%s", o.stderr)
	require.Empty(t, o.stdout)
	require.Regexp(t, `^[a-z-]+: [^\n]+\n$`, o.stderr, "one line")
	for _, part := range want {
		require.Contains(t, o.stderr, part)
	}
}

func TestCatalogueCheck(t *testing.T) {
	t.Parallel()
	good, bad := acme(t, "schema: 1", "schema: 1"), acme(t, "priority: 1", "priority: first")
	o := sidetone(t, nil, "catalogue", "check", good)
	require.Equal(t, output{exitOK, good + ": in order, 4 products\n", ""}, o)

	odd := acme(t, "report_id: 0x64\n                value", "value")
	o = sidetone(t, nil, "catalogue", "check", odd)
	require.Equal(t, exitOK, o.code, "a warning is no problem")
	require.Contains(t, o.stdout, ": warning: it would match any report")
	require.Contains(t, o.stdout, odd+": in order, 4 products\n")

	o = sidetone(t, nil, "catalogue", "check", good, bad)
	require.Equal(t, exitBadInput, o.code)
	require.Empty(t, o.stderr)
	require.Contains(t, o.stdout, good+": in order")
	require.Contains(t, o.stdout, bad+":20:15: ")

	o = sidetone(t, nil, "catalogue", "check", "--json", good, bad)
	require.Equal(t, exitBadInput, o.code)
	var answer []struct {
		File     string
		OK       bool
		Products int
		Problems []struct{ Line, Column int }
	}
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &answer))
	require.Len(t, answer, 2)
	require.True(t, answer[0].OK)
	require.Equal(t, 4, answer[0].Products)
	require.False(t, answer[1].OK)
	require.Equal(t, 20, answer[1].Problems[0].Line)
}

func TestCatalogueSchema(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "catalogue", "schema")
	require.Equal(t, exitOK, o.code)
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &schema))
	require.Contains(t, schema["$schema"], "json-schema.org")
	require.Empty(t, o.stderr)
}

// TestConfigShow sets settings in every place; each value must come from the nearest, and the
// answer must say which that is.
func TestConfigShow(t *testing.T) {
	t.Parallel()
	file := write(t, "config.yaml", "log: {level: warn, format: json}\nrpc:\n  transports: [http]\n  ports: 7000\n")
	env := []string{"SIDETONE_RPC_TRANSPORTS=websocket,ipc", "SIDETONE_RPC_PORTS=7000-7002,8000"}
	args := []string{"--config", file, "--rpc-ports", "6463"}
	o := sidetone(t, env, append([]string{"config", "show", "--json"}, args...)...)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Empty(t, o.stderr)
	var list []struct{ Path, Value, Origin string }
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &list))
	got := make(map[string][2]string)
	for _, s := range list {
		got[s.Path] = [2]string{s.Value, s.Origin}
	}
	require.Equal(t, [2]string{"6463", "--rpc-ports"}, got["rpc.ports"])
	require.Equal(t, [2]string{"websocket,ipc", "SIDETONE_RPC_TRANSPORTS"}, got["rpc.transports"])
	require.Equal(t, [2]string{"warn", file + ":1"}, got["log.level"])
	require.Equal(t, [2]string{"30s", "default"}, got["engine.stale_after"])

	o = sidetone(t, env, append([]string{"config", "show"}, args...)...)
	require.Equal(t, exitOK, o.code)
	require.Equal(t, len(list), strings.Count(o.stdout, "\n"), "one line for each setting")
	require.Regexp(t, `(?m)^rpc\.ports +6463 +--rpc-ports$`, o.stdout)
}

func TestConfigCheck(t *testing.T) {
	t.Parallel()
	good := acme(t, "schema: 1", "schema: 1")
	o := sidetone(t, nil, "config", "check", "--catalogue", good)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Contains(t, o.stdout, good)
	o = sidetone(t, nil, "config", "check", "--json", "--catalogue", good)
	require.Equal(t, exitOK, o.code, o.stderr)
	var c checkedConfig
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &c))
	require.Equal(t, checkedConfig{OK: true, Catalogue: good}, c)
	file := write(t, "config.yaml", "catalogue: acme.yaml\nrpc:\n  transports: [pigeon]\n")
	isBadInput(t, sidetone(t, nil, "config", "check", "--config", file), file+":3:16: ", "pigeon")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "version", "--json")
	require.Equal(t, exitOK, o.code)
	require.Empty(t, o.stderr)
	var v versionInfo
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &v))
	require.Equal(t, versionInfo{version, runtime.Version(), runtime.GOOS, runtime.GOARCH, builtWithCGO(), listedBy(runtime.GOOS, builtWithCGO())}, v)
	o = sidetone(t, nil, "version")
	require.Equal(t, exitOK, o.code)
	require.Contains(t, o.stdout, "sidetone "+version)
	require.Equal(t, o, sidetone(t, nil, "--version"))
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--help", "run --help", "devices --help", "catalogue check --help", "config show --help", "help", "help catalogue check"} {
		o := sidetone(t, nil, strings.Fields(args)...)
		require.Equal(t, exitOK, o.code, args)
		require.Contains(t, o.stdout, "Usage:", args)
		require.Empty(t, o.stderr, args)
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		o := sidetone(t, nil, "completion", shell)
		require.Equal(t, exitOK, o.code, shell)
		require.Empty(t, o.stderr, shell)
		require.Contains(t, o.stdout, shell+" completion", shell)
		if shell == "powershell" {
			continue // has no way to check a script without running it
		}
		if runtime.GOOS == "windows" {
			continue // has none of them
		}
		path, err := exec.LookPath(shell)
		require.NoError(t, err, "run `make deps`")
		check := runToEnd(t, exec.CommandContext(t.Context(), path, "-n", write(t, "script", o.stdout)))
		require.Equal(t, output{}, check, shell)
	}
	o := sidetone(t, nil, "__complete", "run", "--cat")
	require.Equal(t, exitOK, o.code)
	require.Contains(t, o.stdout, "--catalogue")
	for typed, want := range map[string]string{
		"--rpc-clients=":        "all\nfirst\n:4\n",
		"--rpc-transports=ipc,": "ipc,websocket\nipc,http\n:4\n",
		"--sources-hid=":        "true\nfalse\n:4\n",
		"--catalogue=":          ":0\n",             // files
		"--log-format=j":        "text\njson\n:4\n", // the shell takes what fits
	} {
		require.Equal(t, want, sidetone(t, nil, "__complete", "run", typed).stdout, typed)
	}
	require.Equal(t, ":4\n", sidetone(t, nil, "__complete", "push", "").stdout, "no agent runs")
}

// TestFirstCatalogue follows the README's way to a catalogue of one's own.
func TestFirstCatalogue(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it is a way for a Unix shell")
	}
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^(.*\S) *>yours\.yaml`).FindString(string(readme))
	require.NotEmpty(t, command)
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(command, "yours.yaml", filepath.Join(folder, "yours.yaml")))
	cmd.Dir = "../.."
	require.Equal(t, output{}, runToEnd(t, cmd))
	for _, verb := range []string{"check", "test"} {
		o := sidetone(t, nil, "catalogue", verb, filepath.Join(folder, "yours.yaml"))
		require.Equal(t, exitOK, o.code, o.stdout+o.stderr)
	}
}

// TestDevicesUnreadableSource: a source that cannot be read is unknown, not empty, and the answer
// says so in its exit code too.
func TestDevicesUnreadableSource(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "endpoints.yaml")
	o := sidetone(t, nil, "devices", "--json", "--sources-audio=false", "--sources-camera=false", "--sources-files", missing)
	require.Equal(t, exitFailed, o.code)
	var answer deviceAnswer
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &answer))
	require.Len(t, answer.Sources, 1)
	require.Contains(t, answer.Sources[0].Reason.Message, missing)
}

func TestDevicesOfAFile(t *testing.T) {
	t.Parallel()
	file := write(t, "endpoints.json", `{"endpoints": [{"id": "video", "type": "videoinput", "name": "Acme Webcam 4K", "bus": "usb", "vid": "1209", "pid": "0720"}]}`)
	require.NoError(t, os.Chmod(file, 0o400))
	args := []string{"devices", "--sources-audio=false", "--sources-camera=false", "--sources-files", file, "--catalogue", acme(t, "schema: 1", "schema: 1")}
	o := sidetone(t, nil, args...)
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Contains(t, o.stdout, "Acme Webcam 4K")
	require.Contains(t, o.stdout, "reported, in this order: 1")
	o = sidetone(t, nil, append(args, "--json")...)
	require.Equal(t, exitOK, o.code, o.stderr)
	var answer deviceAnswer
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &answer))
	require.Len(t, answer.Devices, 1)
	require.Equal(t, "acme-webcam", answer.Devices[0].Product)
}

// TestUdevRulesAreCurrent: what the example package installs is what its catalogue needs.
func TestUdevRulesAreCurrent(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../installer/linux/70-sidetone-hid.rules")
	require.NoError(t, err)
	o := sidetone(t, nil, "catalogue", "udev", "../../examples/acme.yaml")
	require.Equal(t, output{exitOK, string(want), ""}, o, "go run ./cmd/agent catalogue udev examples/acme.yaml >installer/linux/70-sidetone-hid.rules")
}

// TestUdevWithoutHID: a catalogue of which no product has a HID source needs no rules.
func TestUdevWithoutHID(t *testing.T) {
	t.Parallel()
	file := write(t, "plain.yaml", minimal)
	o := sidetone(t, nil, "catalogue", "udev", file)
	require.Equal(t, exitFailed, o.code)
	require.Empty(t, o.stdout)
	require.Contains(t, o.stderr, file+": no product has a source of HID devices")
}
