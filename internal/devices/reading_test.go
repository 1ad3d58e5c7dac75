package devices_test

import (
	"slices"
	"testing"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

// hidProduct is a headset whose flags and link HID tells.
func hidProduct(change func(*catalogue.Product)) *catalogue.Catalogue {
	report := func(id catalogue.Byte) catalogue.SourceKind {
		return kind{HIDReport: &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}}
	}
	p := product{
		ID: "p", Links: links{usbLink("0700")},
		Sources: rules{
			{Field: HardwareMute, SourceKind: report(1)},
			{Field: NoiseSuppression, SourceKind: kind{Derive: &catalogue.Derive{Or: kinds{report(2), report(3)}}}},
			{Field: EchoCancellation, SourceKind: kind{Derive: &catalogue.Derive{And: kinds{report(4), report(5)}}}},
		},
		LinkState: []catalogue.LinkRule{{SourceKind: report(6)}, {SourceKind: report(7)}},
	}
	if change != nil {
		change(&p)
	}
	return catalogueOf(p)
}

// reading is what a rule of the headset has read off a device of that container and serial number.
func reading(rule, container, serial string, v Tri) Reading {
	r := Reading{Product: "p", Rule: rule, Container: container, Serial: serial, Value: v}
	if v.Known() {
		r.Origin, r.Since = Origin{Via: ViaHIDReport, Detail: "hidraw-" + container + serial}, epoch
	}
	return r
}

func resolveReadings(t *testing.T, cat *catalogue.Catalogue, in Inputs) Snapshot {
	t.Helper()
	require.Empty(t, cat.Check())
	opts := native
	opts.OS = Linux
	r, err := catalogue.NewResolver(cat, opts)
	require.NoError(t, err)
	s := r.Resolve(in)
	require.NoError(t, validate(s.Wire()))
	return s
}

// flagsOf are the known values of a flag by wire id.
func flagsOf(s Snapshot, f Field) map[string]Tri {
	out := make(map[string]Tri)
	for _, r := range s.Devices {
		if v := r.Flags[f].Value; v.Known() {
			out[r.ID] = v
		}
	}
	return out
}

func TestReadingsFindTheirUnit(t *testing.T) {
	mic := func(id, container, serial string) Endpoint {
		return with(usb(id, AudioInput, "0700"), func(e *endpoint) { e.Container, e.Serial = container, serial })
	}
	muted := func(container, serial string) Reading {
		return reading("sources[0]", container, serial, True)
	}
	for name, c := range map[string]struct {
		by        GroupBy
		endpoints []Endpoint
		readings  []Reading
		want      map[string]Tri
	}{
		"by container":                                      {"", endpoints{mic("a", "c1", ""), mic("b", "c2", "")}, readings{muted("c2", "")}, states{"b": True}},
		"by container, other serial numbers":                {"", endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, readings{muted("c2", "s1")}, states{"b": True}},
		"by container, all bear one serial number":          {"", endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, readings{muted("c2", "s1")}, states{"b": True}},
		"all bear one serial number, and no more":           {"", endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, readings{muted("", "s1")}, states{}},
		"by serial number":                                  {"", endpoints{mic("a", "", "s1"), mic("b", "", "s2")}, readings{muted("", "s2")}, states{"b": True}},
		"of nothing there":                                  {"", endpoints{mic("a", "c1", "s1")}, readings{muted("c2", "s2")}, states{}},
		"unsure, one unit":                                  {"", endpoints{mic("a", "c1", "")}, readings{muted("", "s1")}, states{"a": True}},
		"unsure, two units":                                 {"", endpoints{mic("a", "c1", ""), mic("b", "c2", "")}, readings{muted("", "s1")}, states{}},
		"unsure, but the other is surely not it":            {"", endpoints{mic("a", "c1", ""), mic("b", "c2", "s2")}, readings{muted("", "s1")}, states{"a": True}},
		"two units, each its own":                           {"", endpoints{mic("a", "c1", ""), mic("b", "c2", "")}, readings{muted("c1", ""), reading("sources[0]", "c2", "", False)}, states{"a": True, "b": False}},
		"all bear one serial number, and one none":          {"", endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s1"), mic("c", "c3", "")}, readings{muted("", "s1")}, states{}},
		"several USB devices":                               {GroupSerial, endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, readings{muted("c3", "s2")}, states{"b": True}},
		"several USB devices, and one of another":           {GroupSerial, endpoints{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, readings{muted("c1", "s2")}, states{"b": True}},
		"several USB devices, one never speaks":             {GroupSerial, endpoints{mic("a", "c1", "s1")}, readings{muted("c1", "s1"), reading("sources[0]", "c2", "s1", Unknown)}, states{"a": True}},
		"model: all are muted":                              {GroupModel, endpoints{mic("a", "c1", "")}, readings{muted("c1", ""), muted("c2", "")}, states{"a": True}},
		"model: one is not":                                 {GroupModel, endpoints{mic("a", "c1", "")}, readings{muted("c1", ""), reading("sources[0]", "c2", "", False)}, states{"a": False}},
		"model: of one nobody knows":                        {GroupModel, endpoints{mic("a", "c1", "")}, readings{muted("c1", ""), reading("sources[0]", "c2", "", Unknown)}, states{}},
		"another product":                                   {"", endpoints{mic("a", "c1", "")}, readings{{Product: "q", Rule: "sources[0]", Container: "c1", Value: True}}, states{}},
		"another rule":                                      {"", endpoints{mic("a", "c1", "")}, readings{reading("sources[9]", "c1", "", True)}, states{}},
		"two interfaces, one of which never speaks":         {"", endpoints{mic("a", "c1", "")}, readings{reading("sources[0]", "c1", "", Unknown), muted("c1", ""), reading("sources[0]", "c1", "", Unknown)}, states{"a": True}},
		"a device of its own with the unit's serial number": {"", endpoints{mic("a", "c1", "s1")}, readings{reading("sources[0]", "c1", "s1", Unknown), muted("", "s1")}, states{"a": True}},
		"another device with the same serial number":        {"", endpoints{mic("a", "c1", "s1")}, readings{reading("sources[0]", "c1", "s1", Unknown), muted("c2", "s1")}, states{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			s := resolveReadings(t, cat, Inputs{Endpoints: c.endpoints, Readings: c.readings})
			require.Len(t, s.Devices, len(c.endpoints))
			require.Equal(t, c.want, flagsOf(s, HardwareMute))
			slices.Reverse(c.endpoints)
			require.Equal(t, c.want, flagsOf(resolveReadings(t, cat, Inputs{Endpoints: c.endpoints, Readings: c.readings}), HardwareMute))
		})
	}
}

// Of two interfaces that both have spoken the latest stands for the device.
func TestLatestInterfaceCounts(t *testing.T) {
	early, late := reading("sources[0]", "c1", "", True), reading("sources[0]", "c1", "", False)
	late.Since = epoch.Add(time.Second)
	mic := with(usb("a", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	for _, readings := range []readings{{early, late}, {late, early}} {
		s := resolveReadings(t, hidProduct(nil), Inputs{Endpoints: endpoints{mic}, Readings: readings})
		require.Equal(t, Flag{False, late.Origin, late.Since}, s.Devices[0].Flags[HardwareMute])
	}
}

func TestDerive(t *testing.T) {
	mic := with(usb("a", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	for _, a := range []Tri{Unknown, False, True} {
		for _, b := range []Tri{Unknown, False, True} {
			readings := readings{
				reading("sources[1].derive.or[0]", "c1", "", a), reading("sources[1].derive.or[1]", "c1", "", b),
				reading("sources[2].derive.and[0]", "c1", "", a), reading("sources[2].derive.and[1]", "c1", "", b),
			}
			for i := range readings {
				readings[i].Since = epoch.Add(time.Duration(i%2) * time.Second)
			}
			or, and := a.Not().And(b.Not()).Not(), a.And(b)
			flags := resolveReadings(t, hidProduct(nil), Inputs{Endpoints: endpoints{mic}, Readings: readings}).Devices[0].Flags
			require.Equal(t, or, flags[NoiseSuppression].Value, "%v or %v", a, b)
			require.Equal(t, and, flags[EchoCancellation].Value, "%v and %v", a, b)
			require.Equal(t, or, Derive{Or: true}.Of([]Tri{a, b}))
			require.Equal(t, and, Derive{}.Of([]Tri{b, a}))
			if or.Known() {
				require.Equal(t, Origin{Via: ViaDerive, Detail: "hid_report (hidraw-c1)"}, flags[NoiseSuppression].Origin)
			}
			if a == True && b == True {
				require.Equal(t, epoch, flags[NoiseSuppression].Since, "true since the first one is")
				require.Equal(t, epoch.Add(time.Second), flags[EchoCancellation].Since, "true since the last one is")
			}
			if a == False && b == False {
				require.Equal(t, epoch.Add(time.Second), flags[NoiseSuppression].Since)
				require.Equal(t, epoch, flags[EchoCancellation].Since)
			}
		}
	}
}

func TestLinkState(t *testing.T) {
	same := func(e *endpoint) { e.Container = "c1" }
	endpoints := endpoints{with(usb("mic", AudioInput, "0700"), same), with(usb("out", AudioOutput, "0700"), same)}
	first := func(v Tri) Reading { return reading("link_state[0]", "c1", "", v) }
	second := func(v Tri) Reading { return reading("link_state[1]", "c1", "", v) }
	other := func(v Tri) Reading { return reading("link_state[0]", "c2", "", v) }
	for name, c := range map[string]struct {
		by       GroupBy
		readings []Reading
		want     []string
	}{
		"nobody knows":                   {"", nil, []string{"mic", "out"}},
		"unknown":                        {"", readings{first(Unknown)}, []string{"mic", "out"}},
		"up":                             {"", readings{first(True)}, []string{"mic", "out"}},
		"down":                           {"", readings{first(False)}, []string{}},
		"the first that knows decides":   {"", readings{second(False), first(True)}, []string{"mic", "out"}},
		"the second where it does not":   {"", readings{second(False), first(Unknown)}, []string{}},
		"another unit":                   {"", readings{other(False)}, []string{"mic", "out"}},
		"model: one is enough":           {GroupModel, readings{first(False), other(True)}, []string{"mic", "out"}},
		"model: of one nobody knows":     {GroupModel, readings{first(False), other(Unknown)}, []string{"mic", "out"}},
		"model: none is there":           {GroupModel, readings{first(False), other(False)}, []string{}},
		"model: the second rule decides": {GroupModel, readings{first(False), other(Unknown), second(False)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			s := resolveReadings(t, cat, Inputs{Endpoints: endpoints, Readings: c.readings})
			require.ElementsMatch(t, c.want, ids(s))
			if len(c.want) == 0 && c.by == "" {
				for _, id := range []string{"mic", "out"} {
					require.Equal(t, "the product is switched off or out of reach, reported by the device (hid_report hidraw-c1)", reasons(t, s)[id])
				}
			}
		})
	}
}

// A link may be derived from several sources, too, and a mixer may tell it.
func TestLinkStateOfOtherSources(t *testing.T) {
	mic := with(usb("mic", AudioInput, "0700"), func(e *endpoint) {
		e.Container, e.Controls = "c1", states{"Jack": False}
	})
	id := catalogue.Byte(1)
	report := kind{HIDReport: &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}}
	cat := hidProduct(func(p *catalogue.Product) {
		p.Sources = nil
		p.LinkState = []catalogue.LinkRule{{SourceKind: kind{Derive: &catalogue.Derive{Or: kinds{{ALSACtl: &catalogue.ALSACtl{Name: "Jack"}}, report}}}}}
	})
	in := Inputs{Endpoints: endpoints{mic}, Readings: readings{reading("link_state[0].derive.or[1]", "c1", "", True)}}
	require.Len(t, resolveReadings(t, cat, in).Devices, 1)
	in.Readings[0].Value = False
	require.Empty(t, resolveReadings(t, cat, in).Devices)
	cat = hidProduct(func(p *catalogue.Product) {
		p.Endpoints, p.Sources = []catalogue.EndpointRule{{Type: AudioOutput}}, nil
		p.LinkState = p.LinkState[:1]
	})
	out := with(usb("out", AudioOutput, "0700"), func(e *endpoint) { e.Container = "c1" })
	in = Inputs{Endpoints: endpoints{out}, Readings: readings{reading("link_state[0]", "c1", "", False)}}
	require.Empty(t, resolveReadings(t, cat, in).Devices, "a loudspeaker has a link, too")
}

// A virtual endpoint that carries the headset's sound is as mute as the headset.
func TestVirtualEndpointGetsTheUnitsReadings(t *testing.T) {
	cat := hidProduct(func(p *catalogue.Product) {
		p.Endpoints = []catalogue.EndpointRule{{Type: AudioInput}}
		p.VirtualEndpoints = []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "echo"}}
	})
	mic := with(usb("mic", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	echo := endpoint{Source: "audio", ID: "echo", Name: "echo-cancel", Type: AudioInput, Virtual: true, Master: "mic"}
	in := Inputs{Endpoints: endpoints{mic, echo}, Readings: readings{reading("sources[0]", "c1", "", True)}}
	require.Equal(t, states{"mic": True, "echo": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute))
	in.Readings = append(in.Readings, reading("link_state[0]", "c1", "", False))
	s := resolveReadings(t, cat, in)
	require.Empty(t, s.Devices, "nor is it there without the headset")
	require.Len(t, reasons(t, s), 2)
}

// The button of the boom says nothing about the line-in of the same product.
func TestSourceOfOneInput(t *testing.T) {
	yes := true
	part := func(id, name string) endpoint {
		return with(usb(id, AudioInput, "0700"), func(e *endpoint) { e.Name, e.Container = name, "c1" })
	}
	echo := endpoint{Source: "audio", ID: "echo", Name: "echo-cancel", Type: AudioInput, Virtual: true}
	for name, c := range map[string]struct {
		pick   *catalogue.Pick
		master string
		want   states
	}{
		"every input":            {nil, "line", states{"boom": True, "line": True, "echo": True}},
		"by name":                {&catalogue.Pick{NameRegex: "Boom"}, "boom", states{"boom": True, "echo": True}},
		"the other is recorded":  {&catalogue.Pick{NameRegex: "Boom"}, "line", states{"boom": True}},
		"by the OS's id":         {&catalogue.Pick{NameRegex: "^line$"}, "boom", states{"line": True}},
		"nobody knows which one": {&catalogue.Pick{NameRegex: "Boom|echo"}, "", states{"boom": True}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) {
				p.Endpoints = []catalogue.EndpointRule{{Type: AudioInput}}
				p.VirtualEndpoints = []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "echo"}}
				p.Sources = append(p.Sources[:1:1], rule{Field: AutomaticGainControl, Pick: c.pick, SourceKind: kind{Const: &yes}})
				p.Sources[0].Pick = c.pick
			})
			echo.Master = c.master
			s := resolveReadings(t, cat, Inputs{
				Endpoints: endpoints{part("boom", "Acme 700 Boom"), part("line", "Acme 700 Line In"), echo},
				Readings:  readings{reading("sources[0]", "c1", "", True)},
			})
			require.Equal(t, c.want, flagsOf(s, HardwareMute))
			require.Equal(t, c.want, flagsOf(s, AutomaticGainControl))
			s = resolveReadings(t, cat, Inputs{
				Endpoints: endpoints{part("boom", "Acme 700 Boom"), part("line", "Acme 700 Line In"), echo},
				Pushes:    []Push{{Product: "p", Owner: "suite", State: flagStates{HardwareMute: True}}},
			})
			require.Equal(t, c.want, flagsOf(s, HardwareMute), "a push is about the same inputs")
		})
	}
}

func TestPushBeatsHID(t *testing.T) {
	mic := with(usb("mic", AudioInput, "0700"), func(e *endpoint) { e.Container, e.Serial = "c1", "s1" })
	cat := hidProduct(nil)
	in := Inputs{Endpoints: endpoints{mic}, Readings: readings{
		reading("sources[0]", "c1", "", True), reading("sources[1].derive.or[1]", "c1", "", True),
	}}
	in.Pushes = []Push{{Product: "p", Owner: "suite", State: flagStates{HardwareMute: False}}}
	s := resolveReadings(t, cat, in)
	require.Equal(t, states{"mic": False}, flagsOf(s, HardwareMute))
	require.Equal(t, states{"mic": True}, flagsOf(s, NoiseSuppression))
	in.Pushes[0].State[HardwareMute] = Unknown
	require.Equal(t, states{"mic": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute), "a push that does not know")

	r, err := catalogue.NewResolver(cat, Options{OS: Linux, AudioID: IDNative})
	require.NoError(t, err)
	explained := r.Explain(in)[mic.Key()]
	require.Equal(t, []Considered{
		{Rule: ViaPush, Flag: Flag{Origin: Origin{Via: ViaPush, Detail: "suite"}}},
		{Rule: "sources[0]", Flag: Flag{True, Origin{Via: ViaHIDReport, Detail: "hidraw-c1"}, epoch}},
	}, explained[HardwareMute])
	require.Equal(t, []Considered{
		{Rule: "sources[1]", Flag: Flag{True, Origin{Via: ViaDerive, Detail: "hid_report (hidraw-c1)"}, epoch}},
	}, explained[NoiseSuppression])
	require.Equal(t, []Considered{{Rule: "sources[2]"}}, explained[EchoCancellation], "it does not know")
}

// Makers give one serial number to many devices: what one of them says is not of another.
func TestEqualSerialNumbers(t *testing.T) {
	here := with(usb("mic", AudioInput, "0700"), func(e *endpoint) { e.Container, e.Serial = "c2", "0001" })
	there := with(usb("other", AudioInput, "0700"), func(e *endpoint) { e.Container, e.Serial = "c1", "0001" })
	bare := with(usb("bare", AudioInput, "0700"), func(e *endpoint) { e.Serial = "0001" })
	first, second := reading("sources[0]", "c1", "0001", True), reading("sources[0]", "c2", "0001", False)
	without := reading("sources[0]", "", "0001", True)
	for name, c := range map[string]struct {
		by        GroupBy
		endpoints []Endpoint
		readings  []Reading
		want      map[string]Tri
	}{
		"of a headset without endpoints":    {"", endpoints{here}, readings{first}, states{}},
		"both":                              {"", endpoints{here}, readings{first, second}, states{"mic": False}},
		"both are there":                    {"", endpoints{here, there}, readings{first, second}, states{"mic": False, "other": True}},
		"no container to compare":           {"", endpoints{bare}, readings{first}, states{"bare": True}},
		"no container, of several":          {"", endpoints{here, there}, readings{without}, states{}},
		"no container, of one":              {"", endpoints{here}, readings{without}, states{"mic": True}},
		"the vendor groups by it":           {GroupSerial, endpoints{here}, readings{first}, states{"mic": True}},
		"the vendor takes all for one unit": {GroupModel, endpoints{here}, readings{first}, states{"mic": True}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *catalogue.Product) { p.GroupBy = c.by })
			require.Equal(t, c.want, flagsOf(resolveReadings(t, cat, Inputs{Endpoints: c.endpoints, Readings: c.readings}), HardwareMute))
		})
	}
}
