package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/doctor"
	"sidetone/internal/doctor/doctortest"
	"sidetone/internal/health"
)

// status is what 'status' says of the machine.
func status(t *testing.T, p *doctortest.Machine) string {
	t.Helper()
	p.Resolve(t)
	p.Status.Products = control.ProductsOf(p.Devices.Reported)
	p.Status.Conditions = control.ConditionsOf(doctor.Standing(p.Facts))
	var b strings.Builder
	require.NoError(t, printStatus(&b, health.English, *p.Status, p.Devices, p.Now))
	return b.String()
}

// TestStatusOfTwoUnits: two units of one model can be told apart, and one alone needs no more words.
func TestStatusOfTwoUnits(t *testing.T) {
	t.Parallel()
	p := doctortest.New(t)
	p.Endpoints[0].Serial = "A1"
	out := status(t, p)
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700)\n")
	require.NotContains(t, out, "A1")

	p.Twins("A1", "A2")
	out = status(t, p)
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700, unit usb-0700, serial A1)\n")
	require.Contains(t, out, "  Acme Headset 700 (acme-headset-700, unit usb-2, serial A2)\n")
	all := p.Examine(t)
	require.Contains(t, all, "Acme Headset 700 (unit usb-0700, serial A1) is plugged in")

	p.Endpoints[2].Name = p.Endpoints[0].Name // one device to the client
	require.Contains(t, status(t, p), "  Acme Headset 700 (acme-headset-700, serial A1, serial A2)\n")

	p = doctortest.New(t)
	p.Twins("", "")
	require.Contains(t, status(t, p), "(acme-headset-700, unit usb-2)\n")
}

// TestStatusOfADefaultMicrophone: with "Default" the client shows no notice, and 'status' says so.
func TestStatusOfADefaultMicrophone(t *testing.T) {
	t.Parallel()
	p := doctortest.New(t)
	require.NotContains(t, status(t, p), "what to check")
	p.Endpoints[0].Default = true
	require.Regexp(t, `what to check\n +info +"Acme mic" is the system's default microphone: .*\n +-> Select "Acme mic" itself`, status(t, p))
}

// TestStatusOfUnknownFlags: 'no source' is said only where there is none.
func TestStatusOfUnknownFlags(t *testing.T) {
	t.Parallel()
	p := doctortest.New(t)
	p.Endpoints[0].Mute = devices.Unknown
	p.Endpoints = append(p.Endpoints, doctortest.Endpoint("cam", devices.AudioInput, "0720"))
	out := status(t, p)
	require.Regexp(t, `(?s)Acme Headset 700.*hardware_mute +unknown +not sent: no source knows\n.*Acme Webcam 4K`, out)
	require.Regexp(t, `(?s)Acme Webcam 4K.*hardware_mute +unknown +not sent: no source\n`, out)
}

// said is a reason that has only words.
func said(words string) *control.Condition { return control.ConditionOf(new(health.Unnamed(words))) }

// TestStatusOfASilentClient: why it has nothing yet is said, in the words of doctor, and a failure
// on its port is not shown as one on its socket.
func TestStatusOfASilentClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		session   control.Session
		who, says string
	}{
		{control.Session{Transport: "ipc", Socket: "/run/s"}, "A client over ipc /run/s", "it has not answered yet"},
		{control.Session{Transport: "ipc", Socket: "/run/s", NextTry: doctortest.Now.Add(time.Minute)}, "A client over ipc /run/s", "it has not answered yet"},
		{control.Session{Socket: "/run/s", Reason: said("port 6463: no answer in time")}, "A client at /run/s", "last attempt: port 6463: no answer in time"},
		{control.Session{Port: 6463, Reason: said("no answer in time")}, "A client on port 6463", "no answer in time"},
		{control.Session{Transport: "http", Port: 6463, Reason: said("no answer in time")}, "A client over http on port 6463", "no answer in time"},
	} {
		p := doctortest.New(t)
		c.session.State = "connecting"
		p.Session(c.session)
		require.Regexp(t, `connecting +a`+c.who[1:]+`.*\n +`+c.says+`\n`, status(t, p))
		require.Contains(t, p.Examine(t), c.who+" was found, but has no list yet: "+c.says+".")
	}
}

func TestStatusCounts(t *testing.T) {
	t.Parallel()
	p := doctortest.New(t)
	p.Sources = []control.Source{{Name: "audio", Condition: "ok", Endpoints: 1}, {Name: "hid", Condition: "ok"}}
	p.Status.Sources, p.Status.HID = p.Sources, []control.HID{{Node: "hidraw3"}}
	p.Status.Clients.Sessions[0].Devices = 1
	p.Catalogue.Products = p.Catalogue.Products[:1]
	out := status(t, p)
	require.Regexp(t, `audio +ok +1 endpoint\n`, out)
	require.Regexp(t, `hid +ok +1 device\n`, out)
	require.Contains(t, out, "1 device, delivered 1m0s ago")
	all := p.Examine(t)
	require.Contains(t, all, "it has 1 product of Acme Audio")
	require.Contains(t, all, "it lists 1 endpoint.")
	require.Contains(t, all, "the latest list, of 1 device, 1 min ago")
}
