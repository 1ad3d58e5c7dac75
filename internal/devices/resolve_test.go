package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
	"sidetone/internal/health"

	"github.com/stretchr/testify/require"
)

func with(e Endpoint, f func(*Endpoint)) Endpoint {
	f(&e)
	return e
}

// units returns, for every wire id, the unit that it belongs to.
func units(s Snapshot) map[string]string {
	out := make(map[string]string)
	for _, r := range s.Devices {
		out[r.ID] = r.Unit
	}
	return out
}

func related(s Snapshot) map[string][]string {
	out := make(map[string][]string)
	for _, r := range s.Devices {
		out[r.ID] = r.Related
	}
	return out
}

func TestGrouping(t *testing.T) {
	in := func(id, container, serial string) Endpoint {
		return with(usb(id, AudioInput, "0700"), func(e *endpoint) { e.Container, e.Serial = container, serial })
	}
	cases := map[string]struct {
		by   GroupBy
		a, b Endpoint
		same bool
	}{
		"container, equal":                       {GroupContainer, in("a", "c1", ""), in("b", "c1", ""), true},
		"container, equal, other serials":        {GroupContainer, in("a", "c1", "s1"), in("b", "c1", "s2"), true},
		"container, different":                   {GroupContainer, in("a", "c1", "s1"), in("b", "c2", "s1"), false},
		"container is the default":               {"", in("a", "c1", "s1"), in("b", "c2", "s1"), false},
		"container unknown, serial equal":        {GroupContainer, in("a", "", "s1"), in("b", "", "s1"), true},
		"container unknown, serial different":    {GroupContainer, in("a", "", "s1"), in("b", "", "s2"), false},
		"nothing known: one unit":                {GroupContainer, in("a", "", ""), in("b", "", ""), true},
		"serial, equal":                          {GroupSerial, in("a", "c1", "s1"), in("b", "c2", "s1"), true},
		"serial, different":                      {GroupSerial, in("a", "c1", "s1"), in("b", "c1", "s2"), false},
		"serial unknown, container equal":        {GroupSerial, in("a", "c1", ""), in("b", "c1", ""), true},
		"serial unknown, container different":    {GroupSerial, in("a", "c1", ""), in("b", "c2", ""), false},
		"model, whatever the hardware":           {GroupModel, in("a", "c1", "s1"), in("b", "c2", "s2"), true},
		"model, one of them without an identity": {GroupModel, in("a", "c1", "s1"), in("b", "", ""), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, GroupBy: c.by}), native, c.a, c.b)
			u := units(s)
			require.Equal(t, c.same, u["a"] == u["b"])
			if c.same {
				require.Equal(t, map[string][]string{"a": {"b"}, "b": {"a"}}, related(s))
			} else {
				for _, d := range s.Wire() {
					require.Equal(t, []string{}, d.Related, "always there, empty if there is none")
				}
			}
		})
	}
}

func TestOneContainerOfTwoProductsIsTwoUnits(t *testing.T) {
	dock := func(e *endpoint) { e.Container = "c1" }
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}, product{ID: "q", Links: links{usbLink("0701")}}), native,
		with(usb("a", AudioInput, "0700"), dock), with(usb("b", AudioInput, "0701"), dock))
	require.NotEqual(t, units(s)["a"], units(s)["b"])
}

func TestRelated(t *testing.T) {
	no := false
	same := func(e *endpoint) { e.Container = "c1" }
	eps := endpoints{
		with(usb("mic", AudioInput, "0700"), same), with(usb("out2", AudioOutput, "0700"), same),
		with(usb("out1", AudioOutput, "0700"), same), with(usb("cam", VideoInput, "0700"), same),
		with(usb("hidden", AudioInput, "0700"), same), usb("other", AudioInput, "0701"),
	}
	p := product{ID: "p", Links: links{usbLink("0700")}, Endpoints: []catalogue.EndpointRule{
		{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: "hidden"}, Report: &no}, {Type: AudioInput}, {Type: AudioOutput}, {Type: VideoInput},
	}}
	q := product{ID: "q", Links: links{usbLink("0701")}}
	s := resolve(t, catalogueOf(p, q), native, eps...)
	require.Equal(t, []string{"cam", "mic", "out1"}, related(s)["out2"], "all that are reported of the unit but itself, sorted")
	require.Equal(t, []string{"cam", "out1", "out2"}, related(s)["mic"])
	require.Empty(t, related(s)["other"])

	p.Related = catalogue.RelatedNone
	s = resolve(t, catalogueOf(p, q), native, eps...)
	for _, d := range s.Wire() {
		require.Equal(t, []string{}, d.Related)
	}
}

// TestRelatedNeverNamesItself where ids are names and a headset's output bears its input's.
func TestRelatedNeverNamesItself(t *testing.T) {
	name := func(e *endpoint) { e.Name = "Acme Headset" }
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}), Options{},
		with(usb("in", AudioInput, "0700"), name), with(usb("out", AudioOutput, "0700"), name))
	require.Equal(t, []string{"Acme Headset", "Acme Headset"}, ids(s))
	require.Equal(t, AudioOutput, s.Devices[0].Type)
	require.Equal(t, AudioInput, s.Devices[1].Type)
	for _, d := range s.Wire() {
		require.Equal(t, []string{}, d.Related)
	}
}

// TestTwoIdenticalHeadsets: under one name the client cannot tell them apart, with ids of
// their own it can.
func TestTwoIdenticalHeadsets(t *testing.T) {
	no := false
	cat := catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Sources: rules{
		{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
	}})
	headset := func(container string, mute Tri, attached time.Time) []Endpoint {
		set := func(name string) func(*Endpoint) {
			return func(e *endpoint) { e.Container, e.Name, e.Attached, e.Mute = container, name, attached, mute }
		}
		return endpoints{
			with(usb(container+".in", AudioInput, "0700"), set("Acme Mic")),
			with(usb(container+".out", AudioOutput, "0700"), set("Acme Speaker")),
		}
	}
	for _, c := range []struct{ a, b, want Tri }{
		{True, True, True},
		{True, False, False},
		{False, True, False},
		{True, Unknown, Unknown},
		{Unknown, False, False},
		{Unknown, Unknown, Unknown},
	} {
		eps := append(headset("c1", c.a, epoch), headset("c2", c.b, epoch.Add(time.Second))...)

		byName := resolve(t, cat, Options{AudioID: IDName}, eps...)
		require.Equal(t, []string{"Acme Mic", "Acme Speaker"}, ids(byName))
		require.Equal(t, map[string][]string{"Acme Mic": {"Acme Speaker"}, "Acme Speaker": {"Acme Mic"}}, related(byName))
		require.Equal(t, c.want, byName.Devices[0].Flags[HardwareMute].Value, "%v and %v", c.a, c.b)
		require.Equal(t, c.want.Ptr(), byName.Devices[0].HardwareMute)
		require.Len(t, byName.Devices[0].Endpoints, 2, "both stand behind the one record")

		own := resolve(t, cat, native, eps...)
		require.Equal(t, []string{"c2.in", "c2.out", "c1.in", "c1.out"}, ids(own), "the one attached last comes first")
		require.Equal(t, map[string][]string{"c1.in": {"c1.out"}, "c1.out": {"c1.in"}, "c2.in": {"c2.out"}, "c2.out": {"c2.in"}}, related(own))
		require.Equal(t, c.a.Ptr(), own.Devices[2].HardwareMute)
		require.Equal(t, c.b.Ptr(), own.Devices[0].HardwareMute)
	}
}

// TestTwoModelsOfOneName are one record too, with the description of the better one.
func TestTwoModelsOfOneName(t *testing.T) {
	yes := true
	name := func(e *endpoint) { e.Name = "USB Audio Device" }
	s := resolve(t, catalogueOf(
		product{ID: "p", Priority: 2, Links: links{usbLink("0700")}},
		product{ID: "q", Priority: 1, Links: links{usbLink("0701")}, Sources: rules{{Field: NoiseSuppression, SourceKind: kind{Const: &yes}}}},
	), Options{}, with(usb("a", AudioInput, "0700"), name), with(usb("b", AudioInput, "0701"), name))
	require.Len(t, s.Devices, 1)
	require.Equal(t, "Model q", s.Devices[0].Model.Name)
	require.Nil(t, s.Devices[0].NoiseSuppression, "nothing is known of the other one")
}

func TestWithheldReasons(t *testing.T) {
	no := false
	p := product{
		ID: "p", Links: links{usbLink("0700"), {Kind: catalogue.LinkJack, NameRegex: "Front"}},
		Endpoints: []catalogue.EndpointRule{{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: "raw"}, Report: &no}, {Type: AudioInput}},
	}
	s := resolve(t, catalogueOf(p), Options{},
		usb("raw", AudioInput, "0700"),
		usb("out", AudioOutput, "0700"),
		with(usb("nameless", AudioInput, "0700"), func(e *endpoint) { e.Name = "" }),
		endpoint{Source: "audio", ID: "jack", Type: AudioInput, Name: "Front Mic", Bus: PCI, Plugged: False},
		usb("stranger", AudioInput, "0701"),
		endpoint{Source: "audio", ID: "virtual", Type: AudioInput, Name: "Null", Virtual: true},
	)
	require.Empty(t, s.Devices)
	require.Equal(t, map[string]string{
		"raw":      "the catalogue says not to report it",
		"out":      `the catalogue reports no audiooutput of product "p" that matches it`,
		"nameless": "the OS gives it no id of the kind that the client uses",
		"jack":     "nothing is plugged into its jack",
		"stranger": "the catalogue names no such device",
		"virtual":  "it is virtual, and the catalogue names no such virtual endpoint of a plugged-in product",
	}, reasons(t, s))
	var names []string
	for _, w := range s.Withheld {
		names = append(names, w.Name)
	}
	require.Equal(t, []string{"Front Mic", "", "Name of raw", "Name of stranger", "Null", "Name of out"}, names, "sorted by key")

	for _, plugged := range []Tri{Unknown, True} {
		s := resolve(t, catalogueOf(p), Options{}, endpoint{Source: "audio", ID: "jack", Type: AudioInput, Name: "Front Mic", Bus: PCI, Plugged: plugged})
		require.Len(t, s.Devices, 1, "only an empty jack is withheld")
	}
}

func TestEmptyInputs(t *testing.T) {
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}), Options{})
	require.NotNil(t, s.Wire())
	require.Empty(t, s.Wire())
	require.NotNil(t, s.Devices)
}

// echo is a product whose headset may have virtual microphones.
func echo(endpoints ...catalogue.EndpointRule) *catalogue.Catalogue {
	no := false
	mute := rules{
		{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
		{Field: EchoCancellation, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
	}
	rule := []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "echo"}, {Type: AudioInput, NameRegex: "elsewhere", OS: []OS{Windows}}}
	return catalogueOf(
		product{ID: "p", Links: links{usbLink("0700")}, Endpoints: endpoints, VirtualEndpoints: rule, Sources: mute},
		product{ID: "q", Links: links{usbLink("0701")}, VirtualEndpoints: rule, Sources: mute},
		product{ID: "r", Links: links{usbLink("0702")}, Sources: mute},
	)
}

func virtual(id, master string) Endpoint {
	return endpoint{Source: "audio", ID: id, Type: AudioInput, Name: id, Virtual: true, Master: master, Attached: epoch}
}

func TestVirtualEndpointsFindTheirProduct(t *testing.T) {
	p := with(usb("p.in", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	p2 := with(usb("p2.in", AudioInput, "0700"), func(e *endpoint) { e.Container = "c2" })
	q, r := usb("q.in", AudioInput, "0701"), usb("r.in", AudioInput, "0702")
	cases := map[string]struct {
		endpoints []Endpoint // beside the virtual one
		virtual   Endpoint
		with      string // id of an endpoint of the unit that has it; "" = withheld
		why       string
	}{
		"master known":                     {endpoints{p, q}, virtual("echo", "p.in"), "p.in", ""},
		"master known, the other":          {endpoints{p, q}, virtual("echo", "q.in"), "q.in", ""},
		"master known, of two units":       {endpoints{p, p2}, virtual("echo", "p2.in"), "p2.in", ""},
		"master unknown, one fits":         {endpoints{p, r}, virtual("echo", ""), "p.in", ""},
		"master unknown, two products fit": {endpoints{p, q}, virtual("echo", ""), "", "may carry the sound of 2 products"},
		"master unknown, two units fit":    {endpoints{p, p2}, virtual("echo", ""), "", "may carry the sound of 2 products"},
		"master is a stranger":             {endpoints{p}, virtual("echo", "builtin"), "", "names no such virtual endpoint"},
		"master's product has no rule":     {endpoints{p, r}, virtual("echo", "r.in"), "", "names no such virtual endpoint"},
		"name fits no rule":                {endpoints{p}, virtual("monitor", "p.in"), "", "names no such virtual endpoint"},
		"rule for another system":          {endpoints{p}, virtual("elsewhere", "p.in"), "", "names no such virtual endpoint"},
		"type fits no rule":                {endpoints{p}, with(virtual("echo", "p.in"), func(e *endpoint) { e.Type = AudioOutput }), "", "names no such virtual endpoint"},
		"no such product is there":         {nil, virtual("echo", ""), "", "names no such virtual endpoint"},
		"hardware of that name":            {endpoints{p}, with(virtual("echo", "p.in"), func(e *endpoint) { e.Virtual = false }), "", "names no such device"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, echo(), native, append(c.endpoints, c.virtual)...)
			if c.with == "" {
				require.Contains(t, reasons(t, s)[c.virtual.ID], c.why)
				require.NotContains(t, ids(s), c.virtual.ID)
				return
			}
			require.Equal(t, units(s)[c.with], units(s)[c.virtual.ID])
			require.Contains(t, related(s)[c.with], c.virtual.ID)
		})
	}
}

// TestVirtualEndpointsInAChain: each carries the sound of the one before, whatever their names.
func TestVirtualEndpointsInAChain(t *testing.T) {
	for _, chain := range [][]string{{"echo-a", "echo-b", "echo-c"}, {"echo-c", "echo-b", "echo-a"}} {
		s := resolve(t, echo(), native, usb("p.in", AudioInput, "0700"), usb("q.in", AudioInput, "0701"),
			virtual(chain[0], "p.in"), virtual(chain[1], chain[0]), virtual(chain[2], chain[1]))
		require.Empty(t, s.Withheld)
		require.Equal(t, []string{"echo-a", "echo-b", "echo-c"}, related(s)["p.in"])
	}
	s := resolve(t, echo(), native, usb("p.in", AudioInput, "0700"), virtual("echo-a", "echo-b"), virtual("echo-b", "echo-a"))
	require.Len(t, s.Withheld, 2, "a ring has no hardware")
}

// TestVirtualEndpointsHaveTheMuteOfTheHardware and the effects of their own.
func TestVirtualEndpointsHaveTheMuteOfTheHardware(t *testing.T) {
	no := false
	mic := func(id string, mute Tri) Endpoint {
		return with(usb(id, AudioInput, "0700"), func(e *endpoint) {
			e.Container, e.Mute, e.Effects = "c1", mute, flagStates{EchoCancellation: False}
		})
	}
	v := func(master string) Endpoint {
		return with(virtual("echo", master), func(e *endpoint) {
			e.Mute, e.Effects = True, flagStates{EchoCancellation: True}
		})
	}
	speaker := with(usb("out", AudioOutput, "0700"), func(e *endpoint) { e.Container, e.Mute = "c1", True })
	hide := func(name string) []catalogue.EndpointRule {
		return []catalogue.EndpointRule{{Type: AudioInput, Pick: &catalogue.Pick{NameRegex: name}, Report: &no}, {Type: AudioInput}, {Type: AudioOutput}}
	}
	cases := map[string]struct {
		rules     []catalogue.EndpointRule
		endpoints []Endpoint
		want      Tri
	}{
		"the one that it names":                    {nil, endpoints{mic("a", True), mic("b", False), v("a")}, True},
		"the one that it names, not muted":         {nil, endpoints{mic("a", True), mic("b", False), v("b")}, False},
		"the one that it names, unknown":           {nil, endpoints{mic("a", Unknown), mic("b", True), v("a")}, Unknown},
		"the one that it names, itself hidden":     {hide("of a"), endpoints{mic("a", True), mic("b", False), v("a")}, True},
		"names none: it may record any microphone": {nil, endpoints{mic("a", True), v("")}, Unknown},
		"names none: nor is it known not to":       {nil, endpoints{mic("a", False), v("")}, Unknown},
		"no microphone: its own mute says nothing": {nil, endpoints{speaker, v("")}, Unknown},
		"a speaker's mute is not the microphone's": {nil, endpoints{speaker, v("out")}, Unknown},
		"behind another virtual one":               {nil, endpoints{mic("a", True), mic("b", False), with(v("a"), func(e *endpoint) { e.ID, e.Name = "first echo", "first echo" }), v("first echo")}, True},
		"behind another one that names none":       {nil, endpoints{mic("a", True), with(v(""), func(e *endpoint) { e.ID, e.Name = "first echo", "first echo" }), v("first echo")}, Unknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, echo(c.rules...), native, c.endpoints...)
			found := false
			for _, r := range s.Devices {
				if r.ID != "echo" {
					continue
				}
				found = true
				require.Equal(t, c.want, r.Flags[HardwareMute].Value)
				require.Equal(t, True, r.Flags[EchoCancellation].Value, "effects run on the virtual endpoint")
				require.Equal(t, "echo", r.Flags[EchoCancellation].Origin.Detail)
			}
			require.True(t, found)
		})
	}
}

// A virtual microphone whose hardware is not known has no flag that is said of the product, whoever says it.
func TestVirtualEndpointOfUnknownHardware(t *testing.T) {
	cat := hidProduct(func(p *catalogue.Product) {
		p.Endpoints = []catalogue.EndpointRule{{Type: AudioInput}}
		p.VirtualEndpoints = []catalogue.VirtualRule{{Type: AudioInput, NameRegex: "echo"}}
		p.Sources = append(p.Sources, catalogue.SourceRule{Field: AutomaticGainControl, SourceKind: kind{OSEffects: &catalogue.OSEffects{}}},
			catalogue.SourceRule{Field: AutomaticGainControl, SourceKind: kind{Const: new(bool)}})
	})
	mic := with(usb("mic", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	builtin := Endpoint{Source: "audio", ID: "builtin", Name: "Built-in Audio", Type: AudioInput, Bus: PCI, Default: true}
	in := Inputs{
		Endpoints: endpoints{mic, builtin, virtual("echo", "")}, Readings: readings{reading("sources[0]", "c1", "", True)},
		Pushes: []Push{{Product: "p", Owner: "suite", State: flagStates{NoiseSuppression: True}}},
	}
	s := resolveReadings(t, cat, in)
	require.Equal(t, []string{"mic", "echo"}, ids(s))
	require.Equal(t, states{"mic": True}, flagsOf(s, HardwareMute))
	require.Equal(t, states{"mic": True}, flagsOf(s, NoiseSuppression))
	require.Equal(t, states{"mic": False}, flagsOf(s, AutomaticGainControl))
	r, err := catalogue.NewResolver(cat, Options{OS: Linux, AudioID: IDNative})
	require.NoError(t, err)
	echo := in.Endpoints[2].Key()
	why := func(f Field) (all []health.Code) {
		for _, c := range r.Explain(in)[echo][f] {
			all = append(all, c.Why)
		}
		return all
	}
	require.Equal(t, []health.Code{health.WhyMicrophoneUnknown}, why(HardwareMute))
	require.Equal(t, []health.Code{health.WhyMicrophoneUnknown, health.WhyMicrophoneUnknown}, why(NoiseSuppression), "the push, too")
	require.Equal(t, []health.Code{"", health.WhyMicrophoneUnknown}, why(AutomaticGainControl), "an effect is the endpoint's own")
	in.Endpoints = endpoints{mic, virtual("echo", "")}
	require.Equal(t, states{"mic": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute), "it may record no microphone at all")
	in.Endpoints = endpoints{mic, builtin, virtual("echo", "mic")}
	require.Equal(t, []health.Code{""}, why(HardwareMute))
	s = resolveReadings(t, cat, in)
	require.Equal(t, states{"mic": True, "echo": True}, flagsOf(s, HardwareMute))
	in.Endpoints[2].Master = "builtin"
	require.Equal(t, []string{"mic"}, ids(resolveReadings(t, cat, in)), "it is known to carry another microphone")
}

// In a product that is both hardware and its maker's virtual microphone, the latter may carry anything.
func TestLinkVirtualBesideHardware(t *testing.T) {
	cat := hidProduct(func(p *catalogue.Product) {
		p.Links = append(p.Links, catalogue.Link{Kind: catalogue.LinkVirtual, NameRegex: "^mix"})
		p.GroupBy = GroupModel
	})
	mic := with(usb("mic", AudioInput, "0700"), func(e *endpoint) { e.Container = "c1" })
	in := Inputs{Endpoints: endpoints{mic, virtual("mix", "")}, Readings: readings{reading("sources[0]", "c1", "", True)}}
	require.Equal(t, states{"mic": True}, flagsOf(resolveReadings(t, cat, in), HardwareMute))
	in.Endpoints = endpoints{virtual("mix", "")}
	require.Empty(t, flagsOf(resolveReadings(t, cat, in), HardwareMute))
}

// TestLinkVirtual: where the product itself is virtual, each endpoint speaks for itself.
func TestLinkVirtual(t *testing.T) {
	no := false
	cat := catalogueOf(product{ID: "mixer", Links: links{{Kind: catalogue.LinkVirtual, NameRegex: "^mix"}}, Sources: rules{
		{Field: HardwareMute, SourceKind: kind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
	}})
	s := resolve(t, cat, native,
		with(virtual("mix1", ""), softMute(True)), with(virtual("mix2", ""), softMute(False)))
	require.Equal(t, []string{"mix1", "mix2"}, ids(s))
	require.Equal(t, True.Ptr(), s.Devices[0].HardwareMute)
	require.Equal(t, False.Ptr(), s.Devices[1].HardwareMute)
}

func TestReportsSayWhatStandsBehindThem(t *testing.T) {
	s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}}), Options{}, usb("in", AudioInput, "0700"))
	r := s.Devices[0]
	require.Equal(t, "p", r.Product)
	require.Equal(t, []Key{{"audio", AudioInput, "in"}}, r.Endpoints)
	require.Equal(t, Company{"Acme", "https://acme.example"}, r.Vendor)
	require.Equal(t, Company{"Model p", "https://acme.example/p"}, r.Model)
}
