package devices_test

import (
	"sync"
	"testing"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// flagOf resolves one microphone of a product with the given sources.
func flagOf(t *testing.T, f Field, os OS, sources []catalogue.SourceRule, set func(*Endpoint)) Flag {
	t.Helper()
	cat := catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Sources: sources})
	r, err := catalogue.NewResolver(cat, Options{OS: os})
	require.NoError(t, err)
	s := r.Resolve(Inputs{Endpoints: endpoints{with(usb("mic", AudioInput, "0700"), set)}})
	require.NoError(t, validate(s.Wire()))
	require.Len(t, s.Devices, 1)
	return s.Devices[0].Flags[f]
}

func TestSources(t *testing.T) {
	yes, no := true, false
	mute := func(require *bool) catalogue.SourceRule {
		return rule{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: require}}}
	}
	plain := func(require *bool) catalogue.SourceRule {
		return rule{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{RequireHardwareSupport: require}}}
	}
	effect := func(f, of Field) catalogue.SourceRule {
		return rule{Field: f, SourceKind: kind{OSEffects: &catalogue.OSEffects{Effect: of}}}
	}
	ctl := func(f Field, name string, invert bool) catalogue.SourceRule {
		return rule{Field: f, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: name, Invert: invert}}}
	}
	cases := map[string]struct {
		field   Field
		sources []catalogue.SourceRule
		set     func(*Endpoint)
		want    Tri
		via     string
		detail  string
	}{
		"no source: never reported": {HardwareMute, nil, mutedInHardware, Unknown, "", ""},
		"a source of another field": {NoiseSuppression, rules{mute(nil)}, mutedInHardware, Unknown, "", ""},

		"hardware mute":                         {HardwareMute, rules{mute(nil)}, mutedInHardware, True, ViaOSEndpointMute, "mic"},
		"hardware mute, off":                    {HardwareMute, rules{mute(nil)}, unmutedInHardware, False, ViaOSEndpointMute, "mic"},
		"hardware mute, unknown":                {HardwareMute, rules{mute(nil)}, func(e *endpoint) { e.MuteInHardware = true }, Unknown, "", ""},
		"software mute is no hardware mute":     {HardwareMute, rules{mute(nil)}, softMute(True), Unknown, "", ""},
		"software mute, support required":       {HardwareMute, rules{mute(&yes)}, softMute(True), Unknown, "", ""},
		"software mute, support not required":   {HardwareMute, rules{mute(&no)}, softMute(True), True, ViaOSEndpointMute, "mic"},
		"software unmute, support not required": {HardwareMute, rules{mute(&no)}, softMute(False), False, ViaOSEndpointMute, "mic"},

		"mute in the device, without the vendor's word":   {HardwareMute, rules{plain(nil)}, mutedInHardware, Unknown, "", ""},
		"unmute in the device, without the vendor's word": {HardwareMute, rules{plain(nil)}, unmutedInHardware, Unknown, "", ""},
		"mute in software, without the vendor's word":     {HardwareMute, rules{plain(&no)}, softMute(True), Unknown, "", ""},

		"effect of the same name": {NoiseSuppression, rules{effect(NoiseSuppression, "")}, func(e *endpoint) {
			e.Effects = flagStates{NoiseSuppression: True}
		}, True, ViaOSEffects, "mic"},
		"effect of another name": {NoiseSuppression, rules{effect(NoiseSuppression, EchoCancellation)}, func(e *endpoint) {
			e.Effects = flagStates{EchoCancellation: False, NoiseSuppression: True}
		}, False, ViaOSEffects, "mic"},
		"effect unknown": {NoiseSuppression, rules{effect(NoiseSuppression, "")}, asItIs, Unknown, "", ""},

		"control":                 {AutomaticGainControl, rules{ctl(AutomaticGainControl, "AGC", false)}, control("AGC", True), True, ViaALSACtl, "AGC"},
		"control, inverted":       {HardwareMute, rules{ctl(HardwareMute, "Capture", true)}, control("Capture", True), False, ViaALSACtl, "Capture"},
		"control off, inverted":   {HardwareMute, rules{ctl(HardwareMute, "Capture", true)}, control("Capture", False), True, ViaALSACtl, "Capture"},
		"control absent":          {HardwareMute, rules{ctl(HardwareMute, "Capture", true)}, control("Other", True), Unknown, "", ""},
		"control unknown, invert": {HardwareMute, rules{ctl(HardwareMute, "Capture", true)}, control("Capture", Unknown), Unknown, "", ""},

		"const true":  {NoiseSuppression, rules{{Field: NoiseSuppression, SourceKind: kind{Const: &yes}}}, asItIs, True, ViaConst, ""},
		"const false": {NoiseSuppression, rules{{Field: NoiseSuppression, SourceKind: kind{Const: &no}}}, asItIs, False, ViaConst, ""},

		"the first that knows decides": {AutomaticGainControl, rules{ctl(AutomaticGainControl, "AGC", false), effect(AutomaticGainControl, "")}, func(e *endpoint) {
			e.Controls, e.Effects = states{"AGC": False}, flagStates{AutomaticGainControl: True}
		}, False, ViaALSACtl, "AGC"},
		"one that does not know gives way": {AutomaticGainControl, rules{ctl(AutomaticGainControl, "AGC", false), effect(AutomaticGainControl, "")}, func(e *endpoint) {
			e.Effects = flagStates{AutomaticGainControl: True}
		}, True, ViaOSEffects, "mic"},
		"software mute gives way to the control": {HardwareMute, rules{mute(nil), ctl(HardwareMute, "Capture", true)}, func(e *endpoint) {
			e.Mute, e.Controls = False, states{"Capture": False}
		}, True, ViaALSACtl, "Capture"},
		"a constant at the end": {NoiseSuppression, rules{effect(NoiseSuppression, ""), {Field: NoiseSuppression, SourceKind: kind{Const: &yes}}}, func(e *endpoint) {
			e.Effects = flagStates{NoiseSuppression: False}
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
	sources := rules{
		{Field: NoiseSuppression, OS: []OS{Windows}, SourceKind: kind{Const: &yes}},
		{Field: NoiseSuppression, OS: []OS{Linux, Darwin}, SourceKind: kind{Const: &no}},
		{Field: EchoCancellation, OS: []OS{Windows, Linux}, SourceKind: kind{Const: &yes}},
	}
	for os, want := range map[OS]Tri{Windows: True, Linux: False, Darwin: False} {
		require.Equal(t, want, flagOf(t, NoiseSuppression, os, sources, asItIs).Value, os)
	}
	require.Equal(t, Unknown, flagOf(t, EchoCancellation, Darwin, sources, asItIs).Value)
}

func TestUnknownIsOmittedAndShown(t *testing.T) {
	yes := true
	cat := catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Sources: rules{{Field: NoiseSuppression, SourceKind: kind{Const: &yes}}}})
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
	cat := catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Sources: rules{
		{Field: NoiseSuppression, SourceKind: kind{Const: &yes}}, {Field: EchoCancellation, SourceKind: kind{Const: &yes}},
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
	sources := rules{{Field: HardwareMute, SourceKind: sharedMute}, {Field: NoiseSuppression, SourceKind: kind{Const: &yes}}}
	stale := func(e *endpoint) { e.Mute, e.MuteInHardware, e.Stale = True, true, true }
	f := flagOf(t, HardwareMute, Linux, sources, stale)
	require.Equal(t, True, f.Value, "the last good answer is kept")
	require.Equal(t, "os_endpoint_mute (mic, set by the button or in the sound settings), stale", f.Origin.String())
	require.False(t, flagOf(t, NoiseSuppression, Linux, sources, stale).Origin.Stale, "a constant needs no source")
	unknown := flagOf(t, HardwareMute, Linux, sources, func(e *endpoint) { e.MuteInHardware, e.Stale = true, true })
	require.Equal(t, Flag{}, unknown)
}

// What the sound server said before it failed gives way to a state that the headset tells itself, wherever that stands in the catalogue.
func TestStaleReadingGivesWay(t *testing.T) {
	no, id := false, catalogue.Byte(1)
	level := &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}
	toggle := &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}, Kind: catalogue.HIDToggle, Anchor: &catalogue.Anchor{Start: &no}}
	for name, c := range map[string]struct {
		stale      bool
		report     *catalogue.HIDReport
		told, want Tri
		via        string
	}{
		"fresh":                            {false, level, False, True, ViaOSEndpointMute},
		"stale, a level":                   {true, level, False, False, ViaHIDReport},
		"stale, a level that is not known": {true, level, Unknown, True, ViaOSEndpointMute},
		"stale, presses that were counted": {true, toggle, False, True, ViaOSEndpointMute},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := catalogue.NewResolver(catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Sources: rules{
				{Field: HardwareMute, SourceKind: sharedMute},
				{Field: HardwareMute, SourceKind: kind{HIDReport: c.report}},
				{Field: HardwareMute, SourceKind: kind{Const: &no}},
			}}), Options{OS: Linux})
			require.NoError(t, err)
			e := usb("mic", AudioInput, "0700")
			e.Container, e.Mute, e.MuteInHardware, e.Stale = "c", True, true, c.stale
			in := Inputs{Endpoints: endpoints{e}, Readings: readings{reading("sources[1]", "c", "", c.told)}}
			f := r.Resolve(in).Devices[0].Flags[HardwareMute]
			require.Equal(t, c.want, f.Value)
			require.Equal(t, c.via, f.Origin.Via)
			require.Equal(t, c.stale && c.via == ViaOSEndpointMute, f.Origin.Stale)
			considered := r.Explain(in)[e.Key()][HardwareMute]
			require.Len(t, considered, 3)
			require.Equal(t, f, Decides(considered), "what is explained is what is reported")
		})
	}
}

func TestSince(t *testing.T) {
	yes := true
	sources := rules{
		{Field: HardwareMute, SourceKind: sharedMute},
		{Field: NoiseSuppression, SourceKind: kind{Const: &yes}},
		{Field: EchoCancellation, SourceKind: kind{OSEffects: &catalogue.OSEffects{Effect: AutomaticGainControl}}},
		{Field: AutomaticGainControl, SourceKind: kind{ALSACtl: &catalogue.ALSACtl{Name: "AGC"}}},
	}
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	set := func(e *endpoint) {
		e.Mute, e.MuteInHardware, e.Attached = True, true, at(1)
		e.Effects, e.Controls = flagStates{AutomaticGainControl: True}, states{"AGC": False}
		e.Changed = map[string]time.Time{"mute": at(2), "effect:automatic_gain_control": at(3), "control:AGC": at(4)}
	}
	for f, want := range map[Field]time.Time{NoiseSuppression: at(1), HardwareMute: at(2), EchoCancellation: at(3), AutomaticGainControl: at(4)} {
		require.Equal(t, want, flagOf(t, f, Linux, sources, set).Since, f)
	}
	none := func(e *endpoint) { set(e); e.Mute = Unknown }
	require.Zero(t, flagOf(t, HardwareMute, Linux, sources, none).Since)
}

// TestNoMuteWithoutEvidence: a wrong "hardware muted" is the worst thing that can be said.
// Every microphone behind a muted one must itself be known to be muted.
func TestNoMuteWithoutEvidence(t *testing.T) {
	r := testResolver(Options{IDMaxBytes: 127})
	rapid.Check(t, func(t *rapid.T) {
		in := anyEndpoints().Draw(t, "in")
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
	in := anyEndpoints().Example(7)
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
