package devices_test

import (
	"testing"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

func with(e devices.Endpoint, f func(*devices.Endpoint)) devices.Endpoint {
	f(&e)
	return e
}

// units returns, for every wire id, the unit that it belongs to.
func units(s devices.Snapshot) map[string]string {
	out := make(map[string]string)
	for _, r := range s.Devices {
		out[r.ID] = r.Unit
	}
	return out
}

func related(s devices.Snapshot) map[string][]string {
	out := make(map[string][]string)
	for _, r := range s.Devices {
		out[r.ID] = r.Related
	}
	return out
}

func TestGrouping(t *testing.T) {
	in := func(id, container, serial string) devices.Endpoint {
		return with(usb(id, devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container, e.Serial = container, serial })
	}
	cases := map[string]struct {
		by   devices.GroupBy
		a, b devices.Endpoint
		same bool
	}{
		"container, equal":                       {devices.GroupContainer, in("a", "c1", ""), in("b", "c1", ""), true},
		"container, equal, other serials":        {devices.GroupContainer, in("a", "c1", "s1"), in("b", "c1", "s2"), true},
		"container, different":                   {devices.GroupContainer, in("a", "c1", "s1"), in("b", "c2", "s1"), false},
		"container is the default":               {"", in("a", "c1", "s1"), in("b", "c2", "s1"), false},
		"container unknown, serial equal":        {devices.GroupContainer, in("a", "", "s1"), in("b", "", "s1"), true},
		"container unknown, serial different":    {devices.GroupContainer, in("a", "", "s1"), in("b", "", "s2"), false},
		"nothing known: one unit":                {devices.GroupContainer, in("a", "", ""), in("b", "", ""), true},
		"serial, equal":                          {devices.GroupSerial, in("a", "c1", "s1"), in("b", "c2", "s1"), true},
		"serial, different":                      {devices.GroupSerial, in("a", "c1", "s1"), in("b", "c1", "s2"), false},
		"serial unknown, container equal":        {devices.GroupSerial, in("a", "c1", ""), in("b", "c1", ""), true},
		"serial unknown, container different":    {devices.GroupSerial, in("a", "c1", ""), in("b", "c2", ""), false},
		"model, whatever the hardware":           {devices.GroupModel, in("a", "c1", "s1"), in("b", "c2", "s2"), true},
		"model, one of them without an identity": {devices.GroupModel, in("a", "c1", "s1"), in("b", "", ""), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, GroupBy: c.by}), native, c.a, c.b)
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
	dock := func(e *devices.Endpoint) { e.Container = "c1" }
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}, catalogue.Product{ID: "q", Links: []catalogue.Link{usbLink("0701")}}), native,
		with(usb("a", devices.AudioInput, "0700"), dock), with(usb("b", devices.AudioInput, "0701"), dock))
	require.NotEqual(t, units(s)["a"], units(s)["b"])
}

func TestRelated(t *testing.T) {
	no := false
	same := func(e *devices.Endpoint) { e.Container = "c1" }
	eps := []devices.Endpoint{
		with(usb("mic", devices.AudioInput, "0700"), same), with(usb("out2", devices.AudioOutput, "0700"), same),
		with(usb("out1", devices.AudioOutput, "0700"), same), with(usb("cam", devices.VideoInput, "0700"), same),
		with(usb("hidden", devices.AudioInput, "0700"), same), usb("other", devices.AudioInput, "0701"),
	}
	p := catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Endpoints: []catalogue.EndpointRule{
		{Type: devices.AudioInput, Pick: &catalogue.Pick{NameRegex: "hidden"}, Report: &no}, {Type: devices.AudioInput}, {Type: devices.AudioOutput}, {Type: devices.VideoInput},
	}}
	q := catalogue.Product{ID: "q", Links: []catalogue.Link{usbLink("0701")}}
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
	name := func(e *devices.Endpoint) { e.Name = "Acme Headset" }
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}), devices.Options{},
		with(usb("in", devices.AudioInput, "0700"), name), with(usb("out", devices.AudioOutput, "0700"), name))
	require.Equal(t, []string{"Acme Headset", "Acme Headset"}, ids(s))
	require.Equal(t, devices.AudioOutput, s.Devices[0].Type)
	require.Equal(t, devices.AudioInput, s.Devices[1].Type)
	for _, d := range s.Wire() {
		require.Equal(t, []string{}, d.Related)
	}
}

// TestTwoIdenticalHeadsets: under one name the client cannot tell them apart, with ids of
// their own it can.
func TestTwoIdenticalHeadsets(t *testing.T) {
	no := false
	cat := catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Sources: []catalogue.SourceRule{
		{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
	}})
	headset := func(container string, mute devices.Tri, attached time.Time) []devices.Endpoint {
		set := func(name string) func(*devices.Endpoint) {
			return func(e *devices.Endpoint) { e.Container, e.Name, e.Attached, e.Mute = container, name, attached, mute }
		}
		return []devices.Endpoint{
			with(usb(container+".in", devices.AudioInput, "0700"), set("Acme Mic")),
			with(usb(container+".out", devices.AudioOutput, "0700"), set("Acme Speaker")),
		}
	}
	for _, c := range []struct{ a, b, want devices.Tri }{
		{devices.True, devices.True, devices.True},
		{devices.True, devices.False, devices.False},
		{devices.False, devices.True, devices.False},
		{devices.True, devices.Unknown, devices.Unknown},
		{devices.Unknown, devices.False, devices.False},
		{devices.Unknown, devices.Unknown, devices.Unknown},
	} {
		eps := append(headset("c1", c.a, epoch), headset("c2", c.b, epoch.Add(time.Second))...)

		byName := resolve(t, cat, devices.Options{AudioID: devices.IDName}, eps...)
		require.Equal(t, []string{"Acme Mic", "Acme Speaker"}, ids(byName))
		require.Equal(t, map[string][]string{"Acme Mic": {"Acme Speaker"}, "Acme Speaker": {"Acme Mic"}}, related(byName))
		require.Equal(t, c.want, byName.Devices[0].Flags[devices.HardwareMute].Value, "%v and %v", c.a, c.b)
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
	name := func(e *devices.Endpoint) { e.Name = "USB Audio Device" }
	s := resolve(t, catalogueOf(
		catalogue.Product{ID: "p", Priority: 2, Links: []catalogue.Link{usbLink("0700")}},
		catalogue.Product{ID: "q", Priority: 1, Links: []catalogue.Link{usbLink("0701")}, Sources: []catalogue.SourceRule{{Field: devices.NoiseSuppression, SourceKind: catalogue.SourceKind{Const: &yes}}}},
	), devices.Options{}, with(usb("a", devices.AudioInput, "0700"), name), with(usb("b", devices.AudioInput, "0701"), name))
	require.Len(t, s.Devices, 1)
	require.Equal(t, "Model q", s.Devices[0].Model.Name)
	require.Nil(t, s.Devices[0].NoiseSuppression, "nothing is known of the other one")
}

func TestWithheldReasons(t *testing.T) {
	no := false
	p := catalogue.Product{
		ID: "p", Links: []catalogue.Link{usbLink("0700"), {Kind: catalogue.LinkJack, NameRegex: "Front"}},
		Endpoints: []catalogue.EndpointRule{{Type: devices.AudioInput, Pick: &catalogue.Pick{NameRegex: "raw"}, Report: &no}, {Type: devices.AudioInput}},
	}
	s := resolve(t, catalogueOf(p), devices.Options{},
		usb("raw", devices.AudioInput, "0700"),
		usb("out", devices.AudioOutput, "0700"),
		with(usb("nameless", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Name = "" }),
		devices.Endpoint{Source: "audio", ID: "jack", Type: devices.AudioInput, Name: "Front Mic", Bus: devices.PCI, Plugged: devices.False},
		usb("stranger", devices.AudioInput, "0701"),
		devices.Endpoint{Source: "audio", ID: "virtual", Type: devices.AudioInput, Name: "Null", Virtual: true},
	)
	require.Empty(t, s.Devices)
	require.Equal(t, map[string]string{
		"raw":      "the catalogue says not to report it",
		"out":      `the catalogue reports no audiooutput of product "p" that fits it`,
		"nameless": "the OS gives it no id of the kind that the client uses",
		"jack":     "nothing is plugged into its jack",
		"stranger": "the catalogue names no such device",
		"virtual":  "virtual, and the catalogue names no such virtual endpoint of a product that is there",
	}, reasons(s))
	var names []string
	for _, w := range s.Withheld {
		names = append(names, w.Name)
	}
	require.Equal(t, []string{"Front Mic", "", "Name of raw", "Name of stranger", "Null", "Name of out"}, names, "sorted by key")

	for _, plugged := range []devices.Tri{devices.Unknown, devices.True} {
		s := resolve(t, catalogueOf(p), devices.Options{}, devices.Endpoint{Source: "audio", ID: "jack", Type: devices.AudioInput, Name: "Front Mic", Bus: devices.PCI, Plugged: plugged})
		require.Len(t, s.Devices, 1, "only an empty jack is withheld")
	}
}

func TestEmptyInputs(t *testing.T) {
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}), devices.Options{})
	require.NotNil(t, s.Wire())
	require.Empty(t, s.Wire())
	require.NotNil(t, s.Devices)
}

// echo is a product whose headset may have virtual microphones.
func echo(endpoints ...catalogue.EndpointRule) *catalogue.Catalogue {
	no := false
	mute := []catalogue.SourceRule{
		{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
		{Field: devices.EchoCancellation, SourceKind: catalogue.SourceKind{OSEffects: &catalogue.OSEffects{}}},
	}
	rule := []catalogue.VirtualRule{{Type: devices.AudioInput, NameRegex: "echo"}, {Type: devices.AudioInput, NameRegex: "elsewhere", OS: []devices.OS{devices.Windows}}}
	return catalogueOf(
		catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Endpoints: endpoints, VirtualEndpoints: rule, Sources: mute},
		catalogue.Product{ID: "q", Links: []catalogue.Link{usbLink("0701")}, VirtualEndpoints: rule, Sources: mute},
		catalogue.Product{ID: "r", Links: []catalogue.Link{usbLink("0702")}, Sources: mute},
	)
}

func virtual(id, master string) devices.Endpoint {
	return devices.Endpoint{Source: "audio", ID: id, Type: devices.AudioInput, Name: id, Virtual: true, Master: master, Attached: epoch}
}

func TestVirtualEndpointsFindTheirProduct(t *testing.T) {
	p := with(usb("p.in", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = "c1" })
	p2 := with(usb("p2.in", devices.AudioInput, "0700"), func(e *devices.Endpoint) { e.Container = "c2" })
	q, r := usb("q.in", devices.AudioInput, "0701"), usb("r.in", devices.AudioInput, "0702")
	cases := map[string]struct {
		endpoints []devices.Endpoint // beside the virtual one
		virtual   devices.Endpoint
		with      string // id of an endpoint of the unit that has it; "" = withheld
		why       string
	}{
		"master known":                     {[]devices.Endpoint{p, q}, virtual("echo", "p.in"), "p.in", ""},
		"master known, the other":          {[]devices.Endpoint{p, q}, virtual("echo", "q.in"), "q.in", ""},
		"master known, of two units":       {[]devices.Endpoint{p, p2}, virtual("echo", "p2.in"), "p2.in", ""},
		"master unknown, one fits":         {[]devices.Endpoint{p, r}, virtual("echo", ""), "p.in", ""},
		"master unknown, two products fit": {[]devices.Endpoint{p, q}, virtual("echo", ""), "", "2 products are there"},
		"master unknown, two units fit":    {[]devices.Endpoint{p, p2}, virtual("echo", ""), "", "2 products are there"},
		"master is a stranger":             {[]devices.Endpoint{p}, virtual("echo", "builtin"), "", "names no such virtual endpoint"},
		"master's product has no rule":     {[]devices.Endpoint{p, r}, virtual("echo", "r.in"), "", "names no such virtual endpoint"},
		"name fits no rule":                {[]devices.Endpoint{p}, virtual("monitor", "p.in"), "", "names no such virtual endpoint"},
		"rule for another system":          {[]devices.Endpoint{p}, virtual("elsewhere", "p.in"), "", "names no such virtual endpoint"},
		"type fits no rule":                {[]devices.Endpoint{p}, with(virtual("echo", "p.in"), func(e *devices.Endpoint) { e.Type = devices.AudioOutput }), "", "names no such virtual endpoint"},
		"no such product is there":         {nil, virtual("echo", ""), "", "names no such virtual endpoint"},
		"hardware of that name":            {[]devices.Endpoint{p}, with(virtual("echo", "p.in"), func(e *devices.Endpoint) { e.Virtual = false }), "", "names no such device"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, echo(), native, append(c.endpoints, c.virtual)...)
			if c.with == "" {
				require.Contains(t, reasons(s)[c.virtual.ID], c.why)
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
		s := resolve(t, echo(), native, usb("p.in", devices.AudioInput, "0700"), usb("q.in", devices.AudioInput, "0701"),
			virtual(chain[0], "p.in"), virtual(chain[1], chain[0]), virtual(chain[2], chain[1]))
		require.Empty(t, s.Withheld)
		require.Equal(t, []string{"echo-a", "echo-b", "echo-c"}, related(s)["p.in"])
	}
	s := resolve(t, echo(), native, usb("p.in", devices.AudioInput, "0700"), virtual("echo-a", "echo-b"), virtual("echo-b", "echo-a"))
	require.Len(t, s.Withheld, 2, "a ring has no hardware")
}

// TestVirtualEndpointsHaveTheMuteOfTheHardware and the effects of their own.
func TestVirtualEndpointsHaveTheMuteOfTheHardware(t *testing.T) {
	no := false
	mic := func(id string, mute devices.Tri) devices.Endpoint {
		return with(usb(id, devices.AudioInput, "0700"), func(e *devices.Endpoint) {
			e.Container, e.Mute, e.Effects = "c1", mute, map[devices.Field]devices.Tri{devices.EchoCancellation: devices.False}
		})
	}
	v := func(master string) devices.Endpoint {
		return with(virtual("echo", master), func(e *devices.Endpoint) {
			e.Mute, e.Effects = devices.True, map[devices.Field]devices.Tri{devices.EchoCancellation: devices.True}
		})
	}
	speaker := with(usb("out", devices.AudioOutput, "0700"), func(e *devices.Endpoint) { e.Container, e.Mute = "c1", devices.True })
	hide := func(name string) []catalogue.EndpointRule {
		return []catalogue.EndpointRule{{Type: devices.AudioInput, Pick: &catalogue.Pick{NameRegex: name}, Report: &no}, {Type: devices.AudioInput}, {Type: devices.AudioOutput}}
	}
	cases := map[string]struct {
		rules     []catalogue.EndpointRule
		endpoints []devices.Endpoint
		want      devices.Tri
	}{
		"the one that it names":                     {nil, []devices.Endpoint{mic("a", devices.True), mic("b", devices.False), v("a")}, devices.True},
		"the one that it names, not muted":          {nil, []devices.Endpoint{mic("a", devices.True), mic("b", devices.False), v("b")}, devices.False},
		"the one that it names, unknown":            {nil, []devices.Endpoint{mic("a", devices.Unknown), mic("b", devices.True), v("a")}, devices.Unknown},
		"the one that it names, itself hidden":      {hide("of a"), []devices.Endpoint{mic("a", devices.True), mic("b", devices.False), v("a")}, devices.True},
		"names none: all muted":                     {nil, []devices.Endpoint{mic("a", devices.True), mic("b", devices.True), v("")}, devices.True},
		"names none: not all muted":                 {nil, []devices.Endpoint{mic("a", devices.True), mic("b", devices.False), v("")}, devices.False},
		"names none: one unknown":                   {nil, []devices.Endpoint{mic("a", devices.True), mic("b", devices.Unknown), v("")}, devices.Unknown},
		"names none: hidden ones do not count":      {hide("of b"), []devices.Endpoint{mic("a", devices.True), mic("b", devices.False), v("")}, devices.True},
		"names none: unless all are hidden":         {hide("Name"), []devices.Endpoint{mic("a", devices.True), v("")}, devices.True},
		"no microphone: its own mute says nothing":  {nil, []devices.Endpoint{speaker, v("")}, devices.Unknown},
		"a speaker's mute is not the microphone's":  {nil, []devices.Endpoint{speaker, v("out")}, devices.Unknown},
		"behind another virtual one: all that mics": {nil, []devices.Endpoint{mic("a", devices.False), with(v("a"), func(e *devices.Endpoint) { e.ID, e.Name = "first echo", "first echo" }), v("first echo")}, devices.False},
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
				require.Equal(t, c.want, r.Flags[devices.HardwareMute].Value)
				require.Equal(t, devices.True, r.Flags[devices.EchoCancellation].Value, "effects run on the virtual endpoint")
				require.Equal(t, "echo", r.Flags[devices.EchoCancellation].Origin.Detail)
			}
			require.True(t, found)
		})
	}
}

// TestLinkVirtual: where the product itself is virtual, each endpoint speaks for itself.
func TestLinkVirtual(t *testing.T) {
	no := false
	cat := catalogueOf(catalogue.Product{ID: "mixer", Links: []catalogue.Link{{Kind: catalogue.LinkVirtual, NameRegex: "^mix"}}, Sources: []catalogue.SourceRule{
		{Field: devices.HardwareMute, SourceKind: catalogue.SourceKind{OSEndpointMute: &catalogue.OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}},
	}})
	s := resolve(t, cat, native,
		with(virtual("mix1", ""), func(e *devices.Endpoint) { e.Mute = devices.True }), with(virtual("mix2", ""), func(e *devices.Endpoint) { e.Mute = devices.False }))
	require.Equal(t, []string{"mix1", "mix2"}, ids(s))
	require.Equal(t, devices.True.Ptr(), s.Devices[0].HardwareMute)
	require.Equal(t, devices.False.Ptr(), s.Devices[1].HardwareMute)
}

func TestReportsSayWhatStandsBehindThem(t *testing.T) {
	s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}}), devices.Options{}, usb("in", devices.AudioInput, "0700"))
	r := s.Devices[0]
	require.Equal(t, "p", r.Product)
	require.Equal(t, []devices.Key{{"audio", devices.AudioInput, "in"}}, r.Endpoints)
	require.Equal(t, devices.Company{"Acme", "https://acme.example"}, r.Vendor)
	require.Equal(t, devices.Company{"Model p", "https://acme.example/p"}, r.Model)
}
