package devices

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// flagOf resolves one microphone of a product with the given sources.
func flagOf(t *testing.T, f Field, os OS, sources []SourceRule, set func(*Endpoint)) Flag {
	t.Helper()
	cat := catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Sources: sources})
	r, err := NewResolver(cat, Options{OS: os})
	require.NoError(t, err)
	s := r.Resolve(Inputs{Endpoints: []Endpoint{with(usb("mic", AudioInput, "0700"), set)}})
	require.NoError(t, validate(s.Wire()))
	require.Len(t, s.Devices, 1)
	return s.Devices[0].Flags[f]
}

func TestSources(t *testing.T) {
	yes, no := true, false
	mute := func(require *bool) SourceRule {
		return SourceRule{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: require}}}
	}
	plain := func(require *bool) SourceRule {
		return SourceRule{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{RequireHardwareSupport: require}}}
	}
	effect := func(f, of Field) SourceRule {
		return SourceRule{Field: f, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: of}}}
	}
	ctl := func(f Field, name string, invert bool) SourceRule {
		return SourceRule{Field: f, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: name, Invert: invert}}}
	}
	cases := map[string]struct {
		field   Field
		sources []SourceRule
		set     func(*Endpoint)
		want    Tri
		via     string
		detail  string
	}{
		"no source: never reported": {HardwareMute, nil, func(e *Endpoint) { e.Mute, e.MuteInHardware = True, true }, Unknown, "", ""},
		"a source of another field": {NoiseSuppression, []SourceRule{mute(nil)}, func(e *Endpoint) { e.Mute, e.MuteInHardware = True, true }, Unknown, "", ""},

		"hardware mute":                         {HardwareMute, []SourceRule{mute(nil)}, func(e *Endpoint) { e.Mute, e.MuteInHardware = True, true }, True, ViaOSEndpointMute, "mic"},
		"hardware mute, off":                    {HardwareMute, []SourceRule{mute(nil)}, func(e *Endpoint) { e.Mute, e.MuteInHardware = False, true }, False, ViaOSEndpointMute, "mic"},
		"hardware mute, unknown":                {HardwareMute, []SourceRule{mute(nil)}, func(e *Endpoint) { e.MuteInHardware = true }, Unknown, "", ""},
		"software mute is no hardware mute":     {HardwareMute, []SourceRule{mute(nil)}, func(e *Endpoint) { e.Mute = True }, Unknown, "", ""},
		"software mute, support required":       {HardwareMute, []SourceRule{mute(&yes)}, func(e *Endpoint) { e.Mute = True }, Unknown, "", ""},
		"software mute, support not required":   {HardwareMute, []SourceRule{mute(&no)}, func(e *Endpoint) { e.Mute = True }, True, ViaOSEndpointMute, "mic"},
		"software unmute, support not required": {HardwareMute, []SourceRule{mute(&no)}, func(e *Endpoint) { e.Mute = False }, False, ViaOSEndpointMute, "mic"},

		"mute in the device, without the vendor's word":   {HardwareMute, []SourceRule{plain(nil)}, func(e *Endpoint) { e.Mute, e.MuteInHardware = True, true }, Unknown, "", ""},
		"unmute in the device, without the vendor's word": {HardwareMute, []SourceRule{plain(nil)}, func(e *Endpoint) { e.Mute, e.MuteInHardware = False, true }, Unknown, "", ""},
		"mute in software, without the vendor's word":     {HardwareMute, []SourceRule{plain(&no)}, func(e *Endpoint) { e.Mute = True }, Unknown, "", ""},

		"effect of the same name": {NoiseSuppression, []SourceRule{effect(NoiseSuppression, "")}, func(e *Endpoint) { e.Effects = map[Field]Tri{NoiseSuppression: True} }, True, ViaOSEffects, "mic"},
		"effect of another name":  {NoiseSuppression, []SourceRule{effect(NoiseSuppression, EchoCancellation)}, func(e *Endpoint) { e.Effects = map[Field]Tri{EchoCancellation: False, NoiseSuppression: True} }, False, ViaOSEffects, "mic"},
		"effect unknown":          {NoiseSuppression, []SourceRule{effect(NoiseSuppression, "")}, func(*Endpoint) {}, Unknown, "", ""},

		"control":                 {AutomaticGainControl, []SourceRule{ctl(AutomaticGainControl, "AGC", false)}, func(e *Endpoint) { e.Controls = map[string]Tri{"AGC": True} }, True, ViaALSACtl, "AGC"},
		"control, inverted":       {HardwareMute, []SourceRule{ctl(HardwareMute, "Capture", true)}, func(e *Endpoint) { e.Controls = map[string]Tri{"Capture": True} }, False, ViaALSACtl, "Capture"},
		"control off, inverted":   {HardwareMute, []SourceRule{ctl(HardwareMute, "Capture", true)}, func(e *Endpoint) { e.Controls = map[string]Tri{"Capture": False} }, True, ViaALSACtl, "Capture"},
		"control absent":          {HardwareMute, []SourceRule{ctl(HardwareMute, "Capture", true)}, func(e *Endpoint) { e.Controls = map[string]Tri{"Other": True} }, Unknown, "", ""},
		"control unknown, invert": {HardwareMute, []SourceRule{ctl(HardwareMute, "Capture", true)}, func(e *Endpoint) { e.Controls = map[string]Tri{"Capture": Unknown} }, Unknown, "", ""},

		"const true":  {NoiseSuppression, []SourceRule{{Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}}}, func(*Endpoint) {}, True, ViaConst, ""},
		"const false": {NoiseSuppression, []SourceRule{{Field: NoiseSuppression, SourceKind: SourceKind{Const: &no}}}, func(*Endpoint) {}, False, ViaConst, ""},

		"the first that knows decides": {AutomaticGainControl, []SourceRule{ctl(AutomaticGainControl, "AGC", false), effect(AutomaticGainControl, "")}, func(e *Endpoint) {
			e.Controls, e.Effects = map[string]Tri{"AGC": False}, map[Field]Tri{AutomaticGainControl: True}
		}, False, ViaALSACtl, "AGC"},
		"one that does not know gives way": {AutomaticGainControl, []SourceRule{ctl(AutomaticGainControl, "AGC", false), effect(AutomaticGainControl, "")}, func(e *Endpoint) {
			e.Effects = map[Field]Tri{AutomaticGainControl: True}
		}, True, ViaOSEffects, "mic"},
		"software mute gives way to the control": {HardwareMute, []SourceRule{mute(nil), ctl(HardwareMute, "Capture", true)}, func(e *Endpoint) {
			e.Mute, e.Controls = False, map[string]Tri{"Capture": False}
		}, True, ViaALSACtl, "Capture"},
		"a constant at the end": {NoiseSuppression, []SourceRule{effect(NoiseSuppression, ""), {Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}}}, func(e *Endpoint) {
			e.Effects = map[Field]Tri{NoiseSuppression: False}
		}, False, ViaOSEffects, "mic"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := flagOf(t, c.field, Linux, c.sources, c.set)
			require.Equal(t, c.want, got.Value)
			require.Equal(t, Origin{Via: c.via, Detail: c.detail, Shared: c.via == ViaOSEndpointMute}, got.Origin)
		})
	}
}

func TestSourcesForASystem(t *testing.T) {
	yes, no := true, false
	sources := []SourceRule{
		{Field: NoiseSuppression, OS: []OS{Windows}, SourceKind: SourceKind{Const: &yes}},
		{Field: NoiseSuppression, OS: []OS{Linux, Darwin}, SourceKind: SourceKind{Const: &no}},
		{Field: EchoCancellation, OS: []OS{Windows, Linux}, SourceKind: SourceKind{Const: &yes}},
	}
	for os, want := range map[OS]Tri{Windows: True, Linux: False, Darwin: False} {
		require.Equal(t, want, flagOf(t, NoiseSuppression, os, sources, func(*Endpoint) {}).Value, os)
	}
	require.Equal(t, Unknown, flagOf(t, EchoCancellation, Darwin, sources, func(*Endpoint) {}).Value)
}

func TestUnknownIsOmittedAndShown(t *testing.T) {
	yes := true
	cat := catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Sources: []SourceRule{{Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}}}})
	s := resolve(t, cat, native, usb("mic", AudioInput, "0700"), usb("out", AudioOutput, "0700"))
	mic, out := s.Devices[0], s.Devices[1]
	require.Equal(t, True.Ptr(), mic.NoiseSuppression)
	require.Nil(t, mic.HardwareMute)
	require.Len(t, mic.Flags, len(Fields), "the status shows unknown flags too")
	require.Equal(t, Flag{}, mic.Flags[HardwareMute])
	require.Nil(t, out.Flags, "only microphones have flags")
	require.Nil(t, out.NoiseSuppression)
}

// TestFieldsThatMayBeReported: a user or an administrator can switch a flag off.
func TestFieldsThatMayBeReported(t *testing.T) {
	yes := true
	cat := catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Sources: []SourceRule{
		{Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}}, {Field: EchoCancellation, SourceKind: SourceKind{Const: &yes}},
	}})
	for _, c := range []struct {
		fields []Field
		ns, ec bool
	}{
		{nil, true, true}, {[]Field{}, false, false}, {[]Field{NoiseSuppression}, true, false},
	} {
		s := resolve(t, cat, Options{Fields: c.fields}, usb("mic", AudioInput, "0700"))
		require.Equal(t, c.ns, s.Devices[0].NoiseSuppression != nil)
		require.Equal(t, c.ec, s.Devices[0].EchoCancellation != nil)
		if c.fields != nil {
			require.Len(t, s.Devices[0].Flags, len(c.fields))
		}
	}
}

func TestFlagsOfAFailedSourceAreStale(t *testing.T) {
	yes := true
	sources := []SourceRule{{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}}, {Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}}}
	stale := func(e *Endpoint) { e.Mute, e.MuteInHardware, e.Stale = True, true, true }
	f := flagOf(t, HardwareMute, Linux, sources, stale)
	require.Equal(t, True, f.Value, "the last good answer is kept")
	require.Equal(t, "os_endpoint_mute (mic, set by the button or in the sound settings), stale", f.Origin.String())
	require.False(t, flagOf(t, NoiseSuppression, Linux, sources, stale).Origin.Stale, "a constant needs no source")
	unknown := flagOf(t, HardwareMute, Linux, sources, func(e *Endpoint) { e.MuteInHardware, e.Stale = true, true })
	require.Equal(t, Flag{}, unknown)
}

// What the sound server said before it failed gives way to a state that the headset tells itself, wherever that stands in the catalogue.
func TestStaleReadingGivesWay(t *testing.T) {
	no, id := false, Byte(1)
	level := &HIDReport{ReportID: &id, Value: &ByteValue{Byte: 1}}
	toggle := &HIDReport{ReportID: &id, Value: &ByteValue{Byte: 1}, Kind: HIDToggle, Anchor: &Anchor{Start: &no}}
	for name, c := range map[string]struct {
		stale      bool
		report     *HIDReport
		told, want Tri
		via        string
	}{
		"fresh":                            {false, level, False, True, ViaOSEndpointMute},
		"stale, a level":                   {true, level, False, False, ViaHIDReport},
		"stale, a level that is not known": {true, level, Unknown, True, ViaOSEndpointMute},
		"stale, presses that were counted": {true, toggle, False, True, ViaOSEndpointMute},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewResolver(catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Sources: []SourceRule{
				{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}},
				{Field: HardwareMute, SourceKind: SourceKind{HIDReport: c.report}},
				{Field: HardwareMute, SourceKind: SourceKind{Const: &no}},
			}}), Options{OS: Linux})
			require.NoError(t, err)
			e := usb("mic", AudioInput, "0700")
			e.Container, e.Mute, e.MuteInHardware, e.Stale = "c", True, true, c.stale
			in := Inputs{Endpoints: []Endpoint{e}, Readings: []Reading{reading("sources[1]", "c", "", c.told)}}
			f := r.Resolve(in).Devices[0].Flags[HardwareMute]
			require.Equal(t, c.want, f.Value)
			require.Equal(t, c.via, f.Origin.Via)
			require.Equal(t, c.stale && c.via == ViaOSEndpointMute, f.Origin.Stale)
			considered := r.Explain(in)[e.Key()][HardwareMute]
			require.Len(t, considered, 3)
			require.Equal(t, f, decides(considered), "what is explained is what is reported")
		})
	}
}

func TestSince(t *testing.T) {
	yes := true
	sources := []SourceRule{
		{Field: HardwareMute, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}},
		{Field: NoiseSuppression, SourceKind: SourceKind{Const: &yes}},
		{Field: EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: AutomaticGainControl}}},
		{Field: AutomaticGainControl, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "AGC"}}},
	}
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	set := func(e *Endpoint) {
		e.Mute, e.MuteInHardware, e.Attached = True, true, at(1)
		e.Effects, e.Controls = map[Field]Tri{AutomaticGainControl: True}, map[string]Tri{"AGC": False}
		e.Changed = map[string]time.Time{"mute": at(2), "effect:automatic_gain_control": at(3), "control:AGC": at(4)}
	}
	for f, want := range map[Field]time.Time{NoiseSuppression: at(1), HardwareMute: at(2), EchoCancellation: at(3), AutomaticGainControl: at(4)} {
		require.Equal(t, want, flagOf(t, f, Linux, sources, set).Since, f)
	}
	none := func(e *Endpoint) { set(e); e.Mute = Unknown }
	require.Zero(t, flagOf(t, HardwareMute, Linux, sources, none).Since)
}

func TestMergeFlags(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	flag := func(v Tri, since int, via string) Flag {
		return Flag{Value: v, Since: at(since), Origin: Origin{Via: via}}
	}
	cases := map[string]struct {
		in   []Flag
		want Flag
	}{
		"none":                            {nil, Flag{}},
		"one":                             {[]Flag{flag(True, 1, "a")}, flag(True, 1, "a")},
		"all true, since the last":        {[]Flag{flag(True, 1, "a"), flag(True, 3, "b"), flag(True, 2, "c")}, flag(True, 3, "a")},
		"one false decides":               {[]Flag{flag(True, 1, "a"), flag(False, 2, "b"), flag(True, 3, "c")}, flag(False, 2, "b")},
		"two false, since the first":      {[]Flag{flag(False, 2, "a"), flag(True, 9, "b"), flag(False, 1, "c")}, flag(False, 1, "a")},
		"two false, the other way around": {[]Flag{flag(False, 1, "a"), flag(False, 2, "b")}, flag(False, 1, "a")},
		"false beside unknown":            {[]Flag{{}, flag(False, 1, "a")}, flag(False, 1, "a")},
		"true beside unknown":             {[]Flag{flag(True, 1, "a"), {}}, Flag{}},
		"all unknown":                     {[]Flag{{}, {}}, Flag{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, mergeFlags(c.in)) })
	}
}

// TestNoMuteWithoutEvidence: a wrong "hardware muted" is the worst thing that can be said.
// Every microphone behind a muted one must itself be known to be muted.
func TestNoMuteWithoutEvidence(t *testing.T) {
	r := testResolver(Options{IDMaxBytes: 127})
	rapid.Check(t, func(t *rapid.T) {
		in := endpoints().Draw(t, "in")
		byKey := make(map[Key]Endpoint)
		muted := make(map[string]bool) // by product: a microphone in hardware that is
		evidence := func(product string, e Endpoint) bool {
			if product == "headset" {
				return e.Mute == True
			}
			return e.Mute == True && e.MuteInHardware || e.Controls["Odd Switch"] == False
		}
		for _, e := range in {
			byKey[e.Key()] = e
			for _, p := range []string{"headset", "mic"} {
				muted[p] = muted[p] || e.Type == AudioInput && !e.Virtual && evidence(p, e)
			}
		}
		for _, rep := range r.Resolve(Inputs{Endpoints: in}).Devices {
			if rep.HardwareMute == nil || !*rep.HardwareMute {
				continue
			}
			for _, k := range rep.Endpoints {
				if e := byKey[k]; e.Virtual {
					require.True(t, muted[rep.Product], "%+v", e)
				} else {
					require.True(t, evidence(rep.Product, e), "%+v", e)
				}
			}
		}
	})
}

func TestResolverIsSafeForConcurrentUse(t *testing.T) {
	r := testResolver(Options{IDMaxBytes: 127})
	in := endpoints().Example(7)
	want := r.Resolve(Inputs{Endpoints: in})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if !r.Resolve(Inputs{Endpoints: in}).Equal(want) {
					t.Error("another result")
				}
			}
		})
	}
	wg.Wait()
}
