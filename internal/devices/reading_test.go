package devices

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hidProduct is a headset whose flags and link HID tells.
func hidProduct(change func(*Product)) *Catalogue {
	report := func(id Byte) SourceKind {
		return SourceKind{HIDReport: &HIDReport{ReportID: &id, Value: &ByteValue{Byte: 1}}}
	}
	p := Product{
		ID: "p", Links: []Link{usbLink("0700")},
		Sources: []SourceRule{
			{Field: HardwareMute, SourceKind: report(1)},
			{Field: NoiseSuppression, SourceKind: SourceKind{Derive: &Derive{Or: []SourceKind{report(2), report(3)}}}},
			{Field: EchoCancellation, SourceKind: SourceKind{Derive: &Derive{And: []SourceKind{report(4), report(5)}}}},
		},
		LinkState: []LinkRule{{SourceKind: report(6)}, {SourceKind: report(7)}},
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

func resolveReadings(t *testing.T, cat *Catalogue, in Inputs) Snapshot {
	t.Helper()
	require.Empty(t, cat.Check())
	opts := native
	opts.OS = Linux
	r, err := NewResolver(cat, opts)
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
		return with(usb(id, AudioInput, "0700"), func(e *Endpoint) { e.Container, e.Serial = container, serial })
	}
	muted := func(container, serial string) Reading { return reading("sources[0]", container, serial, True) }
	for name, c := range map[string]struct {
		by        GroupBy
		endpoints []Endpoint
		readings  []Reading
		want      map[string]Tri
	}{
		"by container":                                      {"", []Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []Reading{muted("c2", "")}, map[string]Tri{"b": True}},
		"by container, other serial numbers":                {"", []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []Reading{muted("c2", "s1")}, map[string]Tri{"b": True}},
		"by container, all bear one serial number":          {"", []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, []Reading{muted("c2", "s1")}, map[string]Tri{"b": True}},
		"all bear one serial number, and no more":           {"", []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1")}, []Reading{muted("", "s1")}, map[string]Tri{}},
		"by serial number":                                  {"", []Endpoint{mic("a", "", "s1"), mic("b", "", "s2")}, []Reading{muted("", "s2")}, map[string]Tri{"b": True}},
		"of nothing there":                                  {"", []Endpoint{mic("a", "c1", "s1")}, []Reading{muted("c2", "s2")}, map[string]Tri{}},
		"unsure, one unit":                                  {"", []Endpoint{mic("a", "c1", "")}, []Reading{muted("", "s1")}, map[string]Tri{"a": True}},
		"unsure, two units":                                 {"", []Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []Reading{muted("", "s1")}, map[string]Tri{}},
		"unsure, but the other is surely not it":            {"", []Endpoint{mic("a", "c1", ""), mic("b", "c2", "s2")}, []Reading{muted("", "s1")}, map[string]Tri{"a": True}},
		"two units, each its own":                           {"", []Endpoint{mic("a", "c1", ""), mic("b", "c2", "")}, []Reading{muted("c1", ""), reading("sources[0]", "c2", "", False)}, map[string]Tri{"a": True, "b": False}},
		"all bear one serial number, and one none":          {"", []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s1"), mic("c", "c3", "")}, []Reading{muted("", "s1")}, map[string]Tri{}},
		"several USB devices":                               {GroupSerial, []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []Reading{muted("c3", "s2")}, map[string]Tri{"b": True}},
		"several USB devices, and one of another":           {GroupSerial, []Endpoint{mic("a", "c1", "s1"), mic("b", "c2", "s2")}, []Reading{muted("c1", "s2")}, map[string]Tri{"b": True}},
		"several USB devices, one never speaks":             {GroupSerial, []Endpoint{mic("a", "c1", "s1")}, []Reading{muted("c1", "s1"), reading("sources[0]", "c2", "s1", Unknown)}, map[string]Tri{"a": True}},
		"model: all are muted":                              {GroupModel, []Endpoint{mic("a", "c1", "")}, []Reading{muted("c1", ""), muted("c2", "")}, map[string]Tri{"a": True}},
		"model: one is not":                                 {GroupModel, []Endpoint{mic("a", "c1", "")}, []Reading{muted("c1", ""), reading("sources[0]", "c2", "", False)}, map[string]Tri{"a": False}},
		"model: of one nobody knows":                        {GroupModel, []Endpoint{mic("a", "c1", "")}, []Reading{muted("c1", ""), reading("sources[0]", "c2", "", Unknown)}, map[string]Tri{}},
		"another product":                                   {"", []Endpoint{mic("a", "c1", "")}, []Reading{{Product: "q", Rule: "sources[0]", Container: "c1", Value: True}}, map[string]Tri{}},
		"another rule":                                      {"", []Endpoint{mic("a", "c1", "")}, []Reading{reading("sources[9]", "c1", "", True)}, map[string]Tri{}},
		"two interfaces, one of which never speaks":         {"", []Endpoint{mic("a", "c1", "")}, []Reading{reading("sources[0]", "c1", "", Unknown), muted("c1", ""), reading("sources[0]", "c1", "", Unknown)}, map[string]Tri{"a": True}},
		"a device of its own with the unit's serial number": {"", []Endpoint{mic("a", "c1", "s1")}, []Reading{reading("sources[0]", "c1", "s1", Unknown), muted("", "s1")}, map[string]Tri{"a": True}},
		"another device with the same serial number":        {"", []Endpoint{mic("a", "c1", "s1")}, []Reading{reading("sources[0]", "c1", "s1", Unknown), muted("c2", "s1")}, map[string]Tri{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *Product) { p.GroupBy = c.by })
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
	mic := with(usb("a", AudioInput, "0700"), func(e *Endpoint) { e.Container = "c1" })
	for _, readings := range [][]Reading{{early, late}, {late, early}} {
		s := resolveReadings(t, hidProduct(nil), Inputs{Endpoints: []Endpoint{mic}, Readings: readings})
		require.Equal(t, Flag{False, late.Origin, late.Since}, s.Devices[0].Flags[HardwareMute])
	}
}

func TestDerive(t *testing.T) {
	mic := with(usb("a", AudioInput, "0700"), func(e *Endpoint) { e.Container = "c1" })
	for _, a := range []Tri{Unknown, False, True} {
		for _, b := range []Tri{Unknown, False, True} {
			readings := []Reading{
				reading("sources[1].derive.or[0]", "c1", "", a), reading("sources[1].derive.or[1]", "c1", "", b),
				reading("sources[2].derive.and[0]", "c1", "", a), reading("sources[2].derive.and[1]", "c1", "", b),
			}
			for i := range readings {
				readings[i].Since = epoch.Add(time.Duration(i%2) * time.Second)
			}
			or, and := a.Not().And(b.Not()).Not(), a.And(b)
			flags := resolveReadings(t, hidProduct(nil), Inputs{Endpoints: []Endpoint{mic}, Readings: readings}).Devices[0].Flags
			require.Equal(t, or, flags[NoiseSuppression].Value, "%v or %v", a, b)
			require.Equal(t, and, flags[EchoCancellation].Value, "%v and %v", a, b)
			require.Equal(t, or, Derive{Or: []SourceKind{}}.Of([]Tri{a, b}))
			require.Equal(t, and, Derive{And: []SourceKind{}}.Of([]Tri{b, a}))
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
	same := func(e *Endpoint) { e.Container = "c1" }
	endpoints := []Endpoint{with(usb("mic", AudioInput, "0700"), same), with(usb("out", AudioOutput, "0700"), same)}
	first := func(v Tri) Reading { return reading("link_state[0]", "c1", "", v) }
	second := func(v Tri) Reading { return reading("link_state[1]", "c1", "", v) }
	other := func(v Tri) Reading { return reading("link_state[0]", "c2", "", v) }
	for name, c := range map[string]struct {
		by       GroupBy
		readings []Reading
		want     []string
	}{
		"nobody knows":                   {"", nil, []string{"mic", "out"}},
		"unknown":                        {"", []Reading{first(Unknown)}, []string{"mic", "out"}},
		"up":                             {"", []Reading{first(True)}, []string{"mic", "out"}},
		"down":                           {"", []Reading{first(False)}, []string{}},
		"the first that knows decides":   {"", []Reading{second(False), first(True)}, []string{"mic", "out"}},
		"the second where it does not":   {"", []Reading{second(False), first(Unknown)}, []string{}},
		"another unit":                   {"", []Reading{other(False)}, []string{"mic", "out"}},
		"model: one is enough":           {GroupModel, []Reading{first(False), other(True)}, []string{"mic", "out"}},
		"model: of one nobody knows":     {GroupModel, []Reading{first(False), other(Unknown)}, []string{"mic", "out"}},
		"model: none is there":           {GroupModel, []Reading{first(False), other(False)}, []string{}},
		"model: the second rule decides": {GroupModel, []Reading{first(False), other(Unknown), second(False)}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			cat := hidProduct(func(p *Product) { p.GroupBy = c.by })
			s := resolveReadings(t, cat, Inputs{Endpoints: endpoints, Readings: c.readings})
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
	mic := with(usb("mic", AudioInput, "0700"), func(e *Endpoint) {
		e.Container, e.Controls = "c1", map[string]Tri{"Jack": False}
	})
	id := Byte(1)
	report := SourceKind{HIDReport: &HIDReport{ReportID: &id, Value: &ByteValue{Byte: 1}}}
	cat := hidProduct(func(p *Product) {
		p.Sources = nil
		p.LinkState = []LinkRule{{SourceKind: SourceKind{Derive: &Derive{Or: []SourceKind{{ALSACtl: &ALSACtl{Name: "Jack"}}, report}}}}}
	})
	in := Inputs{Endpoints: []Endpoint{mic}, Readings: []Reading{reading("link_state[0].derive.or[1]", "c1", "", True)}}
	require.Len(t, resolveReadings(t, cat, in).Devices, 1)
	in.Readings[0].Value = False
	require.Empty(t, resolveReadings(t, cat, in).Devices)
	cat = hidProduct(func(p *Product) {
		p.Endpoints, p.Sources = []EndpointRule{{Type: AudioOutput}}, nil
		p.LinkState = p.LinkState[:1]
	})
	out := with(usb("out", AudioOutput, "0700"), func(e *Endpoint) { e.Container = "c1" })
	in = Inputs{Endpoints: []Endpoint{out}, Readings: []Reading{reading("link_state[0]", "c1", "", False)}}
	require.Empty(t, resolveReadings(t, cat, in).Devices, "a loudspeaker has a link, too")
}

// A virtual endpoint that carries the headset's sound is as mute as the headset.
func TestVirtualEndpointGetsTheUnitsReadings(t *testing.T) {
	cat := hidProduct(func(p *Product) {
		p.Endpoints = []EndpointRule{{Type: AudioInput}}
		p.VirtualEndpoints = []VirtualRule{{Type: AudioInput, NameRegex: "echo"}}
	})
	mic := with(usb("mic", AudioInput, "0700"), func(e *Endpoint) { e.Container = "c1" })
	echo := Endpoint{Source: "audio", ID: "echo", Name: "echo-cancel", Type: AudioInput, Virtual: true, Master: "mic"}
	in := Inputs{Endpoints: []Endpoint{mic, echo}, Readings: []Reading{reading("sources[0]", "c1", "", True)}}
	require.Equal(t, map[string]Tri{"mic": True, "echo": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute))
	in.Readings = append(in.Readings, reading("link_state[0]", "c1", "", False))
	s := resolveReadings(t, cat, in)
	require.Empty(t, s.Devices, "nor is it there without the headset")
	require.Len(t, reasons(s), 2)
}

func TestPushBeatsHID(t *testing.T) {
	mic := with(usb("mic", AudioInput, "0700"), func(e *Endpoint) { e.Container, e.Serial = "c1", "s1" })
	cat := hidProduct(nil)
	in := Inputs{Endpoints: []Endpoint{mic}, Readings: []Reading{
		reading("sources[0]", "c1", "", True), reading("sources[1].derive.or[1]", "c1", "", True),
	}}
	in.Pushes = []Push{{Product: "p", Owner: "suite", State: map[Field]Tri{HardwareMute: False}}}
	s := resolveReadings(t, cat, in)
	require.Equal(t, map[string]Tri{"mic": False}, flagsOf(s, HardwareMute))
	require.Equal(t, map[string]Tri{"mic": True}, flagsOf(s, NoiseSuppression))
	in.Pushes[0].State[HardwareMute] = Unknown
	require.Equal(t, map[string]Tri{"mic": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute), "a push that does not know")

	r, err := NewResolver(cat, Options{OS: Linux, AudioID: IDNative})
	require.NoError(t, err)
	explained := r.Explain(in)[mic.Key()]
	require.Equal(t, []Considered{
		{ViaPush, Flag{Origin: Origin{Via: ViaPush, Detail: "suite"}}},
		{"sources[0]", Flag{True, Origin{Via: ViaHIDReport, Detail: "hidraw-c1"}, epoch}},
	}, explained[HardwareMute])
	require.Equal(t, []Considered{
		{"sources[1]", Flag{True, Origin{Via: ViaDerive, Detail: "hid_report (hidraw-c1)"}, epoch}},
	}, explained[NoiseSuppression])
	require.Equal(t, []Considered{{"sources[2]", Flag{}}}, explained[EchoCancellation], "it does not know")
}
