package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
)

// status is what 'status' says of the patient.
func (p *patient) status(t *testing.T) string {
	t.Helper()
	p.diagnose(t)
	p.Status.Products = control.ProductsOf(p.Devices.Reported)
	var b strings.Builder
	require.NoError(t, printStatus(&b, *p.Status, p.Devices, p.Now))
	return b.String()
}

// twins are two units of one model, with the serial numbers that they have.
func twins(p *patient, serials ...string) {
	p.endpoints[0].Serial = serials[0]
	other := p.endpoints[0]
	other.ID, other.Name, other.Container, other.Serial = "mic2", "Acme mic 2", "usb-2", serials[1]
	p.endpoints = append(p.endpoints, other)
}

// TestStatusOfTwoUnits: two units of one model can be told apart, and one alone needs no more words.
func TestStatusOfTwoUnits(t *testing.T) {
	p := newPatient(t)
	p.endpoints[0].Serial = "A1"
	out := p.status(t)
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700)\n")
	require.NotContains(t, out, "A1")

	twins(p, "A1", "A2")
	out = p.status(t)
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700, unit usb-0700, serial A1)\n")
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700, unit usb-2, serial A2)\n")
	all := inJSON(p.diagnose(t))
	require.Contains(t, all, "Acme Headset 700 (unit usb-0700, serial A1) is plugged in")

	p.endpoints[2].Name = p.endpoints[0].Name // one device to the client
	require.Contains(t, p.status(t), "  Acme Headset 700 (acme-headset-700, serial A1, serial A2)\n")

	p = newPatient(t)
	twins(p, "", "")
	require.Contains(t, p.status(t), "(acme-headset-700, unit usb-2)\n")
}

// TestStatusOfUnknownFlags: 'no source' is said only where there is none.
func TestStatusOfUnknownFlags(t *testing.T) {
	p := newPatient(t)
	p.endpoints[0].Mute = devices.Unknown
	p.endpoints = append(p.endpoints, acmeEndpoint("cam", devices.AudioInput, "0720"))
	out := p.status(t)
	require.Regexp(t, `(?s)Acme Headset 700.*hardware_mute +unknown +not sent: no source knows\n.*Acme Webcam 4K`, out)
	require.Regexp(t, `(?s)Acme Webcam 4K.*hardware_mute +unknown +not sent: no source\n`, out)
}

// TestStatusOfASilentClient: why it has nothing yet is said, in the words of doctor, and a failure
// on its port is not shown as one on its socket.
func TestStatusOfASilentClient(t *testing.T) {
	for _, c := range []struct {
		session   control.Session
		who, says string
	}{
		{control.Session{Transport: "ipc", Socket: "/run/s"}, "A client over ipc /run/s", "it has not answered yet"},
		{control.Session{Transport: "ipc", Socket: "/run/s", NextTry: doctorsHour.Add(time.Minute)}, "A client over ipc /run/s", "it has not answered yet"},
		{control.Session{Socket: "/run/s", Error: "port 6463: no answer in time"}, "A client at /run/s", "what was tried last: port 6463: no answer in time"},
		{control.Session{Port: 6463, Error: "no answer in time"}, "A client on port 6463", "no answer in time"},
		{control.Session{Transport: "http", Port: 6463, Error: "no answer in time"}, "A client over http on port 6463", "no answer in time"},
	} {
		p := newPatient(t)
		c.session.State = "connecting"
		p.session(c.session)
		require.Regexp(t, `connecting +a`+c.who[1:]+`.*\n +`+c.says+`\n`, p.status(t))
		require.Contains(t, inJSON(p.diagnose(t)), c.who+" was found, but has no list yet: "+c.says+".")
	}
}

func TestStatusCounts(t *testing.T) {
	p := newPatient(t)
	p.Sources = []control.Source{{Name: "audio", Condition: "ok", Endpoints: 1}, {Name: "hid", Condition: "ok"}}
	p.Status.Sources, p.Status.HID = p.Sources, []control.HID{{Node: "hidraw3"}}
	p.Status.Clients.Sessions[0].Devices = 1
	p.Catalogue.Products = p.Catalogue.Products[:1]
	out := p.status(t)
	require.Regexp(t, `audio +ok +1 endpoint\n`, out)
	require.Regexp(t, `hid +ok +1 device\n`, out)
	require.Contains(t, out, "1 device, delivered 1m0s ago")
	all := inJSON(p.diagnose(t))
	require.Contains(t, all, "it has 1 product of Acme Audio")
	require.Contains(t, all, "it lists 1 endpoint.")
	require.Contains(t, all, "the latest list, of 1 device, 1m0s ago")
}
