package doctor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/strictyaml"
)

// examine is what doctor says of the machine, every condition whole.
func examine(t *testing.T, p *doctortest.Machine) []control.Condition {
	t.Helper()
	p.Resolve(t)
	found := doctor.Examine(p.Facts)
	for _, c := range found {
		require.NoError(t, health.English.Check(c), "%+v", c)
	}
	healthtest.Raised(t, found...)
	return control.ConditionsOf(found)
}

func wrong(found []control.Condition) bool {
	return slices.ContainsFunc(found, func(c control.Condition) bool { return c.Severity == health.Problem })
}

// because is why something is as it is.
func because(code health.Code, reason string, args health.Args) *control.Condition {
	return control.ConditionOf(&health.Wrap(errors.New(reason), code, health.Warning, args).Condition)
}

// said is a reason that has only words.
func said(words string) *control.Condition { return control.ConditionOf(new(health.Unnamed(words))) }

// remark has the first source say something.
func remark(p *doctortest.Machine, c *control.Condition) {
	p.Sources[0].Remarks = []control.Condition{*c}
}

var portHeld = health.Condition{
	Code: health.PortHeld, Severity: health.Warning, Args: health.Args{"port": "6463", "program": "nginx", "pid": "4713", "reason": "it is none"},
}

var hidDenied = control.ConditionOf(&health.Condition{Code: health.HIDDenied, Args: health.Args{"path": "/dev/hidraw3"}})

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
		set     func(*doctortest.Machine)
		at      string
		how     health.Severity
		message string // part of it
		remedy  string // part of it; "" = there is none
	}{
		{"agent", func(*doctortest.Machine) {}, "agent", health.OK, "runs as process 4711, for 1 h", ""},
		{"no agent", func(p *doctortest.Machine) { p.Alone(fmt.Errorf("%w (refused)", control.ErrNotRunning)) }, "agent", health.Problem, "No agent runs", "'sidetone run --catalogue FILE'"},
		{"reads itself", func(p *doctortest.Machine) { p.Alone(control.ErrNotRunning) }, "agent", health.Info, "read by this command itself", "Start the agent"},
		{"an agent that cannot be asked", func(p *doctortest.Machine) { p.Alone(errors.New("no answer in time")) }, "agent", health.Problem, "could not be asked: no answer in time", "restart the agent"},
		{"another version", func(p *doctortest.Machine) { p.Version = "1.1" }, "agent", health.Warning, "version 1.0, this command is 1.1", "Restart the agent"},

		{"settings", func(*doctortest.Machine) {}, "settings", health.OK, "acme.yaml are in order; it has 4 products of Acme Audio", ""},
		{"mistake in the settings", func(p *doctortest.Machine) {
			p.Problems = []strictyaml.Problem{{File: "config.yaml", Line: 3, Column: 16, Message: "unknown value"}}
		}, "settings", health.Problem, "config.yaml:3:16: unknown value", "'sidetone config check'"},
		{"mistake in the catalogue", func(p *doctortest.Machine) {
			p.Catalogue, p.Problems = nil, []strictyaml.Problem{{File: "acme.yaml", Line: 20, Column: 15, Message: "want a whole number"}}
		}, "settings", health.Problem, "acme.yaml:20:15: want a whole number", "'sidetone catalogue check acme.yaml' finds nothing; then make the agent reload it (kill -HUP 4711"},
		{"no catalogue", func(p *doctortest.Machine) { p.Alone(control.ErrNotRunning); p.Catalogue, p.CataloguePath = nil, "" }, "settings", health.Problem, "No catalogue is set", "SIDETONE_CATALOGUE"},
		{"another catalogue that cannot be read", func(p *doctortest.Machine) {
			p.OwnCatalogue, p.OwnProblems = "/nope.yaml", []strictyaml.Problem{{File: "/nope.yaml", Message: "cannot read the file, file does not exist"}}
		}, "settings", health.Problem, "/nope.yaml: cannot read the file", "'sidetone catalogue check /nope.yaml' finds nothing, or remove it from the settings"},
		{"silent agent", func(p *doctortest.Machine) { p.Alone(fmt.Errorf("%w (late)", control.ErrSilent)) }, "agent", health.Problem, "does not answer", "End it and start it again"},
		{"service that does not run", func(p *doctortest.Machine) {
			p.Service = &doctor.Service{Path: "/u/agent.service", Installed: true}
		}, "agent", health.Warning, "start at log-in (/u/agent.service), but does not run that way", "'sidetone service start'"},
		{"service whose program is gone", func(p *doctortest.Machine) {
			p.Service = &doctor.Service{Path: "/u/agent.service", Installed: true, Running: true, Missing: "/nix/store/old/agent"}
		}, "agent", health.Problem, "(/u/agent.service) names a program that is not there: /nix/store/old/agent", "'sidetone service install' again"},
		{"no service", func(p *doctortest.Machine) { p.Service = &doctor.Service{} }, "agent", health.Info, "not installed to start at log-in", "'sidetone service install'"},
		{"another catalogue", func(p *doctortest.Machine) { p.OwnCatalogue = "/new.yaml" }, "settings", health.Warning, "another catalogue than /new.yaml", "restart the agent"},

		{"source", func(*doctortest.Machine) {}, "sources", health.OK, "source audio works; it lists 2 endpoints", ""},
		{"no source", func(p *doctortest.Machine) { p.Sources = nil }, "sources", health.Problem, "No source of devices is enabled", "sources.audio"},
		{"source that starts", func(p *doctortest.Machine) { p.Sources[0].Condition = "starting" }, "sources", health.Warning, "has not answered yet", "Run this again"},
		{"sound server away", func(p *doctortest.Machine) {
			p.Sources[0] = control.Source{Name: "audio", Condition: "waiting", Reason: because(health.SoundServerAway, "refused", nil)}
		}, "sources", health.Problem, "cannot be read, so what it would list is unknown: refused", "Start the sound server"},
		{"camera fails", func(p *doctortest.Machine) {
			p.Sources[0] = control.Source{Name: "camera", Condition: "failing", Reason: because(health.CamerasUnreadable, "gone", nil)}
		}, "sources", health.Problem, "source camera cannot be read", "sources.camera"},
		{"bad file", func(p *doctortest.Machine) {
			p.Sources[0] = control.Source{Name: "file:/e.yaml", Condition: "failing", Reason: because(health.EndpointFileWrong, "bad", health.Args{"path": "/e.yaml"})}
		}, "sources", health.Problem, "file:/e.yaml", "Correct /e.yaml"},
		{"sources cannot be opened", func(p *doctortest.Machine) {
			p.Sources[0] = control.Source{Name: "all", Condition: "failing", Reason: because(health.SourcesNotOpened, "bad", nil)}
		}, "sources", health.Problem, "source all", "'sidetone config show'"},
		{"permission", func(p *doctortest.Machine) {
			denied := because(health.AccessDenied, "open the sound card's controls /dev/snd/controlC1: permission denied", health.Args{"path": "/dev/snd/controlC1"})
			p.Sources[0].Remarks = control.ConditionsOf([]health.Condition{{Code: health.SoundCardUnreadable, Severity: health.Warning, Because: []health.Condition{denied.Condition}}})
		}, "sources", health.Warning, "permission denied", "Let this user read /dev/snd/controlC1: "},
		{"permission to a camera", func(p *doctortest.Machine) {
			remark(p, because(health.CameraDenied, "open /dev/video0: permission denied", health.Args{"path": "/dev/video0", "camera": "Acme"}))
		}, "sources", health.Warning, "is left out", "'ls -l /dev/video0'"},
		{"permission to what is not named", func(p *doctortest.Machine) { remark(p, because(health.AccessDenied, "permission denied", nil)) }, "sources", health.Warning, "permission denied", "ls -l"},
		{"ALSA lists", func(p *doctortest.Machine) {
			p.Sources[0].Remarks = control.ConditionsOf([]health.Condition{{Code: health.SoundServerNone, Severity: health.Info}})
		}, "sources", health.Info, "no sound server; ALSA lists", "Nothing to do"},

		{"device", func(*doctortest.Machine) {}, "devices", health.OK, `Acme Headset 700 is plugged in, as Microphone and Headphones or speakers ("Acme mic" and "Acme out")`, ""},
		{"nothing plugged in", func(p *doctortest.Machine) { p.Endpoints = nil }, "devices", health.Problem, "No product of the catalogue is plugged in", "Plug one in"},
		{"nothing plugged in, as far as can be seen", func(p *doctortest.Machine) { p.Endpoints, p.Sources[0].Condition = nil, "failing" }, "devices", health.Warning, "No product", "Repair the failing source first"},
		{"nothing plugged in yet", func(p *doctortest.Machine) { p.Endpoints, p.Sources[0].Condition = nil, "starting" }, "devices", health.Warning, "No product", "Run this again"},
		{"a card without a profile", func(p *doctortest.Machine) {
			p.Endpoints, p.Hardware = nil, []devices.Hardware{doctortest.Card("0700")}
		}, "devices", health.Problem, "Acme 0700 is plugged in, but its profile has no microphone", "Choose a profile with a microphone"},
		{"a card with outputs only", func(p *doctortest.Machine) {
			p.Endpoints, p.Hardware = p.Endpoints[1:], []devices.Hardware{doctortest.Card("0700")}
		}, "devices", health.Problem, "its profile has no microphone", "Choose a profile"},
		{"a card that has outputs only in each profile", func(p *doctortest.Machine) {
			card := doctortest.Card("0700")
			card.OutputsOnly = true
			p.Endpoints, p.Hardware = nil, []devices.Hardware{card}
		}, "devices", health.Warning, "Acme 0700 is plugged in, but none of its profiles has a microphone", "If it has a microphone, the system does not support it"},
		{"a card with outputs only, beside a microphone", func(p *doctortest.Machine) {
			p.Hardware = []devices.Hardware{doctortest.Card("0700"), doctortest.Card("0710")}
		}, "devices", health.Info, "Acme 0710 is plugged in, but its profile has no microphone", "Choose a profile"},
		{"the vendor's, not in the catalogue", func(p *doctortest.Machine) {
			p.Endpoints = []devices.Endpoint{doctortest.Endpoint("new", devices.AudioInput, "07ff")}
		}, "devices", health.Problem, `"Acme new" (USB id 1209:07ff) is a device of this vendor, but no product`, `add the id "07ff" to the pids`},
		{"the same beside a product", func(p *doctortest.Machine) {
			p.Endpoints = append(p.Endpoints, doctortest.Endpoint("new", devices.AudioInput, "07ff"))
		}, "devices", health.Warning, "1209:07ff", "pids"},
		{"withheld", func(p *doctortest.Machine) {
			p.Endpoints = append(p.Endpoints, doctortest.Endpoint("cam", devices.VideoInput, "0700"))
		}, "devices", health.Info, `videoinput "Acme cam" is not reported: the catalogue reports no videoinput`, "change endpoints"},
		{"withheld, nothing else", func(p *doctortest.Machine) {
			p.Endpoints = []devices.Endpoint{doctortest.Endpoint("cam", devices.VideoInput, "0700")}
		}, "devices", health.Warning, "is not reported", "change endpoints"},
		{"empty jack", func(p *doctortest.Machine) { p.Endpoints[0].Plugged = devices.False }, "devices", health.Info, "nothing is plugged into its jack", "Push the plug"},
		{"two of one id", func(p *doctortest.Machine) {
			e := p.Endpoints[0]
			e.ID, e.Container = "mic2", "usb-2"
			p.Endpoints = append(p.Endpoints, e)
		}, "devices", health.Warning, `2 devices of type audioinput share the id "Acme mic"`, "give each a name of its own"},
		{"two cameras of one id", func(p *doctortest.Machine) {
			e := doctortest.Endpoint("cam", devices.VideoInput, "0720")
			e.BusInfo = "usb-8"
			p.Endpoints = append(p.Endpoints, e)
			e.ID, e.Container = "cam2", "usb-2"
			p.Endpoints = append(p.Endpoints, e)
		}, "devices", health.Info, `2 devices of type videoinput share the id "usb-8" and are one device to the client`, "Nothing to do"},
		{"another vendor's of one id", func(p *doctortest.Machine) {
			e := doctortest.Endpoint("foreign", devices.AudioInput, "0001")
			e.VID, e.Name = "1d6b", p.Endpoints[0].Name
			p.Endpoints = append(p.Endpoints, e)
			e.ID = "its second input"
			p.Endpoints = append(p.Endpoints, e)
		}, "devices", health.Warning, `2 devices of type audioinput share the id "Acme mic"`, "give each a name of its own"},
		{"long name", func(p *doctortest.Machine) { p.Endpoints[0].Name = long }, "devices", health.Warning, "has 150 bytes, of which 127 are sent", "shorter name"},
		{"long name that is not cut", func(p *doctortest.Machine) { p.Endpoints[0].Name, p.IDBytes = long, 0 }, "devices", health.Warning, "has 150 bytes, of which 150 are sent", "shorter name"},
		{"withheld, of its sound", func(p *doctortest.Machine) {
			p.Endpoints = append(p.Endpoints, doctortest.Endpoint("mix", devices.AudioInput, "0700"))
			p.Endpoints[2].Virtual = true
		}, "devices", health.Info, `"Acme mix" is not reported: it is virtual`, "virtual_endpoints"},
		{"name begins with default", func(p *doctortest.Machine) { p.Endpoints[0].Name = "Default Mic" }, "devices", health.Warning, `"Default Mic" begins with "default"`, "Rename it"},

		{"not muted", func(*doctortest.Machine) {}, "flags", health.OK, `"Acme mic" is not muted, by the button or in the sound settings (os_endpoint_mute mic)`, "Press the button"},
		{"muted", func(p *doctortest.Machine) { p.Endpoints[0].Mute = devices.True }, "flags", health.OK, `"Acme mic" is muted, by the button or in the sound settings (os_endpoint_mute mic)`, "Press the button"},
		{"mute in software", func(*doctortest.Machine) {}, "flags", health.Info, "in software, as the catalogue allows", "require_hardware_support: false"},
		{"stale mute", func(p *doctortest.Machine) { p.Endpoints[0].Stale = true }, "flags", health.Warning, "not muted, by the last value of a source that now fails", "See why the source fails"},
		{"mute is not reported", func(p *doctortest.Machine) { p.Fields = []devices.Field{devices.NoiseSuppression} }, "flags", health.Problem, "report.fields leaves it out", "Add hardware_mute to report.fields"},
		{"no source of a mute", func(p *doctortest.Machine) {
			p.Endpoints = []devices.Endpoint{doctortest.Endpoint("cam", devices.AudioInput, "0720")}
		}, "flags", health.Warning, "names no source for it", "'sidetone push acme-webcam hardware_mute=true'"},
		{"software mute where a switch is demanded", func(p *doctortest.Machine) { p.Studio(func(*devices.Endpoint) {}) }, "flags", health.Problem, "sources[0]: the system's mute of this endpoint is not a switch in the device", "'sidetone push acme-studio-mic hardware_mute=true'"},
		{"mixer unreadable", func(p *doctortest.Machine) { p.Studio(func(*devices.Endpoint) {}) }, "flags", health.Problem, `sources[1]: the switches of the device's mixer cannot be read, such as "Capture Volume Capture Switch"`, "push"},
		{"no such switch", func(p *doctortest.Machine) {
			p.Catalogue.Products[1].Sources = p.Catalogue.Products[1].Sources[1:]
			p.Studio(func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"AGC": devices.True} })
		}, "flags", health.Problem, `no switch "Capture Volume Capture Switch"; it has "AGC"`, "Correct the name in the catalogue's sources[0] of acme-studio-mic"},
		{"mixer unreadable, the only source", func(p *doctortest.Machine) {
			p.Catalogue.Products[1].Sources = p.Catalogue.Products[1].Sources[1:]
			p.Studio(func(*devices.Endpoint) {})
		}, "flags", health.Problem, "cannot be read", "/dev/snd"},
		{"the system does not tell", func(p *doctortest.Machine) { p.Endpoints[0].Mute = devices.Unknown }, "flags", health.Problem, "the system does not report the mute", "'sidetone explain mic'"},
		{"HID device that cannot be read", func(p *doctortest.Machine) {
			p.HID = []control.HID{{Node: "hidraw3", Name: "Acme", VID: "1209", PID: "0700", Interface: 3, Reason: hidDenied}}
		}, "sources", health.Problem, "hidraw3 (Acme, 1209:0700) cannot be read, so its buttons are not noticed: no permission", "'sidetone catalogue udev acme.yaml'"},
		{"mute on a HID device that cannot be read", func(p *doctortest.Machine) {
			p.Endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Reason: hidDenied}}
		}, "flags", health.Problem, "sources[0]: its HID device hidraw3 cannot be read", "/etc/udev/rules.d"},
		{"mute that a HID device has not shown", func(p *doctortest.Machine) {
			p.Endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage"}}}}
		}, "flags", health.Problem, "sources[0]: the device (hidraw3) has not reported it", "Press the button once; if that does not help, unplug the device and plug it in again"},
		{"mute on HID devices that are not read", func(p *doctortest.Machine) {
			p.Endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, "flags", health.Problem, "sources[0]: the agent reads no HID devices", "sources.hid"},
		{"mute on HID devices, read by this command itself", func(p *doctortest.Machine) {
			p.Alone(control.ErrNotRunning)
			p.Endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, "flags", health.Problem, "sources[0]: no HID device of the product sends", "'sidetone explain mic'"},
		{"mute derived from what is no HID device", func(p *doctortest.Machine) {
			mute := catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}
			p.Catalogue.Products[0].Sources[0].SourceKind = catalogue.SourceKind{Derive: &catalogue.Derive{Or: []catalogue.SourceKind{mute, mute}}}
			p.Endpoints[0].Mute, p.Sources = devices.Unknown, p.Sources[:1]
		}, "flags", health.Problem, "sources[0]: os_endpoint_mute: the system does not report the mute of this endpoint", "'sidetone explain mic'"},
		{"mute whose source has a remark", func(p *doctortest.Machine) {
			p.Endpoints[0].Mute = devices.Unknown
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage", Remark: said("a remark")}}}}
		}, "flags", health.Problem, "sources[0]: hidraw3: a remark", "'sidetone learn'"},
		{"mute whose source has a remark with a code", func(p *doctortest.Machine) {
			silent := control.ConditionOf(&health.Condition{Code: health.HIDSilent, Severity: health.Info})
			source := control.HIDSource{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_query", Remark: silent}
			p.Endpoints[0].Mute, p.HID = devices.Unknown, []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{source}}}
		}, "flags", health.Problem, "sources[0]: hidraw3: the device did not answer the request of this rule", "'sidetone learn'"},
		{"HID device", func(p *doctortest.Machine) {
			p.HID = []control.HID{{Node: "hidraw3", VID: "1209", PID: "0700", Sources: []control.HIDSource{{Product: "acme-headset-700", Rule: "sources[0]", Via: "hid_usage", Value: devices.True}}}}
		}, "sources", health.OK, "hidraw3 (1209:0700) is read; sources of the catalogue that use it: 1", ""},
		{"HID devices cannot be listed", func(p *doctortest.Machine) {
			p.Sources = append(p.Sources, control.Source{Name: "hid", Condition: "failing", Reason: said("no sysfs")})
		}, "sources", health.Problem, "HID devices cannot be listed: no sysfs", "sources.hid"},
		{"other flags unknown", func(*doctortest.Machine) {}, "flags", health.Info, "Echo cancellation, Noise suppression and Automatic gain control (sources[2], sources[3], sources[4] and sources[5] of acme-headset-700)", "'sidetone explain mic'"},

		{"push", func(p *doctortest.Machine) {
			p.Push(1, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
		}, "pushes", health.OK, "What suite pushes for acme-headset-700 is in force: Microphone mute (Muted)", ""},
		{"a pushed mute", func(p *doctortest.Machine) {
			p.Push(1, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
		}, "flags", health.OK, "is muted on the hardware, by the vendor's software (push suite)", "Press the button"},
		{"push that waits", func(p *doctortest.Machine) {
			p.Push(0, "acme-studio-mic", "suite", devices.HardwareMute, doctortest.Now)
		}, "pushes", health.Warning, "no such product is plugged in", "compare the product's id"},
		{"push for another unit", func(p *doctortest.Machine) {
			p.Twins("A1", "A2")
			p.Push(0, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
			p.Status.Pushes[0].Serial = "A3"
		}, "pushes", health.Warning, "(A3) waits: the plugged-in units of that product have other serial numbers: A1 and A2", "give one of those"},
		{"push for a unit that has no serial", func(p *doctortest.Machine) {
			p.Push(0, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
			p.Status.Pushes[0].Serial = "A3"
		}, "pushes", health.Warning, "have other serial numbers: none is known", "plug that unit in"},
		{"ambiguous push", func(p *doctortest.Machine) {
			p.Push(2, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
		}, "pushes", health.Problem, "2 plugged-in products could be meant", "serial of the one that it means (none is known)"},
		{"ambiguous push for units that have serials", func(p *doctortest.Machine) {
			p.Twins("A1", "A2")
			p.Push(2, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
		}, "pushes", health.Problem, "could be meant", "(A1 and A2)"},
		{"push without effect", func(p *doctortest.Machine) {
			p.Push(1, "acme-headset-700", "old", devices.HardwareMute, doctortest.Now)
			p.Push(1, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now.Add(time.Second))
		}, "pushes", health.Warning, "What old pushes for acme-headset-700 has no effect on Microphone mute", "'sidetone explain'"},

		{"client", func(*doctortest.Machine) {}, "clients", health.OK, "Discord (pid 4712) over ipc /run/discord-ipc-0 has accepted the latest list, of 2 devices, 1 min ago", ""},
		{"client that lags", func(p *doctortest.Machine) { p.Status.Generation = 8 }, "clients", health.Warning, "has not accepted the latest list yet", "restart the client"},
		{"no client", func(p *doctortest.Machine) {
			p.Status.Clients = control.Clients{Reason: control.ConditionOf(&health.Condition{Code: health.ClientsNone, Args: health.Args{"sockets": "true"}})}
		}, "clients", health.Problem, "No client found on any IPC socket", "Start the client"},
		{"no search yet", func(p *doctortest.Machine) { p.Status.Clients = control.Clients{} }, "clients", health.Warning, "none has been found yet", "Run this again"},
		{"no client and no remedy", func(p *doctortest.Machine) { p.Status.Clients = control.Clients{Reason: said("no client")} }, "clients", health.Problem, "No client", "Start the client"},
		{"degraded", func(p *doctortest.Machine) {
			p.Session(control.Session{State: "degraded", Transport: "http", Port: 6463, Generation: 7, NextTry: doctortest.Now.Add(20 * time.Second), Reason: control.ConditionOf(&health.Condition{Code: health.ClientOverHTTP, Args: health.Args{"every": "30s"}})})
		}, "clients", health.Warning, "A client over http on port 6463 is told of changes late: it has the latest list, and takes the next one in 20 s", "it needs IPC"},
		{"degraded and late", func(p *doctortest.Machine) { p.Session(control.Session{State: "degraded", Port: 6463}) }, "clients", health.Warning, "it does not have the latest list yet", "rpc.transports"},
		{"slow", func(p *doctortest.Machine) {
			p.Session(control.Session{State: "slow", Port: 6463, Since: doctortest.Now.Add(-12 * time.Second), Muted: []string{"Mic"}})
		}, "clients", health.Problem, "A client on port 6463 hangs, and may show an older state: no answer for 12 s; it may take for muted: \"Mic\"", "restart the client"},
		{"connecting", func(p *doctortest.Machine) {
			p.Session(control.Session{State: "connecting", Port: 6463, Reason: said("no answer")})
		}, "clients", health.Warning, "has no list yet: no answer", "Run this again"},
		{"unsupported", func(p *doctortest.Machine) { p.Session(control.Session{State: "unsupported", Port: 6463}) }, "clients", health.Problem, "does not know certified devices", "Use the official client"},
		{"unsupported beside another", func(p *doctortest.Machine) {
			p.Status.Clients.Sessions = append(p.Status.Clients.Sessions, control.Session{State: "unsupported", Port: 6463})
		}, "clients", health.Info, "does not know certified devices", "Use the official client"},
		{"refused", func(p *doctortest.Machine) {
			p.Status.Clients.Sessions = append(p.Status.Clients.Sessions, control.Session{State: "refused", Port: 6463, Reason: because(health.ClientIDRefused, "invalid client id", nil)})
		}, "clients", health.Problem, "A client on port 6463 refuses: invalid client id", "Check vendor.client_id"},
		{"refused without a remedy", func(p *doctortest.Machine) { p.Session(control.Session{State: "refused", Port: 6463}) }, "clients", health.Problem, "refuses", "'sidetone bundle FILE.zip --yes'"},
		{"refused, with a microphone too many", func(p *doctortest.Machine) {
			refused := because(health.ListRefused, "the device list fails validation", nil)
			p.Session(control.Session{State: "refused", Port: 6463, Reason: refused, Missing: []string{"New mic"}, Muted: []string{"Mic"}})
		}, "clients", health.Problem, `A client on port 6463 refuses: the device list fails validation; it is not told of "New mic"; it may take for muted: "Mic"`, "'sidetone catalogue check'"},
		{"foreign", func(p *doctortest.Machine) { p.Session(control.Session{State: "foreign", Port: 6463}) }, "clients", health.Problem, "belongs to another user", "that user's session"},
		{"waiting", func(p *doctortest.Machine) { p.Session(control.Session{State: "waiting", Port: 6463}) }, "clients", health.Problem, "is not served", "rpc.clients"},
		{"port held", func(p *doctortest.Machine) {
			p.Status.Clients = control.Clients{Reason: said("no client found"), Remarks: control.ConditionsOf([]health.Condition{portHeld})}
		}, "clients", health.Warning, "port 6463 is held by another program: nginx", "end that program"},
		{"clients that nothing tells of", func(p *doctortest.Machine) {
			limit := health.Wrap(nil, health.WatchLimit, health.Warning, health.Args{"limit": "fs.inotify.max_user_instances", "more": "1024"})
			p.Status.Clients.Remarks = control.ConditionsOf([]health.Condition{health.Follow(limit, health.ClientsUnwatched, health.Warning, nil).Condition})
		}, "clients", health.Info, "New clients are found by searching only: this user already has as many file watches as fs.inotify.max_user_instances allows.", "End programs of this user"},
		{"file in a socket's place", func(p *doctortest.Machine) {
			p.Status.Clients.Remarks = control.ConditionsOf([]health.Condition{{Code: health.SocketIsNone, Severity: health.Warning, Args: health.Args{"path": "/run/discord-ipc-1", "file": "true"}}})
		}, "clients", health.Info, "discord-ipc-1 is a file", "Do as it says"},

		{"selected input", func(*doctortest.Machine) {}, "user", health.Info, `only while it is selected, and never while "Default" is`, `set the input device to "Acme mic" itself`},
		{"in a call", func(*doctortest.Machine) {}, "user", health.Info, "only in a call, only if you are not muted in the client, and only if it is not disabled", "Join a voice channel"},
		{"default microphone", func(p *doctortest.Machine) { p.Endpoints[0].Default = true }, "user", health.Info, `"Acme mic" is the system's default microphone`, `Select "Acme mic" itself`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := doctortest.New(t)
			c.set(p)
			found := examine(t, p)
			matches := func(f control.Condition) bool {
				return f.Code.Area() == c.at && f.Severity == c.how && strings.Contains(f.Message, c.message) && (c.remedy == "") == (f.Remedy == "") && strings.Contains(f.Remedy, c.remedy)
			}
			n := 0
			for _, f := range found {
				if matches(f) {
					n++
				}
				require.True(t, f.Severity == health.OK || f.Remedy != "", "a finding without a remedy: %+v", f)
				require.Regexp(t, `^[^\n]+\.$`, f.Message)
				require.Regexp(t, `^([^a-z\n].*\.)?$`, f.Remedy)
			}
			require.Equal(t, 1, n, "%s", inJSON(found))
		})
	}
}

// TestDiagnoseWell: where all is well nothing else is said, and the user's part is.
func TestDiagnoseWell(t *testing.T) {
	found := examine(t, doctortest.New(t))
	require.False(t, wrong(found))
	var steps []string
	for _, f := range found {
		require.Contains(t, []health.Severity{health.OK, health.Info}, f.Severity, f)
		steps = append(steps, f.Code.Area())
	}
	require.Equal(t, []string{"agent", "settings", "sources", "devices", "flags", "flags", "flags", "clients", "user", "user"}, steps, "in the order of the way")
}

// TestDiagnoseProfile: a card that is plugged in and has no microphone is not called unplugged, and what has one, or never will, is no card
// without one.
func TestDiagnoseProfile(t *testing.T) {
	codes := func(set func(*doctortest.Machine)) (list []health.Code) {
		p := doctortest.New(t)
		set(p)
		for _, c := range examine(t, p) {
			list = append(list, c.Code)
		}
		return list
	}
	off := codes(func(p *doctortest.Machine) {
		p.Endpoints, p.Hardware = nil, []devices.Hardware{doctortest.Card("0700")}
	})
	require.Contains(t, off, health.DeviceNoMicrophone)
	require.NotContains(t, off, health.DevicesNone)
	hid, foreign := doctortest.Card("0700"), doctortest.Card("0700")
	hid.Sound, foreign.VID = false, "0001"
	none := codes(func(p *doctortest.Machine) { p.Endpoints, p.Hardware = nil, []devices.Hardware{hid, foreign} })
	require.Contains(t, none, health.DevicesNone)
	require.NotContains(t, none, health.DeviceNoMicrophone)
	require.NotContains(t, codes(func(p *doctortest.Machine) { p.Hardware = []devices.Hardware{doctortest.Card("0700")} }), health.DeviceNoMicrophone)
}

// TestDiagnoseOneCause: a cause is not hidden behind what follows from it.
func TestDiagnoseOneCause(t *testing.T) {
	only := func(name, want string, set func(*doctortest.Machine)) {
		t.Run(name, func(t *testing.T) {
			p := doctortest.New(t)
			set(p)
			var problems []string
			for _, f := range examine(t, p) {
				require.NotEqual(t, "user", f.Code.Area(), "the user can do nothing yet")
				if f.Severity == health.Problem {
					problems = append(problems, f.Message)
				}
			}
			require.Len(t, problems, 1)
			require.Contains(t, problems[0], want)
		})
	}
	only("a new model with two endpoints", "1209:07ff", func(p *doctortest.Machine) {
		p.Endpoints = []devices.Endpoint{doctortest.Endpoint("mic", devices.AudioInput, "07ff"), doctortest.Endpoint("out", devices.AudioOutput, "07ff")}
	})
	only("no agent", "No agent runs", func(p *doctortest.Machine) { p.Alone(control.ErrNotRunning) })
	only("somebody else's devices", "No product of the catalogue", func(p *doctortest.Machine) {
		p.Endpoints[0].VID, p.Endpoints[1].VID = "046d", ""
		p.Endpoints[1].Virtual = true
	})
}

func TestDiagnoseVirtual(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints = append(p.Endpoints, devices.Endpoint{Source: "audio", ID: "cleaned", Name: "Echo-Cancel", Type: devices.AudioInput, Virtual: true, Master: "mic"})
	found := examine(t, p)
	require.Contains(t, inJSON(found), `\"Echo-Cancel\" is not muted, by the button or in the sound settings (os_endpoint_mute mic)`)
	require.False(t, wrong(found), inJSON(found))
}

// TestDiagnoseInfraredCamera: a camera that films with two sensors, of one name and bus, is one device, and there is nothing to say of it.
func TestDiagnoseInfraredCamera(t *testing.T) {
	p := doctortest.New(t)
	e := doctortest.Endpoint("/dev/video0", devices.VideoInput, "0720")
	e.BusInfo = "usb-0000:00:14.0-8"
	p.Endpoints = append(p.Endpoints, e)
	e.ID = "/dev/video2"
	p.Endpoints = append(p.Endpoints, e)
	found := inJSON(examine(t, p))
	require.Contains(t, found, "Acme Webcam 4K is plugged in")
	require.NotContains(t, found, string(health.DevicesOfOneID))
}

// TestDiagnoseVirtualOfWhat: a virtual microphone of which the system does not tell what it records has no mute, and the reason is no
// source of the headset.
func TestDiagnoseVirtualOfWhat(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints = append(p.Endpoints, devices.Endpoint{Source: "audio", ID: "cleaned", Name: "Echo-Cancel", Type: devices.AudioInput, Virtual: true})
	p.Push(1, "acme-headset-700", "suite", devices.HardwareMute, doctortest.Now)
	found := examine(t, p)
	i := slices.IndexFunc(found, func(c control.Condition) bool { return c.Code == health.MuteUnknown })
	require.GreaterOrEqual(t, i, 0, inJSON(found))
	require.Equal(t, "Echo-Cancel", found[i].Subject)
	for _, c := range found[i].Because {
		require.Equal(t, health.WhyMicrophoneUnknown, c.Code)
	}
	require.Contains(t, found[i].Message, "push: it is virtual, and the system does not tell which microphone it records")
	require.Contains(t, found[i].Remedy, "select the microphone itself")
}

// TestDiagnoseNamesakes: a microphone that another product has an equal id with has no flag, and the reason is no source of it.
func TestDiagnoseNamesakes(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints[0].Effects = map[devices.Field]devices.Tri{devices.EchoCancellation: devices.True}
	other := doctortest.Endpoint("mic", devices.AudioInput, "beef")
	other.ID, other.VID = "other", "0001"
	p.Endpoints = append(p.Endpoints, other)
	found := examine(t, p)
	byCode := make(map[health.Code]control.Condition)
	for _, c := range found {
		byCode[c.Code] = c
	}
	require.Contains(t, byCode[health.DevicesOfOneID].Message, "2 devices of type audioinput share the id")
	require.Equal(t, health.Warning, byCode[health.DevicesOfOneID].Severity)
	require.Contains(t, byCode[health.MuteUnknown].Message, "so the client is not told: Acme mic: 2 devices of type audioinput share the id")
	require.NotContains(t, byCode[health.FlagsUnknown].Message, "Echo cancellation", "its source does know it")

	twins := doctortest.New(t) // one of which is unknown
	twins.Twins("A1", "A2")
	twins.Endpoints[0].Mute, twins.Endpoints[2].Name, twins.Endpoints[2].Mute = devices.True, twins.Endpoints[0].Name, devices.Unknown
	all := inJSON(examine(t, twins))
	require.Contains(t, all, "2 devices of type audioinput share the id")
	require.Contains(t, all, "so the client is not told: sources[0]: no HID device of the product sends what this source reads; sources[1]: the system does not report the mute")
}

// TestDiagnoseOldCatalogue: the agent goes on with its catalogue when the file is broken.
func TestDiagnoseOldCatalogue(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints[0].Mute = devices.Unknown
	examine(t, p)
	p.Catalogue = nil
	all := inJSON(control.ConditionsOf(doctor.Examine(p.Facts)))
	require.Contains(t, all, "Acme Headset 700 is plugged in")
	require.Contains(t, all, "sources[0]: its kind is not known, because acme.yaml cannot be read or has changed")
}

// TestDiagnoseCamera: an id that is no name is not judged as one.
func TestDiagnoseCamera(t *testing.T) {
	p := doctortest.New(t)
	p.Endpoints = []devices.Endpoint{doctortest.Endpoint("cam", devices.VideoInput, "0720")}
	p.Endpoints[0].Name, p.Endpoints[0].BusInfo = strings.Repeat("default ", 20), "usb-1"
	for _, f := range examine(t, p) {
		require.Equal(t, health.OK, f.Severity, f)
	}
}

// TestDiagnoseOddAnswers: an agent of another version may leave anything out.
func TestDiagnoseOddAnswers(t *testing.T) {
	d := control.Devices{
		Reported: []devices.Report{{Device: devices.Device{Type: devices.AudioInput}}},
		Withheld: []devices.Withheld{{}},
	}
	st := &control.Status{Sources: []control.Source{{}}, Pushes: []control.Push{{Units: 1}}, Clients: control.Clients{Sessions: []control.Session{{}}, Reason: &control.Condition{}, Remarks: []control.Condition{{}}}}
	require.NotEmpty(t, doctor.Examine(doctor.Facts{Status: st, Sources: st.Sources, Devices: d}))
	require.NotEmpty(t, doctor.Examine(doctor.Facts{}))
}

// TestDiagnoseNewerAgent: where the code of a reason is not known its words are shown.
func TestDiagnoseNewerAgent(t *testing.T) {
	p := doctortest.New(t)
	p.Sources[0] = control.Source{Name: "audio", Condition: "failing", Reason: &control.Condition{Condition: health.Condition{Code: "sources.new"}, Message: "A new failure."}}
	require.Contains(t, inJSON(examine(t, p)), "so what it would list is unknown: A new failure.")
}

// TestDiagnoseRefusedReload: what the agent alone knows of its settings doctor says too.
func TestDiagnoseRefusedReload(t *testing.T) {
	p := doctortest.New(t)
	refused := health.Wrap(errors.New("another application id"), health.ReloadRefused, health.Warning, health.Args{"agent": "4711"})
	p.Status.Conditions = control.ConditionsOf([]health.Condition{refused.Condition})
	require.Contains(t, inJSON(examine(t, p)), "The old settings and catalogue stay in force: another application id.")
}

// TestVariablesThatNoSettingHas are named, and nothing is wrong: they may be another program's.
func TestVariablesThatNoSettingHas(t *testing.T) {
	p := doctortest.New(t)
	p.Variables = []string{"SIDETONE_HOME", "SIDETONE_PORTS"}
	found := examine(t, p)
	require.False(t, wrong(found))
	require.True(t, slices.ContainsFunc(found, func(c control.Condition) bool {
		return c.Code == health.VariablesUnknown && c.Severity == health.Info && strings.Contains(c.Message, "SIDETONE_HOME, SIDETONE_PORTS")
	}))
}

func TestDesktopWithoutTray(t *testing.T) {
	p := doctortest.New(t)
	p.NoTrayHost = true
	found := examine(t, p)
	require.False(t, wrong(found))
	require.True(t, slices.ContainsFunc(found, func(c control.Condition) bool {
		return c.Code == health.TrayHostMissing && strings.Contains(c.Remedy, "AppIndicator")
	}))
}
