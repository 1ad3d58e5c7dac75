package devices_test

import (
	"testing"

	"sidetone/internal/catalogue"
	. "sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"

	"github.com/stretchr/testify/require"
)

// catalogueOf makes a catalogue of products, filling in what does not matter.
func catalogueOf(products ...catalogue.Product) *catalogue.Catalogue {
	for i := range products {
		p := &products[i]
		if p.Name == "" {
			p.Name = "Model " + p.ID
		}
		p.URL = "https://acme.example/" + p.ID
		if p.Priority == 0 {
			p.Priority = 1
		}
		if p.Endpoints == nil {
			p.Endpoints = []catalogue.EndpointRule{{Type: AudioInput}, {Type: AudioOutput}, {Type: VideoInput}}
		}
	}
	return &catalogue.Catalogue{
		Schema:   catalogue.SchemaVersion,
		Vendor:   catalogue.Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"},
		Products: products,
	}
}

// resolve resolves endpoints under a catalogue on Linux, with native ids unless opts say
// otherwise, which keeps ids and names apart.
func resolve(t *testing.T, cat *catalogue.Catalogue, opts Options, endpoints ...Endpoint) Snapshot {
	t.Helper()
	require.Empty(t, cat.Check(), "a test's catalogue must be one that could be in use")
	if opts.OS == "" {
		opts.OS = Linux
	}
	r, err := catalogue.NewResolver(cat, opts)
	require.NoError(t, err)
	s := r.Resolve(Inputs{Endpoints: endpoints})
	require.NoError(t, validate(s.Wire()))
	return s
}

var native = Options{AudioID: IDNative, VideoID: IDNative}

// ids are the wire ids in their order.
func ids(s Snapshot) []string {
	out := []string{}
	for _, d := range s.Devices {
		out = append(out, d.ID)
	}
	return out
}

// reasons are those for which endpoints are withheld, by id.
func reasons(t testing.TB, s Snapshot) map[string]string {
	out := make(map[string]string)
	for _, w := range s.Withheld {
		out[w.ID] = health.English.Phrase(w.Condition())
		healthtest.Raised(t, w.Condition())
	}
	return out
}

func usb(id string, typ Type, pid string) Endpoint {
	return endpoint{Source: "audio", ID: id, Type: typ, Name: "Name of " + id, Bus: USB, VID: "1209", PID: pid, Attached: epoch}
}

func usbLink(pids ...string) catalogue.Link {
	return link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: pids}
}

func TestLinks(t *testing.T) {
	mic := func(e Endpoint) Endpoint {
		e.Source, e.ID, e.Type = "audio", "x", AudioInput
		return e
	}
	hardware := endpoint{Bus: USB, VID: "1209", PID: "07ab"}
	cases := map[string]struct {
		link     catalogue.Link
		endpoint Endpoint
		want     bool
	}{
		"usb":                                         {usbLink("07ab"), hardware, true},
		"usb, upper case in the catalogue":            {link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07AB"}}, hardware, true},
		"usb, second of several ids":                  {usbLink("0001", "07ab"), hardware, true},
		"usb, another product":                        {usbLink("0001"), hardware, false},
		"usb, another vendor":                         {link{Kind: catalogue.LinkUSB, VID: "120a", PIDs: []string{"07ab"}}, hardware, false},
		"usb, but on Bluetooth":                       {usbLink("07ab"), endpoint{Bus: Bluetooth, VID: "1209", PID: "07ab"}, false},
		"usb, bus unknown":                            {usbLink("07ab"), endpoint{VID: "1209", PID: "07ab"}, false},
		"usb, no product id":                          {usbLink("07ab"), endpoint{Bus: USB, VID: "1209"}, false},
		"usb with a name":                             {link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, endpoint{Bus: USB, VID: "1209", PID: "07ab", Name: "Acme Pro"}, true},
		"usb with another name":                       {link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, endpoint{Bus: USB, VID: "1209", PID: "07ab", Name: "Acme Pro 2"}, false},
		"usb, a virtual endpoint that copies the ids": {usbLink("07ab"), endpoint{Bus: USB, VID: "1209", PID: "07ab", Virtual: true}, false},
		"dongle":                           {link{Kind: catalogue.LinkDongle, VID: "1209", PIDs: []string{"07ab"}}, hardware, true},
		"bluetooth by id":                  {link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, endpoint{Bus: Bluetooth, VID: "1209", PID: "07ab"}, true},
		"bluetooth by id, but on USB":      {link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, hardware, false},
		"bluetooth by name":                {link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, endpoint{Bus: Bluetooth, Name: "Acme BT"}, true},
		"bluetooth by name, but on USB":    {link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, endpoint{Bus: USB, Name: "Acme BT"}, false},
		"bluetooth by name, but virtual":   {link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, endpoint{Bus: Bluetooth, Name: "Acme BT", Virtual: true}, false},
		"bluetooth by name, another":       {link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, endpoint{Bus: Bluetooth, Name: "My Acme"}, false},
		"jack":                             {link{Kind: catalogue.LinkJack, NameRegex: "Front"}, endpoint{Bus: PCI, Name: "Front Mic"}, true},
		"jack, but on USB":                 {link{Kind: catalogue.LinkJack, NameRegex: "Front"}, endpoint{Bus: USB, Name: "Front Mic"}, false},
		"jack, but virtual":                {link{Kind: catalogue.LinkJack, NameRegex: "Front"}, endpoint{Bus: PCI, Name: "Front Mic", Virtual: true}, false},
		"virtual":                          {link{Kind: catalogue.LinkVirtual, NameRegex: "^Acme"}, endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"virtual, but hardware":            {link{Kind: catalogue.LinkVirtual, NameRegex: "^Acme"}, endpoint{Name: "Acme Mixer"}, false},
		"by the OS's id instead of a name": {link{Kind: catalogue.LinkVirtual, NameRegex: "^x$"}, endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"for this system":                  {link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []OS{Darwin, Linux}}, hardware, true},
		"for another system":               {link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []OS{Windows}}, hardware, false},
		"by name, for another system":      {link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme", OS: []OS{Windows}}, endpoint{Bus: Bluetooth, Name: "Acme BT"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(product{ID: "p", Links: links{c.link}}), native, mic(c.endpoint))
			if c.want {
				require.Equal(t, []string{"x"}, ids(s))
				return
			}
			require.Empty(t, ids(s))
			require.Len(t, s.Withheld, 1)
			require.Equal(t, "x", s.Withheld[0].ID)
			require.Contains(t, reasons(t, s)["x"], "the catalogue names no such")
		})
	}
}

// TestPriorityDecidesBetweenProducts that match the same hardware, however they match it.
func TestPriorityDecidesBetweenProducts(t *testing.T) {
	named := link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}, NameRegex: "Special"}
	bluetooth := link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"0700"}}
	byName := link{Kind: catalogue.LinkBluetooth, NameRegex: "Special"}
	plain, special := usb("plain", AudioInput, "0700"), usb("special", AudioInput, "0700")
	special.Name = "Special"
	air := special
	air.Bus = Bluetooth
	cases := map[string]struct {
		products []catalogue.Product
		endpoint Endpoint
		want     string
	}{
		"lower number first":            {[]catalogue.Product{{ID: "a", Priority: 2, Links: links{usbLink("0700")}}, {ID: "b", Priority: 1, Links: links{named}}}, special, "b"},
		"a name that does not fit":      {[]catalogue.Product{{ID: "a", Priority: 2, Links: links{usbLink("0700")}}, {ID: "b", Priority: 1, Links: links{named}}}, plain, "a"},
		"equal priority, then the id":   {[]catalogue.Product{{ID: "b", Links: links{named}}, {ID: "a", Links: links{named}}}, special, "a"},
		"a name before hardware ids":    {[]catalogue.Product{{ID: "a", Priority: 2, Links: links{bluetooth}}, {ID: "b", Priority: 1, Links: links{byName}}}, air, "b"},
		"hardware ids before a name":    {[]catalogue.Product{{ID: "a", Priority: 1, Links: links{bluetooth}}, {ID: "b", Priority: 2, Links: links{byName}}}, air, "a"},
		"any one link of a product":     {[]catalogue.Product{{ID: "a", Links: links{usbLink("0001"), byName, usbLink("0700")}}}, plain, "a"},
		"the same product by two links": {[]catalogue.Product{{ID: "a", Links: links{bluetooth, byName}}}, air, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := catalogue.NewResolver(catalogueOf(c.products...), native)
			require.NoError(t, err)
			s := r.Resolve(Inputs{Endpoints: endpoints{c.endpoint}})
			require.Len(t, s.Devices, 1)
			require.Equal(t, c.want, s.Devices[0].Product)
		})
	}
}

func TestEndpointRules(t *testing.T) {
	no, yes := false, true
	pick := func(re string) *catalogue.Pick { return &catalogue.Pick{NameRegex: re} }
	cases := map[string]struct {
		rules []catalogue.EndpointRule
		want  []string // ids reported of: stereo, chat (audio inputs), out (audio output)
		why   string   // for one that is withheld
	}{
		"each type has to be named":   {[]catalogue.EndpointRule{{Type: AudioInput}}, []string{"chat", "stereo"}, `no audiooutput of product "p"`},
		"pick narrows":                {[]catalogue.EndpointRule{{Type: AudioInput, Pick: pick("chat")}}, []string{"chat"}, `no audioinput of product "p"`},
		"pick by the OS's id":         {[]catalogue.EndpointRule{{Type: AudioInput, Pick: pick("^stereo$")}}, []string{"stereo"}, ""},
		"never":                       {[]catalogue.EndpointRule{{Type: AudioInput, Pick: pick("chat"), Report: &no}, {Type: AudioInput}}, []string{"stereo"}, "the catalogue says not to report it"},
		"the first that fits decides": {[]catalogue.EndpointRule{{Type: AudioInput, Pick: pick("chat")}, {Type: AudioInput, Report: &no}}, []string{"chat"}, "the catalogue says not to report it"},
		"report: true":                {[]catalogue.EndpointRule{{Type: AudioOutput, Report: &yes}}, []string{"out"}, ""},
		"nothing at all":              {[]catalogue.EndpointRule{{Type: VideoInput}}, []string{}, `no audioinput of product "p"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(product{ID: "p", Links: links{usbLink("0700")}, Endpoints: c.rules}), native,
				usb("stereo", AudioInput, "0700"), usb("chat", AudioInput, "0700"), usb("out", AudioOutput, "0700"))
			require.Equal(t, c.want, ids(s))
			require.Len(t, s.Withheld, 3-len(c.want))
			if c.why != "" {
				all := ""
				for _, r := range reasons(t, s) {
					all += r + "\n"
				}
				require.Contains(t, all, c.why)
			}
		})
	}
}

func TestControlsAreWantedWhereAFlagIsReadOffThem(t *testing.T) {
	product := func(pid string, source Source) Product {
		return Product{ID: pid, Links: []Link{{Bus: USB, VID: "046f", PIDs: []string{pid}}}, Flags: []FlagRule{{Field: HardwareMute, Source: source}}}
	}
	control := Source{Control: &Control{Name: "Mic Capture Switch", Invert: true}}
	r := NewResolver(Rules{Products: []Product{
		product("0001", control),
		product("0002", Source{Derive: &Derive{Or: true, Terms: []Source{{Const: False}, control}}}),
		product("0003", Source{EndpointMute: &EndpointMute{}}),
	}}, Options{OS: Linux})
	for pid, want := range map[string]bool{"0001": true, "0002": true, "0003": false, "0004": false} {
		require.Equal(t, want, r.WantsControls(Endpoint{Type: AudioInput, Bus: USB, VID: "046f", PID: pid}), pid)
	}
}

func TestEffectsAreWantedWhereAFlagIsReadOffThem(t *testing.T) {
	product := func(pid string, flags ...FlagRule) Product {
		return Product{ID: pid, Links: []Link{{Bus: USB, VID: "046f", PIDs: []string{pid}}}, Flags: flags, Virtual: []EndpointRule{{Type: AudioInput, Report: true}}}
	}
	effect := Source{Effect: EchoCancellation}
	r := NewResolver(Rules{Products: []Product{
		product("0001", FlagRule{Field: EchoCancellation, Source: effect}),
		product("0002", FlagRule{Field: EchoCancellation, Source: Source{Derive: &Derive{Or: true, Terms: []Source{{Const: False}, effect}}}}),
		product("0003", FlagRule{Field: EchoCancellation, Source: Source{Const: True}}),
	}}, Options{OS: Windows})
	for pid, want := range map[string]bool{"0001": true, "0002": true, "0003": false, "0004": false} {
		require.Equal(t, want, r.WantsEffects(Endpoint{Type: AudioInput, Bus: USB, VID: "046f", PID: pid}), pid)
	}
	require.True(t, r.WantsEffects(Endpoint{Type: AudioInput, Virtual: true}), "a product names such virtual endpoints")
}
