package devices_test

import (
	"sync"
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// flagOf resolves one microphone of a product with the given sources.
func flagOf(t *testing.T, f devices.Field, os devices.OS, sources []catalogue.SourceRule, set func(*devices.Endpoint)) devices.Flag {
	t.Helper()
	cat := catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Sources: sources})
	r, err := catalogue.NewResolver(cat, devices.Options{OS: os})
	require.NoError(t, err)
	s := r.Resolve(devices.Inputs{Endpoints: []devices.Endpoint{with(usb("mic", devices.AudioInput, "0700"), set)}})
	require.NoError(t, validate(s.Wire()))
	require.Len(t, s.Devices, 1)
	return s.Devices[0].Flags[f]
}

func TestSources(t *testing.T) {
	yes, no := true, false
	mute := func(require *bool) catalogue.SourceRule {
		return catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: require}}}
	}
	plain := func(require *bool) catalogue.SourceRule {
		return catalogue.SourceRule{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{RequireHardwareSupport: require}}}
	}
	effect := func(f, of devices.Field) catalogue.SourceRule {
		return catalogue.SourceRule{Field: f, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{Effect: of}}}
	}
	ctl := func(f devices.Field, name string, invert bool) catalogue.SourceRule {
		return catalogue.SourceRule{Field: f, SourceKind: catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: name, Invert: invert}}}
	}
	cases := map[string]struct {
		field   devices.Field
		sources []catalogue.SourceRule
		set     func(*devices.Endpoint)
		want    devices.Tri
		via     string
		detail  string
	}{
		"no source: never reported": {devices.HardwareMute, nil, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.True, true }, devices.Unknown, "", ""},
		"a source of another field": {devices.NoiseSuppression, []catalogue.SourceRule{mute(nil)}, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.True, true }, devices.Unknown, "", ""},

		"hardware mute":                         {devices.HardwareMute, []catalogue.SourceRule{mute(nil)}, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.True, true }, devices.True, devices.ViaOSEndpointMute, "mic"},
		"hardware mute, off":                    {devices.HardwareMute, []catalogue.SourceRule{mute(nil)}, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.False, true }, devices.False, devices.ViaOSEndpointMute, "mic"},
		"hardware mute, unknown":                {devices.HardwareMute, []catalogue.SourceRule{mute(nil)}, func(e *devices.Endpoint) { e.MuteInHardware = true }, devices.Unknown, "", ""},
		"software mute is no hardware mute":     {devices.HardwareMute, []catalogue.SourceRule{mute(nil)}, func(e *devices.Endpoint) { e.Mute = devices.True }, devices.Unknown, "", ""},
		"software mute, support required":       {devices.HardwareMute, []catalogue.SourceRule{mute(&yes)}, func(e *devices.Endpoint) { e.Mute = devices.True }, devices.Unknown, "", ""},
		"software mute, support not required":   {devices.HardwareMute, []catalogue.SourceRule{mute(&no)}, func(e *devices.Endpoint) { e.Mute = devices.True }, devices.True, devices.ViaOSEndpointMute, "mic"},
		"software unmute, support not required": {devices.HardwareMute, []catalogue.SourceRule{mute(&no)}, func(e *devices.Endpoint) { e.Mute = devices.False }, devices.False, devices.ViaOSEndpointMute, "mic"},

		"mute in the device, without the vendor's word":   {devices.HardwareMute, []catalogue.SourceRule{plain(nil)}, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.True, true }, devices.Unknown, "", ""},
		"unmute in the device, without the vendor's word": {devices.HardwareMute, []catalogue.SourceRule{plain(nil)}, func(e *devices.Endpoint) { e.Mute, e.MuteInHardware = devices.False, true }, devices.Unknown, "", ""},
		"mute in software, without the vendor's word":     {devices.HardwareMute, []catalogue.SourceRule{plain(&no)}, func(e *devices.Endpoint) { e.Mute = devices.True }, devices.Unknown, "", ""},

		"effect of the same name": {devices.NoiseSuppression, []catalogue.SourceRule{effect(devices.NoiseSuppression, "")}, func(e *devices.Endpoint) {
			e.Effects = map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.True}
		}, devices.True, devices.ViaOSEffects, "mic"},
		"effect of another name": {devices.NoiseSuppression, []catalogue.SourceRule{effect(devices.NoiseSuppression, devices.EchoCancellation)}, func(e *devices.Endpoint) {
			e.Effects = map[devices.Field]devices.Tri{devices.EchoCancellation: devices.False, devices.NoiseSuppression: devices.True}
		}, devices.False, devices.ViaOSEffects, "mic"},
		"effect unknown": {devices.NoiseSuppression, []catalogue.SourceRule{effect(devices.NoiseSuppression, "")}, func(*devices.Endpoint) {}, devices.Unknown, "", ""},

		"control":                 {devices.AutomaticGainControl, []catalogue.SourceRule{ctl(devices.AutomaticGainControl, "AGC", false)}, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"AGC": devices.True} }, devices.True, devices.ViaALSACtl, "AGC"},
		"control, inverted":       {devices.HardwareMute, []catalogue.SourceRule{ctl(devices.HardwareMute, "Capture", true)}, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Capture": devices.True} }, devices.False, devices.ViaALSACtl, "Capture"},
		"control off, inverted":   {devices.HardwareMute, []catalogue.SourceRule{ctl(devices.HardwareMute, "Capture", true)}, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Capture": devices.False} }, devices.True, devices.ViaALSACtl, "Capture"},
		"control absent":          {devices.HardwareMute, []catalogue.SourceRule{ctl(devices.HardwareMute, "Capture", true)}, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Other": devices.True} }, devices.Unknown, "", ""},
		"control unknown, invert": {devices.HardwareMute, []catalogue.SourceRule{ctl(devices.HardwareMute, "Capture", true)}, func(e *devices.Endpoint) { e.Controls = map[string]devices.Tri{"Capture": devices.Unknown} }, devices.Unknown, "", ""},

		"const true":  {devices.NoiseSuppression, []catalogue.SourceRule{{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}}, func(*devices.Endpoint) {}, devices.True, devices.ViaConst, ""},
		"const false": {devices.NoiseSuppression, []catalogue.SourceRule{{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &no}}}, func(*devices.Endpoint) {}, devices.False, devices.ViaConst, ""},

		"the first that knows decides": {devices.AutomaticGainControl, []catalogue.SourceRule{ctl(devices.AutomaticGainControl, "AGC", false), effect(devices.AutomaticGainControl, "")}, func(e *devices.Endpoint) {
			e.Controls, e.Effects = map[string]devices.Tri{"AGC": devices.False}, map[devices.Field]devices.Tri{devices.AutomaticGainControl: devices.True}
		}, devices.False, devices.ViaALSACtl, "AGC"},
		"one that does not know gives way": {devices.AutomaticGainControl, []catalogue.SourceRule{ctl(devices.AutomaticGainControl, "AGC", false), effect(devices.AutomaticGainControl, "")}, func(e *devices.Endpoint) {
			e.Effects = map[devices.Field]devices.Tri{devices.AutomaticGainControl: devices.True}
		}, devices.True, devices.ViaOSEffects, "mic"},
		"software mute gives way to the control": {devices.HardwareMute, []catalogue.SourceRule{mute(nil), ctl(devices.HardwareMute, "Capture", true)}, func(e *devices.Endpoint) {
			e.Mute, e.Controls = devices.False, map[string]devices.Tri{"Capture": devices.False}
		}, devices.True, devices.ViaALSACtl, "Capture"},
		"a constant at the end": {devices.NoiseSuppression, []catalogue.SourceRule{effect(devices.NoiseSuppression, ""), {Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}}, func(e *devices.Endpoint) {
			e.Effects = map[devices.Field]devices.Tri{devices.NoiseSuppression: devices.False}
		}, devices.False, devices.ViaOSEffects, "mic"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := flagOf(t, c.field, devices.Linux, c.sources, c.set)
			require.Equal(t, c.want, got.Value)
			require.Equal(t, devices.Origin{Via: c.via, Detail: c.detail, Shared: c.via == devices.ViaOSEndpointMute}, got.Origin)
		})
	}
}

func TestSourcesForASystem(t *testing.T) {
	yes, no := true, false
	sources := []catalogue.SourceRule{
		{Field: devices.NoiseSuppression, OS: []devices.OS{devices.Windows}, SourceKind: catalogue.SourceKind{Const: &yes}},
		{Field: devices.NoiseSuppression, OS: []devices.OS{devices.Linux, devices.Darwin}, SourceKind: catalogue.SourceKind{Const: &no}},
		{Field: devices.EchoCancellation, OS: []devices.OS{devices.Windows, devices.Linux}, SourceKind: catalogue.SourceKind{Const: &yes}},
	}
	for os, want := range map[devices.OS]devices.Tri{devices.Windows: devices.True, devices.Linux: devices.False, devices.Darwin: devices.False} {
		require.Equal(t, want, flagOf(t, devices.NoiseSuppression, os, sources, func(*devices.Endpoint) {}).Value, os)
	}
	require.Equal(t, devices.Unknown, flagOf(t, devices.EchoCancellation, devices.Darwin, sources, func(*devices.Endpoint) {}).Value)
}

func TestUnknownIsOmittedAndShown(t *testing.T) {
	yes := true
	cat := catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Sources: []catalogue.SourceRule{{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}}})
	s := resolve(t, cat, native, usb("mic", devices.AudioInput, "0700"), usb("out", devices.AudioOutput, "0700"))
	mic, out := s.Devices[0], s.Devices[1]
	require.Equal(t, devices.True.Ptr(), mic.NoiseSuppression)
	require.Nil(t, mic.HardwareMute)
	require.Len(t, mic.Flags, len(devices.Fields), "the status shows unknown flags too")
	require.Equal(t, devices.Flag{}, mic.Flags[devices.HardwareMute])
	require.Nil(t, out.Flags, "only microphones have flags")
	require.Nil(t, out.NoiseSuppression)
}

// TestFieldsThatMayBeReported: a user or an administrator can switch a flag off.
func TestFieldsThatMayBeReported(t *testing.T) {
	yes := true
	cat := catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Sources: []catalogue.SourceRule{
		{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}, {Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{Const: &yes}},
	}})
	for _, c := range []struct {
		fields []devices.Field
		ns, ec bool
	}{
		{nil, true, true}, {[]devices.Field{}, false, false}, {[]devices.Field{devices.NoiseSuppression}, true, false},
	} {
		s := resolve(t, cat, devices.Options{Fields: c.fields}, usb("mic", devices.AudioInput, "0700"))
		require.Equal(t, c.ns, s.Devices[0].NoiseSuppression != nil)
		require.Equal(t, c.ec, s.Devices[0].EchoCancellation != nil)
		if c.fields != nil {
			require.Len(t, s.Devices[0].Flags, len(c.fields))
		}
	}
}

func TestFlagsOfAFailedSourceAreStale(t *testing.T) {
	yes := true
	sources := []catalogue.SourceRule{{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}}, {Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}}
	stale := func(e *devices.Endpoint) { e.Mute, e.MuteInHardware, e.Stale = devices.True, true, true }
	f := flagOf(t, devices.HardwareMute, devices.Linux, sources, stale)
	require.Equal(t, devices.True, f.Value, "the last good answer is kept")
	require.Equal(t, "os_endpoint_mute (mic, set by the button or in the sound settings), stale", f.Origin.String())
	require.False(t, flagOf(t, devices.NoiseSuppression, devices.Linux, sources, stale).Origin.Stale, "a constant needs no source")
	unknown := flagOf(t, devices.HardwareMute, devices.Linux, sources, func(e *devices.Endpoint) { e.MuteInHardware, e.Stale = true, true })
	require.Equal(t, devices.Flag{}, unknown)
}

// What the sound server said before it failed gives way to a state that the headset tells itself, wherever that stands in the catalogue.
func TestStaleReadingGivesWay(t *testing.T) {
	no, id := false, catalogue.Byte(1)
	level := &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}}
	toggle := &catalogue.HIDReport{ReportID: &id, Value: &catalogue.ByteValue{Byte: 1}, Kind: catalogue.HIDToggle, Anchor: &catalogue.Anchor{Start: &no}}
	for name, c := range map[string]struct {
		stale      bool
		report     *catalogue.HIDReport
		told, want devices.Tri
		via        string
	}{
		"fresh":                            {false, level, devices.False, devices.True, devices.ViaOSEndpointMute},
		"stale, a level":                   {true, level, devices.False, devices.False, devices.ViaHIDReport},
		"stale, a level that is not known": {true, level, devices.Unknown, devices.True, devices.ViaOSEndpointMute},
		"stale, presses that were counted": {true, toggle, devices.False, devices.True, devices.ViaOSEndpointMute},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := catalogue.NewResolver(catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Sources: []catalogue.SourceRule{
				{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}},
				{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{HIDReport: c.report}},
				{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{Const: &no}},
			}}), devices.Options{OS: devices.Linux})
			require.NoError(t, err)
			e := usb("mic", devices.AudioInput, "0700")
			e.Container, e.Mute, e.MuteInHardware, e.Stale = "c", devices.True, true, c.stale
			in := devices.Inputs{Endpoints: []devices.Endpoint{e}, Readings: []devices.Reading{reading("sources[1]", "c", "", c.told)}}
			f := r.Resolve(in).Devices[0].Flags[devices.HardwareMute]
			require.Equal(t, c.want, f.Value)
			require.Equal(t, c.via, f.Origin.Via)
			require.Equal(t, c.stale && c.via == devices.ViaOSEndpointMute, f.Origin.Stale)
			considered := r.Explain(in)[e.Key()][devices.HardwareMute]
			require.Len(t, considered, 3)
			require.Equal(t, f, devices.Decides(considered), "what is explained is what is reported")
		})
	}
}

func TestSince(t *testing.T) {
	yes := true
	sources := []catalogue.SourceRule{
		{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true}}},
		{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}},
		{Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{Effect: devices.AutomaticGainControl}}},
		{Field: devices.AutomaticGainControl, SourceKind: catalogue.SourceKind{ALSACtl: &catalogue.ALSACtl{Name: "AGC"}}},
	}
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	set := func(e *devices.Endpoint) {
		e.Mute, e.MuteInHardware, e.Attached = devices.True, true, at(1)
		e.Effects, e.Controls = map[devices.Field]devices.Tri{devices.AutomaticGainControl: devices.True}, map[string]devices.Tri{"AGC": devices.False}
		e.Changed = map[string]time.Time{"mute": at(2), "effect:automatic_gain_control": at(3), "control:AGC": at(4)}
	}
	for f, want := range map[devices.Field]time.Time{devices.NoiseSuppression: at(1), devices.HardwareMute: at(2), devices.EchoCancellation: at(3), devices.AutomaticGainControl: at(4)} {
		require.Equal(t, want, flagOf(t, f, devices.Linux, sources, set).Since, f)
	}
	none := func(e *devices.Endpoint) { set(e); e.Mute = devices.Unknown }
	require.Zero(t, flagOf(t, devices.HardwareMute, devices.Linux, sources, none).Since)
}

// TestNoMuteWithoutEvidence: a wrong "hardware muted" is the worst thing that can be said.
// Every microphone behind a muted one must itself be known to be muted.
func TestNoMuteWithoutEvidence(t *testing.T) {
	r := testResolver(devices.Options{IDMaxBytes: 127})
	rapid.Check(t, func(t *rapid.T) {
		in := endpoints().Draw(t, "in")
		byKey := make(map[devices.Key]devices.Endpoint)
		muted := make(map[string]bool) // by product: a microphone in hardware that is
		evidence := func(product string, e devices.Endpoint) bool {
			if product == "headset" {
				return e.Mute == devices.True
			}
			return e.Mute == devices.True && e.MuteInHardware || e.Controls["Odd Switch"] == devices.False
		}
		for _, e := range in {
			byKey[e.Key()] = e
			for _, p := range []string{"headset", "mic"} {
				muted[p] = muted[p] || e.Type == devices.AudioInput && !e.Virtual && evidence(p, e)
			}
		}
		for _, rep := range r.Resolve(devices.Inputs{Endpoints: in}).Devices {
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
	r := testResolver(devices.Options{IDMaxBytes: 127})
	in := endpoints().Example(7)
	want := r.Resolve(devices.Inputs{Endpoints: in})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if !r.Resolve(devices.Inputs{Endpoints: in}).Equal(want) {
					t.Error("another result")
				}
			}
		})
	}
	wg.Wait()
}
