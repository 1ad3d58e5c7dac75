package config

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/strictyaml/strictyamltest"
)

func writeFile(t *testing.T, path, content string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// values formats the settings that differ from the defaults, as path=value @ origin.
func values(settings []Setting) []string {
	var out []string
	for _, s := range settings {
		if s.Origin != "default" {
			out = append(out, s.Path+"="+s.Value+" @ "+s.Origin)
		}
	}
	return out
}

func TestDefaults(t *testing.T) {
	cfg, settings, problems := Load(Options{})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, Default(), cfg)
	require.Empty(t, values(settings))
	require.Empty(t, cfg.Check())

	var got []string
	for _, s := range settings {
		got = append(got, s.Path+"="+s.Value)
	}
	require.Equal(t, []string{
		"catalogue=",
		"vendor=",
		"rpc.clients=all",
		"rpc.transports=ipc,websocket,http",
		"rpc.ports=6463-6473",
		"rpc.ipc_folders=",
		"rpc.origin=",
		"rpc.on_exit=clear",
		"rpc.probe_timeout=1s",
		"rpc.answer_timeout=5s",
		"rpc.http_timeout=1m30s",
		"rpc.tokens=2",
		"rpc.token_every=30s",
		"rpc.retry_max=5s",
		"rpc.resend_every=0s",
		"report.fields=hardware_mute,echo_cancellation,noise_suppression,automatic_gain_control",
		"report.audio_id=",
		"report.video_id=",
		"report.id_max_bytes=127",
		"sources.audio=true",
		"sources.camera=true",
		"sources.hid=true",
		"sources.files=",
		"sources.pulse_server=",
		"sources.effects=false",
		"engine.removal_grace=1s",
		"engine.stale_after=30s",
		"pause.list=empty",
		"control.socket=",
		"tray.notify_mute=false",
		"log.level=info",
		"log.format=text",
	}, got)

	cfg.Report.Fields[0] = "changed"
	require.NotEqual(t, "changed", string(devices.Fields[0]), "the default is a copy")
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	system := writeFile(t, filepath.Join(dir, "etc", "config.yaml"),
		"# admin\nrpc:\n  transports: [http]\n  ports: 6463\n  probe_timeout: 2s\n  retry_max: 9s\nlog: {level: warn}\n")
	user := writeFile(t, filepath.Join(dir, "home", "config.yaml"), "rpc:\n  ports: 6464,6465\n  probe_timeout: 3s\n  retry_max: 8s\nlog:\n")
	explicit := writeFile(t, filepath.Join(dir, "explicit.yaml"), "rpc: {ports: 7000}\n")
	opts := Options{
		SystemFile: system, UserFile: user,
		Env: []string{
			"SIDETONE_RPC_PROBE_TIMEOUT=4s", "HOME=/x", "SIDETONE_RPC_RETRY_MAX=9s", "SIDETONE_RPC_RETRY_MAX=7s", "SIDETONE_LOG_FORMAT=",
		},
		Flags: map[string]string{"rpc.retry_max": "6s"},
	}
	cfg, settings, problems := Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, []string{
		"rpc.transports=http @ " + system + ":3",
		"rpc.ports=6464,6465 @ " + user + ":2",
		"rpc.probe_timeout=4s @ SIDETONE_RPC_PROBE_TIMEOUT",
		"rpc.retry_max=6s @ --rpc-retry-max",
		"log.level=warn @ " + system + ":7",
	}, values(settings))
	require.Equal(t, RPC{
		Clients: policy.AllClients, Transports: []policy.Transport{policy.HTTP}, Ports: Ports{6464, 6465}, IPCFolders: []string{},
		OnExit:       policy.ExitClear,
		ProbeTimeout: 4 * time.Second, AnswerTimeout: 5 * time.Second, HTTPTimeout: 90 * time.Second,
		Tokens: 2, TokenEvery: 30 * time.Second, RetryMax: 6 * time.Second,
	}, cfg.RPC)

	opts.Explicit = explicit
	cfg, settings, problems = Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, Ports{7000}, cfg.RPC.Ports)
	require.Equal(t, []string{
		"rpc.ports=7000 @ " + explicit + ":1",
		"rpc.probe_timeout=4s @ SIDETONE_RPC_PROBE_TIMEOUT",
		"rpc.retry_max=6s @ --rpc-retry-max",
	}, values(settings))
}

// TestWhoDecides: the vendor may say what holds where nobody says anything, the administrator what holds whatever anybody says.
func TestWhoDecides(t *testing.T) {
	dir := t.TempDir()
	opts := Options{
		VendorFile: writeFile(t, filepath.Join(dir, "acme-agent.defaults.yaml"),
			"catalogue: catalogue\nlog: {level: warn, format: json}\nrpc: {on_exit: leave}\n"),
		UserFile:  writeFile(t, filepath.Join(dir, "home", "config.yaml"), "log: {level: debug}\nsources: {hid: true}\n"),
		EnvPrefix: "ACME_AGENT_",
		Env:       []string{"ACME_AGENT_SOURCES_HID=true", "SIDETONE_SOURCES_HID=nonsense"},
		Flags:     map[string]string{"sources.hid": "true", "rpc.on_exit": "unmute"},
		Policy: []string{
			writeFile(t, filepath.Join(dir, "policy.d", "10-all.yaml"), "sources: {hid: false, camera: false}\n"),
			writeFile(t, filepath.Join(dir, "policy.d", "20-lab.yaml"), "sources: {camera: true}\n"),
		},
	}
	cfg, settings, problems := Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.False(t, cfg.Sources.HID)
	require.Equal(t, filepath.Join(dir, "catalogue"), cfg.Catalogue, "beside the file that says it")
	layers := make(map[Layer][]string)
	for _, s := range settings {
		layers[s.Layer] = append(layers[s.Layer], s.Path+"="+s.Value)
	}
	delete(layers, LayerDefault)
	require.Equal(t, map[Layer][]string{
		LayerVendor: {"catalogue=" + filepath.Join(dir, "catalogue"), "log.format=json"},
		LayerUser:   {"log.level=debug"},
		LayerFlag:   {"rpc.on_exit=unmute"},
		LayerPolicy: {"sources.camera=true", "sources.hid=false"},
	}, layers)

	opts.Explicit = writeFile(t, filepath.Join(dir, "explicit.yaml"), "sources: {hid: true}\n")
	cfg, _, problems = Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.False(t, cfg.Sources.HID, "--config replaces no policy")
	require.Equal(t, LogWarn, cfg.Log.Level)

	writeFile(t, opts.Policy[1], "sources: {camera: perhaps}\n")
	_, _, problems = Load(opts)
	require.Len(t, problems, 1, "what an administrator meant is not guessed")
	require.Equal(t, opts.Policy[1], problems[0].File)
}

// TestPolicyThatSaysNothing is refused: YAML has null where somebody means an empty text, or has indented a group wrongly.
func TestPolicyThatSaysNothing(t *testing.T) {
	dir := t.TempDir()
	opts := Options{
		UserFile: writeFile(t, filepath.Join(dir, "config.yaml"), "control: {socket: /tmp/agent.sock}\nlog:\n"),
		Policy: []string{
			writeFile(t, filepath.Join(dir, "10.yaml"), "control:\n  socket:\nreport: {fields: }\nrpc:\nlog: {level: ~}\n"),
			writeFile(t, filepath.Join(dir, "20.yaml"), "# nothing yet\n"),
		},
	}
	_, _, problems := Load(opts)
	const says = "the value is missing, and so the key decides nothing: "
	const hint = " (write one, or leave the key out)"
	require.Equal(t, []string{
		opts.Policy[0] + `:2:3: ` + says + `"socket"` + hint,
		opts.Policy[0] + `:3:10: ` + says + `"fields"` + hint,
		opts.Policy[0] + `:4:1: ` + says + `"rpc"` + hint,
		opts.Policy[0] + `:5:7: ` + says + `"level"` + hint,
	}, strictyamltest.Texts(problems))

	writeFile(t, opts.Policy[0], "control: {socket: \"\"}\nreport: {fields: []}\n")
	cfg, _, problems := Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.Empty(t, cfg.Control.Socket)
	require.Empty(t, cfg.Report.Fields)
}

// TestVariablesOfOthers: a program whose name begins like this one's, and a vendor's other software, have variables that begin like ours.
func TestVariablesOfOthers(t *testing.T) {
	load := func(env ...string) []string {
		_, _, problems := Load(Options{EnvPrefix: "ACME_AGENT_", Env: env})
		return strictyamltest.Texts(problems)
	}
	for _, k := range Keys() {
		require.Empty(t, load("ACME_AGENT_PRO_"+k.Env+"=x", "ACME_AGENT_X_"+k.Env+"=x"))
	}
	require.Empty(t, load("ACME_AGENT_HOME=/opt/acme", "ACME_AGENT_TOKEN=x", "ACME_AGENT_SERVER_URL=x"))
	require.Equal(t, []string{"ACME_AGENT_PORTS", "ACME_AGENT_TOKEN"}, UnknownVariables("ACME_AGENT_", []string{
		"ACME_AGENT_TOKEN=x", "ACME_AGENT_PORTS=1", "ACME_AGENT_PORTS=2", "ACME_AGENT_HOME=", "ACME_AGENT_PRO_LOG_LEVEL=x", "ACME_AGENT_LOG_LEVEL=x",
		"ACME_AGENT_RPC_PORT=1", "PORTS=1", "ACME_AGENT_",
	}))
	require.Equal(t, []string{"SIDETONE_PORTS"}, UnknownVariables("", []string{"SIDETONE_PORTS=1", "ACME_AGENT_PORTS=1"}))
	for mistake, meant := range map[string]string{
		"RPC_PORT": "RPC_PORTS", "LOGLEVEL": "LOG_LEVEL", "CATALOG": "CATALOGUE", "RPC_TOKEN": "RPC_TOKENS", "CONTROL_SOCKT": "CONTROL_SOCKET",
	} {
		require.Equal(t, []string{"ACME_AGENT_" + mistake + ": unknown environment variable (did you mean \"ACME_AGENT_" + meant + "\"?)"},
			load("ACME_AGENT_"+mistake+"=1"))
	}
}

// TestAddressAlone: who only asks the agent that runs needs nothing but the settings that say which.
func TestAddressAlone(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "one.sock")
	user := writeFile(t, filepath.Join(dir, "config.yaml"), "control: {socket: '"+socket+"'}\nrpc: {on_exti: leave, tokens: -1}\n")
	policy := writeFile(t, filepath.Join(dir, "10.yaml"), "log: [\n")
	opts := Options{UserFile: user, Policy: []string{policy}, Env: []string{"SIDETONE_VENDOR=acme"}}
	c, others, problems := LoadAddress(opts)
	require.Empty(t, problems)
	require.Len(t, others, 3)
	require.Equal(t, socket, c.Control.Socket)
	require.Equal(t, "acme", c.Vendor)
	c.Control, c.Vendor = Control{}, ""
	require.Equal(t, Default(), c)

	opts.Env = []string{"SIDETONE_VENDOR=No Such"}
	_, _, problems = LoadAddress(opts)
	require.Len(t, problems, 1)
	require.Equal(t, "$.vendor", problems[0].Path)

	opts.Env, opts.Explicit = nil, filepath.Join(dir, "missing.yaml")
	_, _, problems = LoadAddress(opts)
	require.Len(t, problems, 1, "what the caller has named is not ignored")
	require.Equal(t, opts.Explicit, problems[0].File)
}

// TestSettingsThatAreGone: whoever still has one is told once, at its place, what replaces it.
func TestSettingsThatAreGone(t *testing.T) {
	user := writeFile(t, filepath.Join(t.TempDir(), "config.yaml"), "log: {level: debug}\n\npush:\n  state_file: /tmp/states.json\n")
	_, _, problems := Load(Options{
		UserFile: user, Env: []string{"SIDETONE_PUSH_STATE_FILE=/tmp/states.json"}, Flags: map[string]string{"push.state_file": "/tmp/states.json"},
		Registry: []Registry{{Key: "HKLM", Values: map[string]string{"push.state_file": ""}}},
	})
	const instead = " (push.state_file is gone: push over the local API, as examples/push/follow.py does for a file)"
	require.Equal(t, []string{
		user + `:3:1: unknown key: "push"` + instead,
		"SIDETONE_PUSH_STATE_FILE: unknown environment variable" + instead,
		"push.state_file: unknown setting" + instead,
		`HKLM\push.state_file: unknown setting` + instead,
	}, strictyamltest.Texts(problems))
	require.NotEmpty(t, Gone("push-state-file"))
	require.NotEmpty(t, Gone("state-file"))
	require.Empty(t, Gone("log"))
	require.Empty(t, UnknownVariables("", []string{"SIDETONE_PUSH_STATE_FILE=x"}), "Load reports it")
}

// TestPathsOfVendorAndAdministrator are whole: there is no folder that such a file could mean by another one.
func TestPathsOfVendorAndAdministrator(t *testing.T) {
	dir := t.TempDir()
	vendor := writeFile(t, filepath.Join(dir, "acme-agent.defaults.yaml"), "catalogue: catalogue\ncontrol: {socket: a.sock}\n")
	policy := writeFile(t, filepath.Join(dir, "10-all.yaml"), "catalogue: catalogue\nsources:\n  files: [~/endpoints.yaml, more.yaml]\n")
	_, _, problems := Load(Options{
		VendorFile: vendor, Policy: []string{policy}, Env: []string{"HOME=" + dir},
		Registry: []Registry{{Key: "HKLM", Values: map[string]string{"rpc.ipc_folders": "folder"}}},
	})
	const says = "a relative path, which would lead to where no user may write, or anywhere: "
	const hint = " (write the whole path, or ~/ and the rest)"
	require.Equal(t, []string{
		vendor + ":2:19: " + says + `"a.sock"` + hint,
		policy + ":1:12: " + says + `"catalogue"` + hint,
		policy + ":3:29: " + says + `"more.yaml"` + hint,
		`HKLM\rpc.ipc_folders: ` + says + `"folder"` + hint,
	}, strictyamltest.Texts(problems))
}

// TestRegistry: values of the registry beat everything, and what is wrong with one is said by its name.
func TestRegistry(t *testing.T) {
	opts := Options{
		Flags:  map[string]string{"rpc.on_exit": "leave"},
		Policy: []string{writeFile(t, filepath.Join(t.TempDir(), "all.yaml"), "rpc: {on_exit: unmute}\n")},
		Registry: []Registry{
			{Key: `HKLM\Software\Sidetone\Policy`, Values: map[string]string{"rpc.on_exit": "leave"}},
			{Key: `HKLM\Software\Policies\Sidetone`, Values: map[string]string{
				"rpc.on_exit": "clear", "report.fields": "hardware_mute", "sources.hid": "false",
			}},
		},
	}
	cfg, settings, problems := Load(opts)
	require.Empty(t, strictyamltest.Texts(problems))
	require.False(t, cfg.Sources.HID)
	i := slices.IndexFunc(settings, func(s Setting) bool { return s.Path == "rpc.on_exit" })
	want := Setting{Path: "rpc.on_exit", Value: "clear", Layer: LayerPolicy, Origin: `HKLM\Software\Policies\Sidetone\rpc.on_exit`}
	require.Equal(t, want, settings[i])

	opts.Registry[1].Values = map[string]string{"rpc.tokens": "many", "rpc.token": "1"}
	_, _, problems = Load(opts)
	require.Equal(t, []string{
		`HKLM\Software\Policies\Sidetone\rpc.token: unknown setting (did you mean "rpc.tokens"?)`,
		`HKLM\Software\Policies\Sidetone\rpc.tokens: want a whole number, found text: "many"`,
	}, strictyamltest.Texts(problems))

	opts.Registry = []Registry{{Err: errors.New(`cannot read HKLM\Software\Policies\Sidetone: Access is denied.`)}}
	_, _, problems = Load(opts)
	require.Equal(t, []string{`policy: cannot read HKLM\Software\Policies\Sidetone: Access is denied.`}, strictyamltest.Texts(problems),
		"who cannot read it does not ignore it")
}

func TestEveryType(t *testing.T) {
	cfg, _, problems := Load(Options{
		Env: []string{
			"SIDETONE_SOURCES_CAMERA=false", "SIDETONE_REPORT_FIELDS=hardware_mute, noise_suppression", "SIDETONE_REPORT_AUDIO_ID=guid",
			"SIDETONE_SOURCES_PULSE_SERVER=0",
		},
		Flags: map[string]string{
			"report.id_max_bytes": "0", "report.fields": "", "log.level": "debug", "rpc.origin": "https://acme.example", "engine.stale_after": "0",
		},
	})
	require.Empty(t, strictyamltest.Texts(problems))
	require.False(t, cfg.Sources.Camera)
	require.Equal(t, []devices.Field{}, cfg.Report.Fields)
	require.Equal(t, devices.IDGUID, cfg.Report.AudioID)
	require.Equal(t, "0", cfg.Sources.PulseServer)
	require.Zero(t, cfg.Report.IDMaxBytes)
	require.Equal(t, LogDebug, cfg.Log.Level)
	require.Zero(t, cfg.Engine.StaleAfter)
}

func TestRelativePaths(t *testing.T) {
	dir := t.TempDir()
	abs := filepath.Join(dir, "abs.yaml")
	user := writeFile(t, filepath.Join(dir, "home", "config.yaml"),
		"catalogue: ../acme.yaml\nsources:\n  files: [a.yaml, '"+abs+"']\n")
	cfg, _, problems := Load(Options{UserFile: user})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, filepath.Join(dir, "acme.yaml"), cfg.Catalogue)
	require.Equal(t, []string{filepath.Join(dir, "home", "a.yaml"), abs}, cfg.Sources.Files)

	here, err := os.Getwd()
	require.NoError(t, err)
	cfg, _, problems = Load(Options{
		UserFile: user, Env: []string{"SIDETONE_CATALOGUE=x/acme.yaml"}, Flags: map[string]string{"sources.files": "b.yaml"},
	})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, filepath.Join(here, "x", "acme.yaml"), cfg.Catalogue)
	require.Equal(t, []string{filepath.Join(here, "b.yaml")}, cfg.Sources.Files)

	t.Chdir(filepath.Join(dir, "home"))
	cfg, _, problems = Load(Options{Explicit: "config.yaml"})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, filepath.Join(dir, "acme.yaml"), cfg.Catalogue)
}

// TestHome: no shell expands ~ in a file, nor in --flag=~/path.
func TestHome(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	user := writeFile(t, filepath.Join(dir, "config.yaml"), "catalogue: ~/acme.yaml\nsources: {files: [~/a/b.yaml, ~odd.yaml]}\n")
	cfg, _, problems := Load(Options{
		UserFile: user, Env: []string{"HOME=" + home}, Flags: map[string]string{"control.socket": "~/agent.sock"},
	})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, filepath.Join(home, "acme.yaml"), cfg.Catalogue)
	require.Equal(t, []string{filepath.Join(home, "a", "b.yaml"), filepath.Join(dir, "~odd.yaml")}, cfg.Sources.Files)
	require.Equal(t, filepath.Join(home, "agent.sock"), cfg.Control.Socket)

	_, _, problems = Load(Options{UserFile: user, Flags: map[string]string{"control.socket": "~joe/agent.sock"}})
	require.Equal(t, []string{
		user + `:1:12: the environment does not say where ~ is: "~/acme.yaml" (write the whole path)`,
		user + `:2:19: the environment does not say where ~ is: "~/a/b.yaml" (write the whole path)`,
		`--control-socket: another user's home is not looked up: "~joe/agent.sock" (write the whole path)`,
	}, strictyamltest.Texts(problems))
}

func TestFilesThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.yaml")
	cfg, _, problems := Load(Options{UserFile: missing, SystemFile: filepath.Join(dir, "no", "such", "folder.yaml")})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, Default(), cfg)

	empty := writeFile(t, filepath.Join(dir, "empty.yaml"), "# nothing set\n")
	cfg, _, problems = Load(Options{UserFile: empty})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, Default(), cfg)

	cfg, settings, problems := Load(Options{Explicit: missing})
	require.Nil(t, cfg)
	require.Nil(t, settings)
	require.Len(t, problems, 1)
	require.True(t, strings.HasPrefix(problems[0].String(), missing+": cannot read the file, "), problems[0])

	_, _, problems = Load(Options{UserFile: dir})
	require.Equal(t, []string{dir + ": cannot read the file, it is a folder, want a file"}, strictyamltest.Texts(problems))
}

func TestProblemsSayWhere(t *testing.T) {
	dir := t.TempDir()
	system := writeFile(t, filepath.Join(dir, "system.yaml"), "rpc: {transports: [pigeon]}\n")
	user := writeFile(t, filepath.Join(dir, "user.yaml"), "lgo: {}\n")
	_, _, problems := Load(Options{
		SystemFile: system, UserFile: user,
		Env: []string{
			"SIDETONE_RPC_PORT=6463", "SIDETONE_RPC_PORTS=0", "SIDETONE_REPORT_FIELDS=hardware_mute,mute", "SIDETONE_SOURCES_AUDIO=yes",
		},
		Flags: map[string]string{"rpc.http_timeout": "90", "rpc.retrymax": "1s"},
	})
	require.Equal(t, []string{
		system + `:1:20: unknown value: "pigeon" (want one of: ipc, websocket, http)`,
		user + `:1:1: unknown key: "lgo" (did you mean "log"?)`,
		`SIDETONE_REPORT_FIELDS: unknown value: "mute" ` +
			`(want one of: hardware_mute, echo_cancellation, noise_suppression, automatic_gain_control)`,
		`SIDETONE_RPC_PORT: unknown environment variable (did you mean "SIDETONE_RPC_PORTS"?)`,
		`SIDETONE_RPC_PORTS: want ports from 1 to 65535, such as 6463-6473 or 6463,6470: "0"`,
		`SIDETONE_SOURCES_AUDIO: want true or false, found text: "yes"`,
		`--rpc-http-timeout: want a duration such as 250ms, 5s or 2m, found a number: "90" (add a unit: 90s)`,
		`rpc.retrymax: unknown setting (did you mean "rpc.retry_max"?)`,
	}, strictyamltest.Texts(problems))
	require.Equal(t, "$.report.fields[1]", problems[2].Path)
}

// A value that is out of bounds is reported where it was set, and only if it is in force.
func TestBoundsSayWhere(t *testing.T) {
	dir := t.TempDir()
	user := writeFile(t, filepath.Join(dir, "user.yaml"), "rpc:\n  probe_timeout: 0s\n  answer_timeout: 0s\n")
	_, _, problems := Load(Options{
		UserFile: user,
		Env:      []string{"SIDETONE_RPC_PROBE_TIMEOUT=1s", "SIDETONE_REPORT_FIELDS=hardware_mute,hardware_mute"},
		Flags:    map[string]string{"report.id_max_bytes": "-1"},
	})
	require.Equal(t, []string{
		user + `:3:19: out of range: "0s" (want 100ms to 10m)`,
		`SIDETONE_REPORT_FIELDS: listed twice: "hardware_mute"`,
		`--report-id-max-bytes: out of range: "-1" (want 0 for never, or 16 to 4096)`,
	}, strictyamltest.Texts(problems))
}

// What 'config show' prints can be given back as flags.
func TestSettingsRoundTrip(t *testing.T) {
	dir := t.TempDir()
	user := writeFile(t, filepath.Join(dir, "user.yaml"), `catalogue: acme.yaml
vendor: acme
rpc: {clients: first, transports: [websocket, ipc], on_exit: unmute, ipc_folders: [/run/x], tokens: 3, token_every: 1s,
  ports: "6463, 6465-6467,6470,6471", origin: "https://a.example", probe_timeout: 1500ms, answer_timeout: 6s,
  http_timeout: 1h, retry_max: 2m, resend_every: 10m}
report: {fields: [noise_suppression], audio_id: name, video_id: bus_info, id_max_bytes: 64}
sources: {audio: false, camera: false, hid: false, files: [a.yaml, b.yaml], pulse_server: "unix:/run/x", effects: true}
engine: {removal_grace: 10ms, stale_after: 90s}
pause: {list: unmuted}
tray: {notify_mute: true}
control: {socket: /run/x/agent.sock}
log: {level: error, format: json}
`)
	cfg, settings, problems := Load(Options{UserFile: user})
	require.Empty(t, strictyamltest.Texts(problems))
	flags := make(map[string]string)
	for _, s := range settings {
		require.True(t, strings.HasPrefix(s.Origin, user+":"), s)
		flags[s.Path] = s.Value
	}
	again, _, problems := Load(Options{Flags: flags})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, cfg, again)
}

func TestKeys(t *testing.T) {
	keys := Keys()
	require.Equal(t, Key{
		Path: "rpc.probe_timeout", Env: "RPC_PROBE_TIMEOUT", Flag: "rpc-probe-timeout", Default: "1s",
		Help: "how long a port may take to prove that it is a client",
	}, keys[8])
	for _, k := range keys {
		require.NotEmpty(t, k.Help, k.Path)
	}
}

// The example shows every setting, with its default.
func TestExampleIsTheDefault(t *testing.T) {
	path := filepath.Join("..", "..", "examples", "config.yaml")
	cfg, _, problems := Load(Options{Explicit: path})
	require.Empty(t, strictyamltest.Texts(problems))
	require.Equal(t, Default(), cfg)
	_, _, problems = Load(Options{Policy: []string{path}})
	require.Empty(t, strictyamltest.Texts(problems), "an administrator's policy has the form of this file")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, k := range Keys() {
		name := k.Path[strings.LastIndex(k.Path, ".")+1:]
		require.Regexp(t, regexp.MustCompile(`(?m)^ *(?:# )?`+name+`:`), string(text))
	}
}

func TestPorts(t *testing.T) {
	for in, want := range map[string]struct {
		ports Ports
		text  string
	}{
		"6463":                    {Ports{6463}, "6463"},
		"6463-6463":               {Ports{6463}, "6463"},
		" 1 , 65535 ":             {Ports{1, 65535}, "1,65535"},
		"6463-6465,6470 - 6471,1": {Ports{6463, 6464, 6465, 6470, 6471, 1}, "6463-6465,6470,6471,1"},
	} {
		var p Ports
		require.NoError(t, p.UnmarshalText([]byte(in)))
		require.Equal(t, want.ports, p)
		require.Equal(t, want.text, p.String())
	}
	for in, want := range map[string]string{
		"":            errPort.Error(),
		",":           errPort.Error(),
		"-":           errPort.Error(),
		"0-5":         errPort.Error(),
		"+1":          errPort.Error(),
		"65536":       errPort.Error(),
		"1-2-3":       errPort.Error(),
		"1-99999":     errPort.Error(),
		"2-1":         "the range 2-1 runs backwards",
		"1,2,1":       "port 1 is listed twice",
		"100-164":     "more than 64 ports",
		"1-60, 70-80": "more than 64 ports",
	} {
		p := Ports{7}
		require.EqualError(t, p.UnmarshalText([]byte(in)), want, in)
		require.Equal(t, Ports{7}, p)
	}
}

func TestSlog(t *testing.T) {
	want := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	for _, name := range LogLevel("").Enum() {
		require.Equal(t, want[name], LogLevel(name).Slog())
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", time.Minute: "1m", 90 * time.Second: "1m30s", time.Hour: "1h", time.Hour + 10*time.Minute: "1h10m",
		2*time.Hour + time.Second: "2h0m1s", 250 * time.Millisecond: "250ms", 10 * time.Minute: "10m", 10 * time.Second: "10s",
	} {
		require.Equal(t, want, short(d))
		back, err := time.ParseDuration(short(d))
		require.NoError(t, err)
		require.Equal(t, d, back)
	}
}

// Each enum's names and each key must decode; a struct that has grown a nameless field would
// not.
func TestConfigHasNames(t *testing.T) {
	for _, l := range leaves(Default()) {
		require.NotContains(t, l.Path, "..")
		require.False(t, strings.HasSuffix(l.Path, "."), l.Path)
		require.NotEqual(t, reflect.Struct, l.value.Kind(), l.Path)
	}
}
