// Package doctortest provides a test machine for doctor and for what shows its conditions.
package doctortest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/examples"
	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
)

// Now is the time of the examination.
var Now = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// Machine is a healthy machine, until a test changes it.
type Machine struct {
	doctor.Facts
	Endpoints []devices.Endpoint
	Hardware  []devices.Hardware
	Pushes    []devices.Push
	Fields    []devices.Field // that may be reported; nil: all
	IDBytes   int             // length to which names are cut; 0: never
}

// New returns a machine with a headset, a client and an agent.
func New(t *testing.T) *Machine {
	t.Helper()
	cat, problems := catalogue.Decode("acme.yaml", examples.Acme)
	require.Empty(t, problems)
	p := &Machine{IDBytes: doctor.MaxID, Endpoints: []devices.Endpoint{
		Endpoint("mic", devices.AudioInput, "0700"), Endpoint("out", devices.AudioOutput, "0700"),
	}}
	p.Catalogue, p.CataloguePath, p.Version, p.Now = cat, "acme.yaml", "1.0", Now
	p.Sources = []control.Source{{Name: "audio", Condition: "ok", Endpoints: 2}, {Name: "hid", Condition: "ok"}}
	p.Status = &control.Status{Version: "1.0", PID: 4711, Started: Now.Add(-time.Hour), Generation: 7}
	p.Status.Clients.Sessions = []control.Session{{
		State: "ready", Transport: "ipc", Socket: "/run/discord-ipc-0", Name: "Discord", PID: 4712,
		Generation: 7, Devices: 2, Delivered: Now.Add(-time.Minute),
	}}
	return p
}

// Endpoint returns an endpoint of the device with that product id in the example catalogue.
func Endpoint(id string, typ devices.Type, pid string) devices.Endpoint {
	return devices.Endpoint{
		Source: "audio", ID: id, Type: typ, Name: "Acme " + id,
		Bus: devices.USB, VID: "1209", PID: pid, Container: "usb-" + pid, Mute: devices.False,
	}
}

// Card returns the sound card of the device with that product id in the example catalogue.
func Card(pid string) devices.Hardware {
	return devices.Hardware{
		Source: "audio", ID: "4", Name: "Acme " + pid, Sound: true, Bus: devices.USB, VID: "1209", PID: pid, Container: "usb-" + pid,
	}
}

// Studio replaces the headset with the microphone whose mute must be in hardware.
func (p *Machine) Studio(set func(*devices.Endpoint)) {
	e := Endpoint("studio", devices.AudioInput, "0710")
	set(&e)
	p.Endpoints = []devices.Endpoint{e}
}

// Session replaces the client's session.
func (p *Machine) Session(s control.Session) { p.Status.Clients.Sessions = []control.Session{s} }

// Alone removes the agent.
func (p *Machine) Alone(err error) { p.Status, p.AgentErr = nil, err }

// Push adds a push by the vendor's software.
func (p *Machine) Push(units int, product, owner string, f devices.Field, since time.Time) {
	state := map[devices.Field]devices.Tri{f: devices.True}
	p.Status.Pushes = append(p.Status.Pushes, control.Push{Product: product, Owner: owner, State: state, Units: units})
	p.Pushes = append(p.Pushes, devices.Push{Product: product, Owner: owner, State: state, Since: map[devices.Field]time.Time{f: since}})
}

// Resolve resolves the endpoints as the agent would.
func (p *Machine) Resolve(t *testing.T) {
	t.Helper()
	cat := p.Catalogue
	if cat == nil {
		cat = &catalogue.Catalogue{}
	}
	r, err := catalogue.NewResolver(cat, devices.Options{OS: devices.Linux, IDMaxBytes: p.IDBytes, Fields: p.Fields})
	require.NoError(t, err)
	in := devices.Inputs{Endpoints: p.Endpoints, Hardware: p.Hardware, Pushes: p.Pushes}
	s, considered := r.Resolve(in), r.Explain(in)
	p.Devices = control.Devices{Reported: s.Devices, Withheld: s.Withheld, WithoutMicrophone: r.Group(in).WithoutMicrophone(in.Hardware)}
	for _, e := range p.Endpoints {
		p.Devices.Endpoints = append(p.Devices.Endpoints, control.Endpoint{Endpoint: e, Considered: considered[e.Key()]})
	}
}

// Twins makes the microphone two units of one model, with these serial numbers.
func (p *Machine) Twins(serials ...string) {
	p.Endpoints[0].Serial = serials[0]
	other := p.Endpoints[0]
	other.ID, other.Name, other.Container, other.Serial = "mic2", "Acme mic 2", "usb-2", serials[1]
	p.Endpoints = append(p.Endpoints, other)
}

// Examine returns all conditions found, as the command's JSON.
func (p *Machine) Examine(t *testing.T) string {
	t.Helper()
	p.Resolve(t)
	b, err := json.Marshal(control.ConditionsOf(doctor.Examine(p.Facts)))
	require.NoError(t, err)
	return string(b)
}
