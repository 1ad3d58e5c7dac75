package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/strictyaml"
)

var doctorsHour = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// patient is a machine on which all is well, until a test changes it.
type patient struct {
	doctorInput
	endpoints []devices.Endpoint
	pushes    []devices.Push
	fields    []devices.Field // that may be reported; nil = all
	idBytes   int             // where names are cut; 0 = never
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(t, problems)
	p := &patient{idBytes: maxID, endpoints: []devices.Endpoint{
		acmeEndpoint("mic", devices.AudioInput, "0700"), acmeEndpoint("out", devices.AudioOutput, "0700"),
	}}
	p.Catalogue, p.CataloguePath, p.Version, p.Now = cat, "acme.yaml", "1.0", doctorsHour
	p.Sources = []control.Source{{Name: "audio", Condition: "ok", Endpoints: 2}, {Name: "hid", Condition: "ok"}}
	p.Status = &control.Status{Version: "1.0", PID: 4711, Started: doctorsHour.Add(-time.Hour), Generation: 7}
	p.Status.Clients.Sessions = []control.Session{{State: "ready", Transport: "ipc", Socket: "/run/discord-ipc-0", Name: "Discord", PID: 4712, Generation: 7, Devices: 2, Delivered: doctorsHour.Add(-time.Minute)}}
	return p
}

func acmeEndpoint(id string, typ devices.Type, pid string) devices.Endpoint {
	return devices.Endpoint{Source: "audio", ID: id, Type: typ, Name: "Acme " + id, Bus: devices.USB, VID: "1209", PID: pid, Container: "usb-" + pid, Mute: devices.False}
}

// studio exchanges the headset for the microphone whose mute has to be a switch in the device.
func (p *patient) studio(set func(*devices.Endpoint)) {
	e := acmeEndpoint("studio", devices.AudioInput, "0710")
	set(&e)
	p.endpoints = []devices.Endpoint{e}
}

// session exchanges the client.
func (p *patient) session(s control.Session) { p.Status.Clients.Sessions = []control.Session{s} }

// alone takes the agent away.
func (p *patient) alone(err error) { p.Status, p.AgentErr = nil, err }

// push has the vendor's software say something, as the agent shows it and as it acts on it.
func (p *patient) push(units int, product, owner string, f devices.Field, since time.Time) {
	state := map[devices.Field]devices.Tri{f: devices.True}
	p.Status.Pushes = append(p.Status.Pushes, control.Push{Product: product, Owner: owner, State: state, Units: units})
	p.pushes = append(p.pushes, devices.Push{Product: product, Owner: owner, State: state, Since: map[devices.Field]time.Time{f: since}})
}

// diagnose resolves the endpoints as the agent does, and judges.
func (p *patient) diagnose(t *testing.T) []finding {
	t.Helper()
	cat := p.Catalogue
	if cat == nil {
		cat = &catalogue.Catalogue{}
	}
	r, err := catalogue.NewResolver(cat, devices.Options{OS: devices.Linux, IDMaxBytes: p.idBytes, Fields: p.fields})
	require.NoError(t, err)
	in := devices.Inputs{Endpoints: p.endpoints, Pushes: p.pushes}
	s, considered := r.Resolve(in), r.Explain(in)
	p.Devices = control.Devices{Reported: s.Devices, Withheld: s.Withheld}
	for _, e := range p.endpoints {
		p.Devices.Endpoints = append(p.Devices.Endpoints, control.Endpoint{Endpoint: e, Considered: considered[e.Key()]})
	}
	return diagnose(p.doctorInput)
}

func inJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestDiagnose(t *testing.T) {
	long := strings.Repeat("Acme ", 30)
	cases := []struct {
		name    string
		set     func(*patient)
		at      station
		how     severity
		message string // part of it
		remedy  string // part of it; "" = there is none
	}{
		{"agent", func(*patient) {}, stepAgent, fine, "runs as process 4711, for 1h0m0s", ""},
		{"no agent", func(p *patient) { p.alone(fmt.Errorf("%w (refused)", control.ErrNotRunning)) }, stepAgent, wrong, "No agent runs", "'sidetone run --catalogue FILE'"},
		{"reads itself", func(p *patient) { p.alone(control.ErrNotRunning) }, stepAgent, hint, "read by this command itself", "Start the agent"},
		{"an agent that cannot be asked", func(p *patient) { p.alone(errors.New("no answer in time")) }, stepAgent, wrong, "could not be asked: no answer in time", "restart the agent"},
		{"another version", func(p *patient) { p.Version = "1.1" }, stepAgent, doubtful, "version 1.0, this command is 1.1", "Restart the agent"},

		{"settings", func(*patient) {}, stepSettings, fine, "acme.yaml are in order; it has 4 products of Acme Audio", ""},
		{"mistake in the settings", func(p *patient) {
			p.Problems = []strictyaml.Problem{{File: "config.yaml", Line: 3, Column: 16, Message: "unknown value"}}
		}, stepSettings, wrong, "config.yaml:3:16: unknown value", "'sidetone config check'"},
		{"mistake in the catalogue", func(p *patient) {
			p.Catalogue, p.Problems = nil, []strictyaml.Problem{{File: "acme.yaml", Line: 20, Column: 15, Message: "want a whole number"}}
		}, stepSettings, wrong, "acme.yaml:20:15: want a whole number", "'sidetone catalogue check acme.yaml' finds nothing; then have the agent read it again (kill -HUP 4711"},
		{"no catalogue", func(p *patient) { p.alone(control.ErrNotRunning); p.Catalogue, p.CataloguePath = nil, "" }, stepSettings, wrong, "No catalogue is set", "SIDETONE_CATALOGUE"},
		{"another catalogue that cannot be read", func(p *patient) {
			p.OwnCatalogue, p.OwnProblems = "/nope.yaml", []strictyaml.Problem{{File: "/nope.yaml", Message: "cannot read the file, file does not exist"}}
		}, stepSettings, wrong, "/nope.yaml: cannot read the file", "'sidetone catalogue check /nope.yaml' finds nothing, or leave it out"},
		{"silent agent", func(p *patient) { p.alone(fmt.Errorf("%w (late)", control.ErrSilent)) }, stepAgent, wrong, "does not answer", "End it and start it again"},
		{"another catalogue", func(p *patient) { p.OwnCatalogue = "/new.yaml" }, stepSettings, doubtful, "which name /new.yaml", "restart the agent"},

		{"source", func(*patient) {}, stepSources, fine, "source audio works; it lists 2 endpoints", ""},
		{"no source", func(p *patient) { p.Sources = nil }, stepSources, wrong, "Nothing is asked", "sources.audio"},
		{"source that starts", func(p *patient) { p.Sources[0].Condition = "starting" }, stepSources, doubtful, "has not answered yet", "Run this again"},
		{"sound server away", func(p *patient) { p.Sources[0] = control.Source{Name: "audio", Condition: "waiting", Error: "refused"} }, stepSources, wrong, "cannot be read, so what it would list is unknown: refused", "Start the sound server"},
		{"camera fails", func(p *patient) { p.Sources[0] = control.Source{Name: "camera", Condition: "failing", Error: "gone"} }, stepSources, wrong, "source camera cannot be read", "sources.camera"},
		{"bad file", func(p *patient) {
			p.Sources[0] = control.Source{Name: "file:/e.yaml", Condition: "failing", Error: "bad"}
		}, stepSources, wrong, "file:/e.yaml", "Correct /e.yaml"},
		{"sources cannot be opened", func(p *patient) { p.Sources[0] = control.Source{Name: "all", Condition: "failing", Error: "bad"} }, stepSources, wrong, "source all", "'sidetone config show'"},
		{"permission", func(p *patient) {
			p.Sources[0].Notes = []string{"the switches of a sound card are unknown: open the sound card's controls /dev/snd/controlC1: permission denied"}
		}, stepSources, doubtful, "permission denied", "Let this user read /dev/snd/controlC1: "},
		{"permission to a camera", func(p *patient) {
			p.Sources[0].Notes = []string{"/dev/video0 (Acme) is left out: open /dev/video0: permission denied; this user needs access"}
		}, stepSources, doubtful, "is left out", "'ls -l /dev/video0'"},
		{"permission to what is not named", func(p *patient) { p.Sources[0].Notes = []string{"permission denied"} }, stepSources, doubtful, "permission denied", "ls -l"},
		{"miniaudio", func(p *patient) { p.Sources[0].Notes = []string{"miniaudio hangs"} }, stepSources, hint, "miniaudio hangs", "Nothing to do"},

		{"device", func(*patient) {}, stepDevices, fine, `Acme Headset 700 is plugged in, as audioinput "Acme mic", audiooutput "Acme out"`, ""},
		{"nothing plugged in", func(p *patient) { p.endpoints = nil }, stepDevices, wrong, "No product of the catalogue is plugged in", "Plug one in"},
		{"nothing plugged in, as far as can be seen", func(p *patient) { p.endpoints, p.Sources[0].Condition = nil, "failing" }, stepDevices, doubtful, "No product", "source that does not work first"},
		{"nothing plugged in yet", func(p *patient) { p.endpoints, p.Sources[0].Condition = nil, "starting" }, stepDevices, doubtful, "No product", "Run this again"},
		{"the vendor's, not in the catalogue", func(p *patient) {
			p.endpoints = []devices.Endpoint{acmeEndpoint("new", devices.AudioInput, "07ff")}
		}, stepDevices, wrong, `"Acme new" (USB id 1209:07ff) is of this vendor, but no product`, `add the id "07ff" to the pids`},
		{"the same beside a product", func(p *patient) {
			p.endpoints = append(p.endpoints, acmeEndpoint("new", devices.AudioInput, "07ff"))
		}, stepDevices, doubtful, "1209:07ff", "pids"},
		{"withheld", func(p *patient) {
			p.endpoints = append(p.endpoints, acmeEndpoint("cam", devices.VideoInput, "0700"))
		}, stepDevices, hint, `videoinput "Acme cam" is not reported: the catalogue reports no videoinput`, "change endpoints"},
		{"withheld, nothing else", func(p *patient) { p.endpoints = []devices.Endpoint{acmeEndpoint("cam", devices.VideoInput, "0700")} }, stepDevices, doubtful, "is not reported", "change endpoints"},
		{"empty jack", func(p *patient) { p.endpoints[0].Plugged = devices.False }, stepDevices, hint, "nothing is plugged into its jack", "Push the plug"},
		{"two of one id", func(p *patient) {
			e := p.endpoints[0]
			e.ID, e.Container = "mic2", "usb-2"
			p.endpoints = append(p.endpoints, e)
		}, stepDevices, doubtful, `2 devices of type audioinput go by the one id "Acme mic"`, "give each a name of its own"},
		{"long name", func(p *patient) { p.endpoints[0].Name = long }, stepDevices, doubtful, "has 150 bytes, of which 127 are sent", "shorter name"},
		{"long name that is not cut", func(p *patient) { p.endpoints[0].Name, p.idBytes = long, 0 }, stepDevices, doubtful, "has 150 bytes, of which 150 are sent", "shorter name"},
		{"withheld, of its sound", func(p *patient) {
			p.endpoints = append(p.endpoints, acmeEndpoint("mix", devices.AudioInput, "0700"))
			p.endpoints[2].Virtual = true
		}, stepDevices, hint, `"Acme mix" is not reported: virtual`, "virtual_endpoints"},
		{"name begins with default", func(p *patient) { p.endpoints[0].Name = "Default Mic" }, stepDevices, doubtful, `"Default Mic" begins with "default"`, "Rename it"},

		{"not muted", func(*patient) {}, stepFlags, fine, `"Acme mic" is not muted, says os_endpoint_mute (mic, set by the button or in the sound settings)`, "Press the button"},
		{"muted", func(p *patient) { p.endpoints[0].Mute = devices.True }, stepFlags, fine, `"Acme mic" is muted, says os_endpoint_mute (mic, set by the button or in the sound settings)`, "Press the button"},
		{"mute in software", func(*patient) {}, stepFlags, hint, "in software, as the catalogue allows", "require_hardware_support: false"},
		{"stale mute", func(p *patient) { p.endpoints[0].Stale = true }, stepFlags, doubtful, "not muted is the last word of a source that fails now", "See why the source fails"},
		{"mute is not reported", func(p *patient) { p.fields = []devices.Field{devices.NoiseSuppression} }, stepFlags, wrong, "report.fields leaves it out", "Add hardware_mute to report.fields"},
		{"no source of a mute", func(p *patient) { p.endpoints = []devices.Endpoint{acmeEndpoint("cam", devices.AudioInput, "0720")} }, stepFlags, doubtful, "names no source for it", "'sidetone push acme-webcam hardware_mute=true'"},
		{"software mute where a switch is demanded", func(p *patient) { p.studio(func(*devices.Endpoint) {}) }, stepFlags, wrong, "sources[0]: the system's mute of this endpoint is no switch in the device", "'sidetone push acme-studio-mic hardware_mute=true'"},
		{"mixer unreadable", func(p *patient) { p.studio(func(*devices.Endpoint) {}) }, stepFlags, wrong, `sources[1]: the switches of the device's mixer cannot be read, such as "Capture Volume Capture Switch"`, "push"},
		{"no such switch", func(p *patient) {
			p.Catalogue.Products[1].Sources = p.Catalogue.Products[1].Sources[1:]
			p.studio(func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"AGC": devices.True} })
		}, stepFlags, wrong, `no switch "Capture Volume Capture Switch"; it has "AGC"`, "Correct the name in the catalogue's sources[0] of acme-studio-mic"},
		{"mixer unreadable, the only source", func(p *patient) {
			p.Catalogue.Products[1].Sources = p.Catalogue.Products[1].Sources[1:]
			p.studio(func(*devices.Endpoint) {})
		}, stepFlags, wrong, "cannot be read", "/dev/snd"},
		{"the system does not tell", func(p *patient) { p.endpoints[0].Mute = devices.Unknown }, stepFlags, wrong, "the system does not tell the mute", "'sidetone explain mic'"},
		{"HID device that cannot be read", func(p *patient) {
			p.HID = []control.HID{{Node: "hidraw3", Name: "Acme", VID: "1209", PID: "0700", Interface: 3, Error: "no permission to read /dev/hidraw3"}}
		}, stepSources, wrong, "hidraw3 (Acme, 1209:0700) cannot be read, so its buttons are not noticed: no permission", "'sidetone catalogue udev acme.yaml'"},
		{"mute on a HID device that cannot be read", func(p *patient) {
			p.endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Error: "no permission to read /dev/hidraw3"}}
		}, stepFlags, wrong, "sources[0]: its HID device hidraw3 cannot be read", "/etc/udev/rules.d"},
		{"mute that a HID device has not shown", func(p *patient) {
			p.endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage"}}}}
		}, stepFlags, wrong, "sources[0]: the device (hidraw3) has not shown it", "Press the button once; if that does not help, unplug the device and plug it in again"},
		{"mute on HID devices that are not read", func(p *patient) {
			p.endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, stepFlags, wrong, "sources[0]: the agent reads no HID devices", "sources.hid"},
		{"mute on HID devices, read by this command itself", func(p *patient) {
			p.alone(control.ErrNotRunning)
			p.endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, stepFlags, wrong, "sources[0]: no HID device of the product is there", "'sidetone explain mic'"},
		{"mute derived from what is no HID device", func(p *patient) {
			mute := catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}
			p.Catalogue.Products[0].Sources[0].SourceKind = catalogue.SourceKind{Derive: &catalogue.Derive{Or: []catalogue.SourceKind{mute, mute}}}
			p.endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, stepFlags, wrong, "sources[0]: os_endpoint_mute: the system does not tell the mute of this endpoint", "'sidetone explain mic'"},
		{"mute whose source has a remark", func(p *patient) {
			p.endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage", Note: "a remark"}}}}
		}, stepFlags, wrong, "sources[0]: hidraw3: a remark", "'sidetone learn'"},
		{"HID device", func(p *patient) {
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage", Value: devices.True}}}}
		}, stepSources, fine, "hidraw3 (without a name, 1209:0700) is read; sources of the catalogue that look at it: 1", ""},
		{"HID devices cannot be looked for", func(p *patient) {
			p.Sources = append(p.Sources, control.Source{Name: "hid", Condition: "failing", Error: "no sysfs"})
		}, stepSources, wrong, "HID devices cannot be looked for: no sysfs", "sources.hid"},
		{"state file", func(p *patient) {
			p.Sources = append(p.Sources, control.Source{Name: "state-file", Condition: "ok", Notes: []string{"states.json:1:1: not JSON"}})
		}, stepSources, doubtful, "state-file says: states.json:1:1: not JSON", "push.state_file"},
		{"state file that works", func(p *patient) {
			p.Sources = append(p.Sources, control.Source{Name: "state-file", Condition: "ok"})
		}, stepSources, fine, "The source state-file works; it pushes what its file says.", ""},
		{"other flags unknown", func(*patient) {}, stepFlags, hint, "echo_cancellation (sources[2] of acme-headset-700), noise_suppression (sources[3] of acme-headset-700), automatic_gain_control (sources[4], sources[5] of acme-headset-700)", "'sidetone explain mic'"},

		{"push", func(p *patient) { p.push(1, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour) }, stepPushes, fine, "What suite pushes for acme-headset-700 is in force: hardware_mute true", ""},
		{"a pushed mute", func(p *patient) { p.push(1, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour) }, stepFlags, fine, "is muted on the hardware, says push (suite)", "Press the button"},
		{"push that waits", func(p *patient) { p.push(0, "acme-studio-mic", "suite", devices.HardwareMute, doctorsHour) }, stepPushes, doubtful, "no such product is plugged in", "compare the product's id"},
		{"push for another unit", func(p *patient) {
			twins(p, "A1", "A2")
			p.push(0, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour)
			p.Status.Pushes[0].Serial = "A3"
		}, stepPushes, doubtful, "(A3) waits: what is plugged in of that product has other serial numbers: A1, A2", "give one of those"},
		{"push for a unit that has no serial", func(p *patient) {
			p.push(0, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour)
			p.Status.Pushes[0].Serial = "A3"
		}, stepPushes, doubtful, "has other serial numbers: none is known", "plug that unit in"},
		{"ambiguous push", func(p *patient) { p.push(2, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour) }, stepPushes, wrong, "2 products that are plugged in could be meant", "serial of the one that it means (none is known)"},
		{"ambiguous push for units that have serials", func(p *patient) {
			twins(p, "A1", "A2")
			p.push(2, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour)
		}, stepPushes, wrong, "could be meant", "(A1, A2)"},
		{"push without effect", func(p *patient) {
			p.push(1, "acme-headset-700", "old", devices.HardwareMute, doctorsHour)
			p.push(1, "acme-headset-700", "suite", devices.HardwareMute, doctorsHour.Add(time.Second))
		}, stepPushes, doubtful, "What old pushes for acme-headset-700 has no effect on hardware_mute", "'sidetone explain'"},

		{"client", func(*patient) {}, stepClients, fine, "Discord (pid 4712) over ipc /run/discord-ipc-0 has accepted the latest list, of 2 devices, 1m0s ago", ""},
		{"client that lags", func(p *patient) { p.Status.Generation = 8 }, stepClients, doubtful, "has not accepted the latest list yet", "restart the client"},
		{"no client", func(p *patient) {
			p.Status.Clients = control.Clients{Error: "no client found on any IPC socket", Remedy: "start the client"}
		}, stepClients, wrong, "No client found on any IPC socket", "Start the client"},
		{"no search yet", func(p *patient) { p.Status.Clients = control.Clients{} }, stepClients, doubtful, "none has been found yet", "Run this again"},
		{"no client and no remedy", func(p *patient) { p.Status.Clients = control.Clients{Error: "no client"} }, stepClients, wrong, "No client", "Start the client"},
		{"degraded", func(p *patient) {
			p.session(control.Session{State: "degraded", Transport: "http", Port: 6463, Generation: 7, NextTry: doctorsHour.Add(20 * time.Second), Remedy: "it needs IPC"})
		}, stepClients, doubtful, "A client over http on port 6463 is told of changes late: it has the latest list, and takes the next one in 20s", "It needs IPC"},
		{"degraded and late", func(p *patient) { p.session(control.Session{State: "degraded", Port: 6463}) }, stepClients, doubtful, "it does not have the latest list yet", "rpc.transports"},
		{"slow", func(p *patient) {
			p.session(control.Session{State: "slow", Port: 6463, Since: doctorsHour.Add(-12 * time.Second), Muted: []string{"Mic"}})
		}, stepClients, wrong, "A client on port 6463 hangs, and may show an older state: no answer for 12s, may take for muted: Mic", "restart the client"},
		{"connecting", func(p *patient) { p.session(control.Session{State: "connecting", Port: 6463, Error: "no answer"}) }, stepClients, doubtful, "has no list yet: no answer", "Run this again"},
		{"unsupported", func(p *patient) { p.session(control.Session{State: "unsupported", Port: 6463}) }, stepClients, wrong, "does not know certified devices", "Use the official client"},
		{"unsupported beside another", func(p *patient) {
			p.Status.Clients.Sessions = append(p.Status.Clients.Sessions, control.Session{State: "unsupported", Port: 6463})
		}, stepClients, hint, "does not know certified devices", "Use the official client"},
		{"refused", func(p *patient) {
			p.Status.Clients.Sessions = append(p.Status.Clients.Sessions, control.Session{State: "refused", Port: 6463, Error: "invalid client id", Remedy: "check vendor.client_id"})
		}, stepClients, wrong, "A client on port 6463 refuses: invalid client id", "Check vendor.client_id"},
		{"refused without a remedy", func(p *patient) { p.session(control.Session{State: "refused", Port: 6463}) }, stepClients, wrong, "refuses", "'sidetone bundle FILE.zip --yes'"},
		{"foreign", func(p *patient) { p.session(control.Session{State: "foreign", Port: 6463}) }, stepClients, wrong, "belongs to another user", "that user's session"},
		{"waiting", func(p *patient) { p.session(control.Session{State: "waiting", Port: 6463}) }, stepClients, wrong, "is not served", "rpc.clients"},
		{"port held", func(p *patient) {
			p.Status.Clients = control.Clients{Error: "no client found", Notes: []string{"port 6463 is held by another program: nginx"}}
		}, stepClients, doubtful, "port 6463 is held by another program: nginx", "end that program"},
		{"file in a socket's place", func(p *patient) {
			p.Status.Clients.Notes = []string{"/run/discord-ipc-1 is a file and not a client's socket: remove it"}
		}, stepClients, hint, "discord-ipc-1 is a file", "Do as it says"},

		{"selected input", func(*patient) {}, stepUser, hint, `only while that is selected, and never while "Default" is`, `set the input device to "Acme mic" itself`},
		{"in a call", func(*patient) {}, stepUser, hint, "only in a call, only if you are not muted in the client, and only if it is not switched off", "Join a voice channel"},
		{"default microphone", func(p *patient) { p.endpoints[0].Default = true }, stepUser, hint, `"Acme mic" is the system's default microphone`, `Set it to "Acme mic"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := newPatient(t)
			c.set(p)
			found := p.diagnose(t)
			matches := func(f finding) bool {
				return f.Step == c.at && f.Severity == c.how && strings.Contains(f.Message, c.message) && (c.remedy == "") == (f.Remedy == "") && strings.Contains(f.Remedy, c.remedy)
			}
			n := 0
			for _, f := range found {
				if matches(f) {
					n++
				}
				require.True(t, f.Severity == fine || f.Remedy != "", "a finding without a remedy: %+v", f)
				require.Regexp(t, `^[^\n]+\.$`, f.Message)
				require.Regexp(t, `^([^a-z\n].*\.)?$`, f.Remedy)
			}
			require.Equal(t, 1, n, "%s", inJSON(found))
		})
	}
}

// TestDiagnoseWell: where all is well nothing else is said, and the user's part is.
func TestDiagnoseWell(t *testing.T) {
	found := newPatient(t).diagnose(t)
	require.False(t, anyWrong(found))
	var steps []station
	for _, f := range found {
		require.Contains(t, []severity{fine, hint}, f.Severity, f)
		steps = append(steps, f.Step)
	}
	require.Equal(t, []station{stepAgent, stepSettings, stepSources, stepDevices, stepFlags, stepFlags, stepFlags, stepClients, stepUser, stepUser}, steps, "in the order of the way")
}

// TestDiagnoseOneCause: a cause is not hidden behind what follows from it.
func TestDiagnoseOneCause(t *testing.T) {
	only := func(name, want string, set func(*patient)) {
		t.Run(name, func(t *testing.T) {
			p := newPatient(t)
			set(p)
			var problems []string
			for _, f := range p.diagnose(t) {
				require.NotEqual(t, stepUser, f.Step, "the user can do nothing yet")
				if f.Severity == wrong {
					problems = append(problems, f.Message)
				}
			}
			require.Len(t, problems, 1)
			require.Contains(t, problems[0], want)
		})
	}
	only("a new model with two endpoints", "1209:07ff", func(p *patient) {
		p.endpoints = []devices.Endpoint{acmeEndpoint("mic", devices.AudioInput, "07ff"), acmeEndpoint("out", devices.AudioOutput, "07ff")}
	})
	only("no agent", "No agent runs", func(p *patient) { p.alone(control.ErrNotRunning) })
	only("somebody else's devices", "No product of the catalogue", func(p *patient) {
		p.endpoints[0].VID, p.endpoints[1].VID = "046d", ""
		p.endpoints[1].Virtual = true
	})
}

func TestDiagnoseVirtual(t *testing.T) {
	p := newPatient(t)
	p.endpoints = append(p.endpoints, devices.Endpoint{Source: "audio", ID: "cleaned", Name: "Echo-Cancel", Type: devices.AudioInput, Virtual: true, Master: "mic"})
	found := p.diagnose(t)
	require.Contains(t, inJSON(found), `\"Echo-Cancel\" is not muted, says os_endpoint_mute (mic, set by the button or in the sound settings)`)
	require.False(t, anyWrong(found), inJSON(found))
}

// TestDiagnoseOldCatalogue: the agent goes on with its catalogue when the file is broken.
func TestDiagnoseOldCatalogue(t *testing.T) {
	p := newPatient(t)
	p.endpoints[0].Mute = devices.Unknown
	p.diagnose(t)
	p.Catalogue = nil
	all := inJSON(diagnose(p.doctorInput))
	require.Contains(t, all, "Acme Headset 700 is plugged in")
	require.Contains(t, all, "sources[0]: its kind is not known, because acme.yaml cannot be read or has changed")
}

// TestDiagnoseCamera: an id that is no name is not judged as one.
func TestDiagnoseCamera(t *testing.T) {
	p := newPatient(t)
	p.endpoints = []devices.Endpoint{acmeEndpoint("cam", devices.VideoInput, "0720")}
	p.endpoints[0].Name, p.endpoints[0].BusInfo = strings.Repeat("default ", 20), "usb-1"
	for _, f := range p.diagnose(t) {
		require.Equal(t, fine, f.Severity, f)
	}
}

// TestDiagnoseOddAnswers: an agent of another version may leave anything out.
func TestDiagnoseOddAnswers(t *testing.T) {
	d := control.Devices{
		Reported: []devices.Report{{Device: devices.Device{Type: devices.AudioInput}}},
		Withheld: []devices.Withheld{{}},
	}
	st := &control.Status{Sources: []control.Source{{}}, Pushes: []control.Push{{Units: 1}}, Clients: control.Clients{Sessions: []control.Session{{}}, Notes: []string{""}}}
	require.NotEmpty(t, diagnose(doctorInput{Status: st, Sources: st.Sources, Devices: d}))
	require.NotEmpty(t, diagnose(doctorInput{}))
}

// TestDiagnoseStateFile: a source that lists no endpoints is not said to list none, and not to work
// just above what is wrong with it.
func TestDiagnoseStateFile(t *testing.T) {
	p := newPatient(t)
	p.Sources = append(p.Sources, control.Source{Name: "state-file", Condition: "ok", Notes: []string{"states.json:1:1: not JSON"}})
	all := inJSON(p.diagnose(t))
	require.Contains(t, all, "The source state-file says: states.json:1:1: not JSON")
	require.NotContains(t, all, "state-file works")
}

func TestPrintFindings(t *testing.T) {
	var b strings.Builder
	require.NoError(t, printFindings(&b, []finding{
		{stepAgent, fine, "It runs.", ""}, {stepSources, doubtful, "Odd\x1b[31m.", "Look."}, {stepSources, wrong, "Bad.", "Do."},
	}))
	require.Equal(t, `agent
  ok       It runs.
sources
  warning  Odd�[31m.
           -> Look.
  problem  Bad.
           -> Do.

problems: 1, warnings: 1
`, b.String())
	b.Reset()
	require.NoError(t, printFindings(&b, []finding{{stepAgent, fine, "It runs.", ""}}))
	require.Contains(t, b.String(), "\nnothing is wrong, warnings: 0\n")
}

// TestDoctorReadsFiles: mistakes in files are findings, with their place; those of the command
// line are bad input.
func TestDoctorReadsFiles(t *testing.T) {
	endpoints := write(t, "endpoints.json", `{"endpoints": [{"id": "mic", "type": "audioinput", "name": "Acme", "bus": "usb", "vid": "1209", "pid": "0700", "mute": true}]}`)
	alone := []string{"doctor", "--control-socket", filepath.Join(t.TempDir(), "none"), "--sources-audio=false", "--sources-camera=false", "--sources-files", endpoints}
	ask := func(args ...string) (doctorAnswer, string) {
		t.Helper()
		o := sidetone(t, nil, append(append(alone, "--json"), args...)...)
		require.Equal(t, exitFailed, o.code, o.stderr)
		require.Empty(t, o.stderr)
		var a doctorAnswer
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &a), o.stdout)
		require.False(t, a.OK)
		return a, o.stdout
	}
	bad, settings := acme(t, "priority: 1", "priority: first"), write(t, "config.yaml", "rpc:\n  transports: [pigeon]\n")
	_, out := ask("--catalogue", bad, "--config", settings)
	require.Contains(t, out, bad+":20:15: ")
	require.Contains(t, out, settings+":2:16: ")
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	_, out = ask("--catalogue", missing)
	require.Contains(t, out, missing+": cannot read the file, ")

	a, out := ask("--catalogue", acme(t, "schema: 1", "schema: 1"))
	require.Contains(t, out, `\"Acme\" is muted, says os_endpoint_mute`)
	for _, f := range a.Findings {
		require.True(t, f.Severity != wrong || f.Step == stepAgent, f)
	}
	isBadInput(t, sidetone(t, nil, append(alone, "--rpc-ports", "0")...), "--rpc-ports")
	isBadInput(t, sidetone(t, nil, append(alone, "--config", missing)...), missing)
	isBadInput(t, sidetone(t, nil, append(alone, "--config", settings, "--report-id-max-bytes", "1")...), "--report-id-max-bytes")
	isBadInput(t, sidetone(t, nil, "doctor", "headset"), `"headset"`)
}
