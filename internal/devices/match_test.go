package devices

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// catalogueOf makes a catalogue of products, filling in what does not matter.
func catalogueOf(products ...Product) *Catalogue {
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
			p.Endpoints = []EndpointRule{{Type: AudioInput}, {Type: AudioOutput}, {Type: VideoInput}}
		}
	}
	return &Catalogue{
		Schema:   SchemaVersion,
		Vendor:   Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678"},
		Products: products,
	}
}

// resolve resolves endpoints under a catalogue on Linux, with native ids unless opts say
// otherwise, which keeps ids and names apart.
func resolve(t *testing.T, cat *Catalogue, opts Options, endpoints ...Endpoint) Snapshot {
	t.Helper()
	require.Empty(t, cat.Check(), "a test's catalogue must be one that could be in use")
	if opts.OS == "" {
		opts.OS = Linux
	}
	r, err := NewResolver(cat, opts)
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
func reasons(s Snapshot) map[string]string {
	out := make(map[string]string)
	for _, w := range s.Withheld {
		out[w.ID] = w.Reason
	}
	return out
}

func usb(id string, typ Type, pid string) Endpoint {
	return Endpoint{Source: "audio", ID: id, Type: typ, Name: "Name of " + id, Bus: USB, VID: "1209", PID: pid, Attached: epoch}
}

func usbLink(pids ...string) Link { return Link{Kind: LinkUSB, VID: "1209", PIDs: pids} }

func TestLinks(t *testing.T) {
	mic := func(e Endpoint) Endpoint {
		e.Source, e.ID, e.Type = "audio", "x", AudioInput
		return e
	}
	hardware := Endpoint{Bus: USB, VID: "1209", PID: "07ab"}
	cases := map[string]struct {
		link     Link
		endpoint Endpoint
		want     bool
	}{
		"usb":                                         {usbLink("07ab"), hardware, true},
		"usb, upper case in the catalogue":            {Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"07AB"}}, hardware, true},
		"usb, second of several ids":                  {usbLink("0001", "07ab"), hardware, true},
		"usb, another product":                        {usbLink("0001"), hardware, false},
		"usb, another vendor":                         {Link{Kind: LinkUSB, VID: "120a", PIDs: []string{"07ab"}}, hardware, false},
		"usb, but on Bluetooth":                       {usbLink("07ab"), Endpoint{Bus: Bluetooth, VID: "1209", PID: "07ab"}, false},
		"usb, bus unknown":                            {usbLink("07ab"), Endpoint{VID: "1209", PID: "07ab"}, false},
		"usb, no product id":                          {usbLink("07ab"), Endpoint{Bus: USB, VID: "1209"}, false},
		"usb with a name":                             {Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, Endpoint{Bus: USB, VID: "1209", PID: "07ab", Name: "Acme Pro"}, true},
		"usb with another name":                       {Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, Endpoint{Bus: USB, VID: "1209", PID: "07ab", Name: "Acme Pro 2"}, false},
		"usb, a virtual endpoint that copies the ids": {usbLink("07ab"), Endpoint{Bus: USB, VID: "1209", PID: "07ab", Virtual: true}, false},
		"dongle":                           {Link{Kind: LinkDongle, VID: "1209", PIDs: []string{"07ab"}}, hardware, true},
		"bluetooth by id":                  {Link{Kind: LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, Endpoint{Bus: Bluetooth, VID: "1209", PID: "07ab"}, true},
		"bluetooth by id, but on USB":      {Link{Kind: LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, hardware, false},
		"bluetooth by name":                {Link{Kind: LinkBluetooth, NameRegex: "^Acme"}, Endpoint{Bus: Bluetooth, Name: "Acme BT"}, true},
		"bluetooth by name, but on USB":    {Link{Kind: LinkBluetooth, NameRegex: "^Acme"}, Endpoint{Bus: USB, Name: "Acme BT"}, false},
		"bluetooth by name, but virtual":   {Link{Kind: LinkBluetooth, NameRegex: "^Acme"}, Endpoint{Bus: Bluetooth, Name: "Acme BT", Virtual: true}, false},
		"bluetooth by name, another":       {Link{Kind: LinkBluetooth, NameRegex: "^Acme"}, Endpoint{Bus: Bluetooth, Name: "My Acme"}, false},
		"jack":                             {Link{Kind: LinkJack, NameRegex: "Front"}, Endpoint{Bus: PCI, Name: "Front Mic"}, true},
		"jack, but on USB":                 {Link{Kind: LinkJack, NameRegex: "Front"}, Endpoint{Bus: USB, Name: "Front Mic"}, false},
		"jack, but virtual":                {Link{Kind: LinkJack, NameRegex: "Front"}, Endpoint{Bus: PCI, Name: "Front Mic", Virtual: true}, false},
		"virtual":                          {Link{Kind: LinkVirtual, NameRegex: "^Acme"}, Endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"virtual, but hardware":            {Link{Kind: LinkVirtual, NameRegex: "^Acme"}, Endpoint{Name: "Acme Mixer"}, false},
		"by the OS's id instead of a name": {Link{Kind: LinkVirtual, NameRegex: "^x$"}, Endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"for this system":                  {Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []OS{Darwin, Linux}}, hardware, true},
		"for another system":               {Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []OS{Windows}}, hardware, false},
		"by name, for another system":      {Link{Kind: LinkBluetooth, NameRegex: "^Acme", OS: []OS{Windows}}, Endpoint{Bus: Bluetooth, Name: "Acme BT"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(Product{ID: "p", Links: []Link{c.link}}), native, mic(c.endpoint))
			if c.want {
				require.Equal(t, []string{"x"}, ids(s))
				return
			}
			require.Empty(t, ids(s))
			require.Len(t, s.Withheld, 1)
			require.Equal(t, "x", s.Withheld[0].ID)
			require.Contains(t, s.Withheld[0].Reason, "the catalogue names no such")
		})
	}
}

// TestPriorityDecidesBetweenProducts that match the same hardware, however they match it.
func TestPriorityDecidesBetweenProducts(t *testing.T) {
	named := Link{Kind: LinkUSB, VID: "1209", PIDs: []string{"0700"}, NameRegex: "Special"}
	bluetooth := Link{Kind: LinkBluetooth, VID: "1209", PIDs: []string{"0700"}}
	byName := Link{Kind: LinkBluetooth, NameRegex: "Special"}
	plain, special := usb("plain", AudioInput, "0700"), usb("special", AudioInput, "0700")
	special.Name = "Special"
	air := special
	air.Bus = Bluetooth
	cases := map[string]struct {
		products []Product
		endpoint Endpoint
		want     string
	}{
		"lower number first":            {[]Product{{ID: "a", Priority: 2, Links: []Link{usbLink("0700")}}, {ID: "b", Priority: 1, Links: []Link{named}}}, special, "b"},
		"a name that does not fit":      {[]Product{{ID: "a", Priority: 2, Links: []Link{usbLink("0700")}}, {ID: "b", Priority: 1, Links: []Link{named}}}, plain, "a"},
		"equal priority, then the id":   {[]Product{{ID: "b", Links: []Link{named}}, {ID: "a", Links: []Link{named}}}, special, "a"},
		"a name before hardware ids":    {[]Product{{ID: "a", Priority: 2, Links: []Link{bluetooth}}, {ID: "b", Priority: 1, Links: []Link{byName}}}, air, "b"},
		"hardware ids before a name":    {[]Product{{ID: "a", Priority: 1, Links: []Link{bluetooth}}, {ID: "b", Priority: 2, Links: []Link{byName}}}, air, "a"},
		"any one link of a product":     {[]Product{{ID: "a", Links: []Link{usbLink("0001"), byName, usbLink("0700")}}}, plain, "a"},
		"the same product by two links": {[]Product{{ID: "a", Links: []Link{bluetooth, byName}}}, air, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := NewResolver(catalogueOf(c.products...), native)
			require.NoError(t, err)
			s := r.Resolve(Inputs{Endpoints: []Endpoint{c.endpoint}})
			require.Len(t, s.Devices, 1)
			require.Equal(t, c.want, s.Devices[0].Product)
		})
	}
}

func TestEndpointRules(t *testing.T) {
	no, yes := false, true
	pick := func(re string) *Pick { return &Pick{NameRegex: re} }
	cases := map[string]struct {
		rules []EndpointRule
		want  []string // ids reported of: stereo, chat (audio inputs), out (audio output)
		why   string   // for one that is withheld
	}{
		"each type has to be named":   {[]EndpointRule{{Type: AudioInput}}, []string{"chat", "stereo"}, `no audiooutput of product "p"`},
		"pick narrows":                {[]EndpointRule{{Type: AudioInput, Pick: pick("chat")}}, []string{"chat"}, `no audioinput of product "p"`},
		"pick by the OS's id":         {[]EndpointRule{{Type: AudioInput, Pick: pick("^stereo$")}}, []string{"stereo"}, ""},
		"never":                       {[]EndpointRule{{Type: AudioInput, Pick: pick("chat"), Report: &no}, {Type: AudioInput}}, []string{"stereo"}, "the catalogue says not to report it"},
		"the first that fits decides": {[]EndpointRule{{Type: AudioInput, Pick: pick("chat")}, {Type: AudioInput, Report: &no}}, []string{"chat"}, "the catalogue says not to report it"},
		"report: true":                {[]EndpointRule{{Type: AudioOutput, Report: &yes}}, []string{"out"}, ""},
		"nothing at all":              {[]EndpointRule{{Type: VideoInput}}, []string{}, `no audioinput of product "p"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(Product{ID: "p", Links: []Link{usbLink("0700")}, Endpoints: c.rules}), native,
				usb("stereo", AudioInput, "0700"), usb("chat", AudioInput, "0700"), usb("out", AudioOutput, "0700"))
			require.Equal(t, c.want, ids(s))
			require.Len(t, s.Withheld, 3-len(c.want))
			if c.why != "" {
				all := ""
				for _, r := range reasons(s) {
					all += r + "\n"
				}
				require.Contains(t, all, c.why)
			}
		})
	}
}

func TestResolverRefusesBadExpressions(t *testing.T) {
	for name, p := range map[string]Product{
		"link":    {Links: []Link{{Kind: LinkJack, NameRegex: "("}}},
		"pick":    {Endpoints: []EndpointRule{{Type: AudioInput, Pick: &Pick{NameRegex: "("}}}},
		"virtual": {VirtualEndpoints: []VirtualRule{{Type: AudioInput, NameRegex: "("}}},
	} {
		p.ID = "odd"
		_, err := NewResolver(catalogueOf(p), Options{OS: Linux})
		require.ErrorContains(t, err, `product "odd"`, name)
	}
}
