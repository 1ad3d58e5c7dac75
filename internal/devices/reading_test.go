package devices_test

import (
	"slices"
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

// hidProduct is a headset whose flags and link HID tells.
func hidProduct(change func(*catalogue.Product)) *catalogue.Catalogue {
	report := func(id catalogue.Byte) catalogue.SourceKind {
		return catalogue.SourceKind{HIDReport: &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}}
	}
	p := catalogue.Product{
		ID: "p", Links: []catalogue.Link{usbLink("0700")},
		Sources: []catalogue.SourceRule{
			{Field: devices.HardwareMute, SourceKind: report(1)},
			{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Derive: &catalogue.Derive{Or: []catalogue.SourceKind{report(2), report(3)}}}},
			{Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{Derive: &catalogue.Derive{And: []catalogue.SourceKind{report(4), report(5)}}}},
		},
		LinkState: []catalogue.LinkRule{{SourceKind: report(6)}, {SourceKind: report(7)}},
	}
	if change != nil {
		change(&p)
	}
	return catalogueOf(p)
}

// reading is what a rule of the headset has read off a device of that container and serial number.
func reading(rule, container, serial string, v devices.Tri) devices.Reading {
	r := devices.Reading{Product: "p", Rule: rule, Container: container, Serial: serial, Value: v}
	if v.Known() {
		r.Origin, r.Since = devices.Origin{Via: devices.ViaHIDReport, Detail: "hidraw-" + container + serial}, epoch
	}
	return r
}

func resolveReadings(t *testing.T, cat *catalogue.Catalogue, in devices.Inputs) devices.Snapshot {
	t.Helper()
	require.Empty(t, cat.Check())
	opts := native
	opts.OS = devices.Linux
	r, err := catalogue.NewResolver(cat, opts)
	require.NoError(t, err)
	s := r.Resolve(in)
	require.NoError(t, validate(s.Wire()))
	return s
}

// flagsOf are the known values of a flag by wire id.
func flagsOf(s devices.Snapshot, f devices.Field) map[string]devices.Tri {
	out := make(map[string]devices.Tri)
	for _, r := range s.Devices {
		if v := r.Flags[f].Value; v.Known() {
			out[r.ID] = v
		}
	}
	return out
}

func TestReadingsFindTheirUnit(t *testing.T) {
	mic := func(id, container, serial string) devices.Endpoint {
		return with(usb(id, devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Serial = container, serial })
	}
	muted := func(container, serial string) devices.Reading {
		return reading("sources[0]", container, serial, devices.True)
	}
	for name, c := range map[string]struct {
		by        devices.GroupBy
		endpoints []devices.Endpoint
		readings  []devices.Reading
		want      map[string]devices.Tri
	}{
		"by container":                                      {"", []devices.Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []devices.Reading{muted("c2", "")}, map[string]devices.Tri{"b": devices.True}},
		"by container, other serial numbers":                {"", []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []devices.Reading{muted("c2", "s1")}, map[string]devices.Tri{"b": devices.True}},
		"by container, all bear one serial number":          {"", []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, []devices.Reading{muted("c2", "s1")}, map[string]devices.Tri{"b": devices.True}},
		"all bear one serial number, and no more":           {"", []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, []devices.Reading{muted("", "s1")}, map[string]devices.Tri{}},
		"by serial number":                                  {"", []devices.Endpoint{mic("a", "", "s1"), mic("b", "", "s2")}, []devices.Reading{muted("", "s2")}, map[string]devices.Tri{"b": devices.True}},
		"of nothing there":                                  {"", []devices.Endpoint{mic("a", "c1", "s1")}, []devices.Reading{muted("c2", "s2")}, map[string]devices.Tri{}},
		"unsure, one unit":                                  {"", []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{muted("", "s1")}, map[string]devices.Tri{"a": devices.True}},
		"unsure, two units":                                 {"", []devices.Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []devices.Reading{muted("", "s1")}, map[string]devices.Tri{}},
		"unsure, but the other is surely not it":            {"", []devices.Endpoint{mic("a", "c1", ""), mic("b", "c2", "s2")}, []devices.Reading{muted("", "s1")}, map[string]devices.Tri{"a": devices.True}},
		"two units, each its own":                           {"", []devices.Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []devices.Reading{muted("c1", ""), reading("sources[0]", "c2", "", devices.False)}, map[string]devices.Tri{"a": devices.True, "b": devices.False}},
		"all bear one serial number, and one none":          {"", []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1"), mic("c", "c3", "")}, []devices.Reading{muted("", "s1")}, map[string]devices.Tri{}},
		"several USB devices":                               {devices.GroupSerial, []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []devices.Reading{muted("c3", "s2")}, map[string]devices.Tri{"b": devices.True}},
		"several USB devices, and one of another":           {devices.GroupSerial, []devices.Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []devices.Reading{muted("c1", "s2")}, map[string]devices.Tri{"b": devices.True}},
		"several USB devices, one never speaks":             {devices.GroupSerial, []devices.Endpoint{mic("a", "c1", "s1")}, []devices.Reading{muted("c1", "s1"), reading("sources[0]", "c2", "s1", devices.Unknown)}, map[string]devices.Tri{"a": devices.True}},
		"model: all are muted":                              {devices.GroupModel, []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{muted("c1", ""), muted("c2", "")}, map[string]devices.Tri{"a": devices.True}},
		"model: one is not":                                 {devices.GroupModel, []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{muted("c1", ""), reading("sources[0]", "c2", "", devices.False)}, map[string]devices.Tri{"a": devices.False}},
		"model: of one nobody knows":                        {devices.GroupModel, []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{muted("c1", ""), reading("sources[0]", "c2", "", devices.Unknown)}, map[string]devices.Tri{}},
		"another product":                                   {"", []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{{Product: "q", Rule: "sources[0]", Container: "c1", Value: devices.True}}, map[string]devices.Tri{}},
		"another rule":                                      {"", []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{reading("sources[9]", "c1", "", devices.True)}, map[string]devices.Tri{}},
		"two interfaces, one of which never speaks":         {"", []devices.Endpoint{mic("a", "c1", "")}, []devices.Reading{reading("sources[0]", "c1", "", devices.Unknown), muted("c1", ""), reading("sources[0]", "c1", "", devices.Unknown)}, map[string]devices.Tri{"a": devices.True}},
		"a device of its own with the unit's serial number": {"", []devices.Endpoint{mic("a", "c1", "s1")}, []devices.Reading{reading("sources[0]", "c1", "s1", devices.Unknown), muted("", "s1")}, map[string]devices.Tri{"a": devices.True}},
		"another device with the same serial number":        {"", []devices.Endpoint{mic("a", "c1", "s1")}, []devices.Reading{reading("sources[0]", "c1", "s1", devices.Unknown), muted("c2", "s1")}, map[string]devices.Tri{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			s := resolveReadings(t, cat, devices.Inputs{Endpoints: c.endpoints, Readings: c.readings})
			require.Len(t, s.Devices, len(c.endpoints))
			require.Equal(t, c.want, flagsOf(s, devices.HardwareMute))
			slices.Reverse(c.endpoints)
			require.Equal(t, c.want, flagsOf(resolveReadings(t, cat, devices.Inputs{Endpoints: c.endpoints, Readings: c.readings}), devices.HardwareMute))
		})
	}
}

// Of two interfaces that both have spoken the latest stands for the device.
func TestLatestInterfaceCounts(t *testing.T) {
	early, late := reading("sources[0]", "c1", "", devices.True), reading("sources[0]", "c1", "", devices.False)
	late.Since = epoch.Add(time.Second)
	mic := with(usb("a", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" })
	for _, readings := range [][]devices.Reading{{early, late}, {late, early}} {
		s := resolveReadings(t, hidProduct(nil), devices.Inputs{Endpoints: []devices.Endpoint{mic}, Readings: readings})
		require.Equal(t, devices.Flag{devices.False, late.Origin, late.Since}, s.Devices[0].Flags[devices.HardwareMute])
	}
}

func TestDerive(t *testing.T) {
	mic := with(usb("a", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" })
	for _, a := range []devices.Tri{devices.Unknown, devices.False, devices.True} {
		for _, b := range []devices.Tri{devices.Unknown, devices.False, devices.True} {
			readings := []devices.Reading{
				reading("sources[1].derive.or[0]", "c1", "", a), reading("sources[1].derive.or[1]", "c1", "", b),
				reading("sources[2].derive.and[0]", "c1", "", a), reading("sources[2].derive.and[1]", "c1", "", b),
			}
			for i := range readings {
				readings[i].Since = epoch.Add(time.Duration(i%2) * time.Second)
			}
			or, and := a.Not().And(b.Not()).Not(), a.And(b)
			flags := resolveReadings(t, hidProduct(nil), devices.Inputs{Endpoints: []devices.Endpoint{mic}, Readings: readings}).Devices[0].Flags
			require.Equal(t, or, flags[devices.NoiseSuppression].Value, "%v or %v", a, b)
			require.Equal(t, and, flags[devices.EchoCancellation].Value, "%v and %v", a, b)
			require.Equal(t, or, devices.Derive{Or: true}.Of([]devices.Tri{a, b}))
			require.Equal(t, and, devices.Derive{}.Of([]devices.Tri{b, a}))
			if or.Known() {
				require.Equal(t, devices.Origin{Via: devices.ViaDerive, Detail: "hid_report (hidraw-c1)"}, flags[devices.NoiseSuppression].Origin)
			}
			if a == devices.True && b == devices.True {
				require.Equal(t, epoch, flags[devices.NoiseSuppression].Since, "true since the first one is")
				require.Equal(t, epoch.Add(time.Second), flags[devices.EchoCancellation].Since, "true since the last one is")
			}
			if a == devices.False && b == devices.False {
				require.Equal(t, epoch.Add(time.Second), flags[devices.NoiseSuppression].Since)
				require.Equal(t, epoch, flags[devices.EchoCancellation].Since)
			}
		}
	}
}

func TestLinkState(t *testing.T) {
	same := func(e *devices.Endpoint) { e.Container = "c1" }
	endpoints := []devices.Endpoint{with(usb("mic", devices.AudioInput, "0700"), same), with(usb("out", devices.AudioOutput, "0700"), same)}
	first := func(v devices.Tri) devices.Reading { return reading("link_state[0]", "c1", "", v) }
	second := func(v devices.Tri) devices.Reading { return reading("link_state[1]", "c1", "", v) }
	other := func(v devices.Tri) devices.Reading { return reading("link_state[0]", "c2", "", v) }
	for name, c := range map[string]struct {
		by       devices.GroupBy
		readings []devices.Reading
		want     []string
	}{
		"nobody knows":                   {"", nil, []string{"mic", "out"}},
		"unknown":                        {"", []devices.Reading{first(devices.Unknown)}, []string{"mic", "out"}},
		"up":                             {"", []devices.Reading{first(devices.True)}, []string{"mic", "out"}},
		"down":                           {"", []devices.Reading{first(devices.False)}, []string{}},
		"the first that knows decides":   {"", []devices.Reading{second(devices.False), first(devices.True)}, []string{"mic", "out"}},
		"the second where it does not":   {"", []devices.Reading{second(devices.False), first(devices.Unknown)}, []string{}},
		"another unit":                   {"", []devices.Reading{other(devices.False)}, []string{"mic", "out"}},
		"model: one is enough":           {devices.GroupModel, []devices.Reading{first(devices.False), other(devices.True)}, []string{"mic", "out"}},
		"model: of one nobody knows":     {devices.GroupModel, []devices.Reading{first(devices.False), other(devices.Unknown)}, []string{"mic", "out"}},
		"model: none is there":           {devices.GroupModel, []devices.Reading{first(devices.False), other(devices.False)}, []string{}},
		"model: the second rule decides": {devices.GroupModel, []devices.Reading{first(devices.False), other(devices.Unknown), second(devices.False)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			s := resolveReadings(t, cat, devices.Inputs{Endpoints: endpoints, Readings: c.readings})
			require.ElementsMatch(t, c.want, ids(s))
			if len(c.want) == 0 && c.by == "" {
				for _, id := range []string{"mic", "out"} {
					require.Equal(t, "the product is switched off or out of reach: hid_report (hidraw-c1) says so", reasons(s)[id])
				}
			}
		})
	}
}

// A link may be derived from several sources, too, and a mixer may tell it.
func TestLinkStateOfOtherSources(t *testing.T) {
	mic := with(usb("mic", devices.AudioInput, "0700"), func(e *devices.Endpoint) {
		e.Container, e.Controls = "c1", map[string]devices.Tri{"Jack": devices.False}
	})
	id := catalogue.Byte(1)
	report := catalogue.SourceKind{HIDReport: &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}}
	cat := hidProduct(func(p *catalogue.Product) {
		p.Sources = nil
		p.LinkState = []catalogue.LinkRule{{SourceKind: catalogue.SourceKind{Derive: &catalogue.Derive{Or: []catalogue.SourceKind{{ALSACtl: &catalogue.ALSACtl{Name: "Jack"}}, report}}}}}
	})
	in := devices.Inputs{Endpoints: []devices.Endpoint{mic}, Readings: []devices.Reading{reading("link_state[0].derive.or[1]", "c1", "", devices.True)}}
	require.Len(t, resolveReadings(t, cat, in).Devices, 1)
	in.Readings[0].Value = devices.False
	require.Empty(t, resolveReadings(t, cat, in).Devices)
	cat = hidProduct(func(p *catalogue.Product) {
		p.Endpoints, p.Sources = []catalogue.EndpointRule{{Type: devices.AudioOutput}}, nil
		p.LinkState = p.LinkState[:1]
	})
	out := with(usb("out", devices.AudioOutput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" })
	in = devices.Inputs{Endpoints: []devices.Endpoint{out}, Readings: []devices.Reading{reading("link_state[0]", "c1", "", devices.False)}}
	require.Empty(t, resolveReadings(t, cat, in).Devices, "a loudspeaker has a link, too")
}

// A virtual endpoint that carries the headset's sound is as mute as the headset.
func TestVirtualEndpointGetsTheUnitsReadings(t *testing.T) {
	cat := hidProduct(func(p *catalogue.Product) {
		p.Endpoints = []catalogue.EndpointRule{{Type: devices.AudioInput}}
		p.VirtualEndpoints = []catalogue.VirtualRule{{Type: devices.AudioInput, NameRegex: "echo"}}
	})
	mic := with(usb("mic", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" })
	echo := devices.Endpoint{Source: "audio", ID: "echo", Name: "echo-cancel", Type: devices.AudioInput, Virtual: true, Master: "mic"}
	in := devices.Inputs{Endpoints: []devices.Endpoint{mic, echo}, Readings: []devices.Reading{reading("sources[0]", "c1", "", devices.True)}}
	require.Equal(t, map[string]devices.Tri{"mic": devices.True, "echo": devices.True}, flagsOf(resolveReadings(t, cat, in), devices.HardwareMute))
	in.Readings = append(in.Readings, reading("link_state[0]", "c1", "", devices.False))
	s := resolveReadings(t, cat, in)
	require.Empty(t, s.Devices, "nor is it there without the headset")
	require.Len(t, reasons(s), 2)
}

func TestPushBeatsHID(t *testing.T) {
	mic := with(usb("mic", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Serial = "c1", "s1" })
	cat := hidProduct(nil)
	in := devices.Inputs{Endpoints: []devices.Endpoint{mic}, Readings: []devices.Reading{
		reading("sources[0]", "c1", "", devices.True), reading("sources[1].derive.or[1]", "c1", "", devices.True),
	}}
	in.Pushes = []devices.Push{{Product: "p", Owner: "suite", State: map[devices.Field]devices.Tri{devices.HardwareMute: devices.False}}}
	s := resolveReadings(t, cat, in)
	require.Equal(t, map[string]devices.Tri{"mic": devices.False}, flagsOf(s, devices.HardwareMute))
	require.Equal(t, map[string]devices.Tri{"mic": devices.True}, flagsOf(s, devices.NoiseSuppression))
	in.Pushes[0].State[devices.HardwareMute] = devices.Unknown
	require.Equal(t, map[string]devices.Tri{"mic": devices.True}, flagsOf(resolveReadings(t, cat, in), devices.HardwareMute), "a push that does not know")

	r, err := catalogue.NewResolver(cat, devices.Options{OS: devices.Linux, AudioID: devices.IDNative})
	require.NoError(t, err)
	explained := r.Explain(in)[mic.Key()]
	require.Equal(t, []devices.Considered{
		{devices.ViaPush, devices.Flag{Origin: devices.Origin{Via: devices.ViaPush, Detail: "suite"}}},
		{"sources[0]", devices.Flag{devices.True, devices.Origin{Via: devices.ViaHIDReport, Detail: "hidraw-c1"}, epoch}},
	}, explained[devices.HardwareMute])
	require.Equal(t, []devices.Considered{
		{"sources[1]", devices.Flag{devices.True, devices.Origin{Via: devices.ViaDerive, Detail: "hid_report (hidraw-c1)"}, epoch}},
	}, explained[devices.NoiseSuppression])
	require.Equal(t, []devices.Considered{{"sources[2]", devices.Flag{}}}, explained[devices.EchoCancellation], "it does not know")
}

// Makers give one serial number to many devices: what one of them says is not of another.
func TestEqualSerialNumbers(t *testing.T) {
	here := with(usb("mic", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Serial = "c2", "0001" })
	there := with(usb("other", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Serial = "c1", "0001" })
	bare := with(usb("bare", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Serial = "0001" })
	first, second := reading("sources[0]", "c1", "0001", devices.True), reading("sources[0]", "c2", "0001", devices.False)
	without := reading("sources[0]", "", "0001", devices.True)
	for name, c := range map[string]struct {
		by        devices.GroupBy
		endpoints []devices.Endpoint
		readings  []devices.Reading
		want      map[string]devices.Tri
	}{
		"of a headset without endpoints":    {"", []devices.Endpoint{here}, []devices.Reading{first}, map[string]devices.Tri{}},
		"both":                              {"", []devices.Endpoint{here}, []devices.Reading{first, second}, map[string]devices.Tri{"mic": devices.False}},
		"both are there":                    {"", []devices.Endpoint{here, there}, []devices.Reading{first, second}, map[string]devices.Tri{"mic": devices.False, "other": devices.True}},
		"no container to compare":           {"", []devices.Endpoint{bare}, []devices.Reading{first}, map[string]devices.Tri{"bare": devices.True}},
		"no container, of several":          {"", []devices.Endpoint{here, there}, []devices.Reading{without}, map[string]devices.Tri{}},
		"no container, of one":              {"", []devices.Endpoint{here}, []devices.Reading{without}, map[string]devices.Tri{"mic": devices.True}},
		"the vendor groups by it":           {devices.GroupSerial, []devices.Endpoint{here}, []devices.Reading{first}, map[string]devices.Tri{"mic": devices.True}},
		"the vendor takes all for one unit": {devices.GroupModel, []devices.Endpoint{here}, []devices.Reading{first}, map[string]devices.Tri{"mic": devices.True}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			require.Equal(t, c.want, flagsOf(resolveReadings(t, cat, devices.Inputs{Endpoints: c.endpoints, Readings: c.readings}), devices.HardwareMute))
		})
	}
}
