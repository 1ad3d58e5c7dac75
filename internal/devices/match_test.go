package devices_test

import (
	"testing"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"

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
			p.Endpoints = []catalogue.EndpointRule{{Type: devices.AudioInput}, {Type: devices.AudioOutput}, {Type: devices.VideoInput}}
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
func resolve(t *testing.T, cat *catalogue.Catalogue, opts devices.Options, endpoints ...devices.Endpoint) devices.Snapshot {
	t.Helper()
	require.Empty(t, cat.Check(), "a test's catalogue must be one that could be in use")
	if opts.OS == "" {
		opts.OS = devices.Linux
	}
	r, err := catalogue.NewResolver(cat, opts)
	require.NoError(t, err)
	s := r.Resolve(devices.Inputs{Endpoints: endpoints})
	require.NoError(t, validate(s.Wire()))
	return s
}

var native = devices.Options{AudioID: devices.IDNative, VideoID: devices.IDNative}

// ids are the wire ids in their order.
func ids(s devices.Snapshot) []string {
	out := []string{}
	for _, d := range s.Devices {
		out = append(out, d.ID)
	}
	return out
}

// reasons are those for which endpoints are withheld, by id.
func reasons(s devices.Snapshot) map[string]string {
	out := make(map[string]string)
	for _, w := range s.Withheld {
		out[w.ID] = w.Reason
	}
	return out
}

func usb(id string, typ devices.Type, pid string) devices.Endpoint {
	return devices.Endpoint{Source: "audio", ID: id, Type: typ, Name: "Name of " + id, Bus: devices.USB, VID: "1209", PID: pid, Attached: epoch}
}

func usbLink(pids ...string) catalogue.Link {
	return catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: pids}
}

func TestLinks(t *testing.T) {
	mic := func(e devices.Endpoint) devices.Endpoint {
		e.Source, e.ID, e.Type = "audio", "x", devices.AudioInput
		return e
	}
	hardware := devices.Endpoint{Bus: devices.USB, VID: "1209", PID: "07ab"}
	cases := map[string]struct {
		link     catalogue.Link
		endpoint devices.Endpoint
		want     bool
	}{
		"usb":                                         {usbLink("07ab"), hardware, true},
		"usb, upper case in the catalogue":            {catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07AB"}}, hardware, true},
		"usb, second of several ids":                  {usbLink("0001", "07ab"), hardware, true},
		"usb, another product":                        {usbLink("0001"), hardware, false},
		"usb, another vendor":                         {catalogue.Link{Kind: catalogue.LinkUSB, VID: "120a", PIDs: []string{"07ab"}}, hardware, false},
		"usb, but on Bluetooth":                       {usbLink("07ab"), devices.Endpoint{Bus: devices.Bluetooth, VID: "1209", PID: "07ab"}, false},
		"usb, bus unknown":                            {usbLink("07ab"), devices.Endpoint{VID: "1209", PID: "07ab"}, false},
		"usb, no product id":                          {usbLink("07ab"), devices.Endpoint{Bus: devices.USB, VID: "1209"}, false},
		"usb with a name":                             {catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, devices.Endpoint{Bus: devices.USB, VID: "1209", PID: "07ab", Name: "Acme Pro"}, true},
		"usb with another name":                       {catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, NameRegex: "Pro$"}, devices.Endpoint{Bus: devices.USB, VID: "1209", PID: "07ab", Name: "Acme Pro 2"}, false},
		"usb, a virtual endpoint that copies the ids": {usbLink("07ab"), devices.Endpoint{Bus: devices.USB, VID: "1209", PID: "07ab", Virtual: true}, false},
		"dongle":                           {catalogue.Link{Kind: catalogue.LinkDongle, VID: "1209", PIDs: []string{"07ab"}}, hardware, true},
		"bluetooth by id":                  {catalogue.Link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, devices.Endpoint{Bus: devices.Bluetooth, VID: "1209", PID: "07ab"}, true},
		"bluetooth by id, but on USB":      {catalogue.Link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"07ab"}}, hardware, false},
		"bluetooth by name":                {catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, devices.Endpoint{Bus: devices.Bluetooth, Name: "Acme BT"}, true},
		"bluetooth by name, but on USB":    {catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, devices.Endpoint{Bus: devices.USB, Name: "Acme BT"}, false},
		"bluetooth by name, but virtual":   {catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, devices.Endpoint{Bus: devices.Bluetooth, Name: "Acme BT", Virtual: true}, false},
		"bluetooth by name, another":       {catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme"}, devices.Endpoint{Bus: devices.Bluetooth, Name: "My Acme"}, false},
		"jack":                             {catalogue.Link{Kind: catalogue.LinkJack, NameRegex: "Front"}, devices.Endpoint{Bus: devices.PCI, Name: "Front Mic"}, true},
		"jack, but on USB":                 {catalogue.Link{Kind: catalogue.LinkJack, NameRegex: "Front"}, devices.Endpoint{Bus: devices.USB, Name: "Front Mic"}, false},
		"jack, but virtual":                {catalogue.Link{Kind: catalogue.LinkJack, NameRegex: "Front"}, devices.Endpoint{Bus: devices.PCI, Name: "Front Mic", Virtual: true}, false},
		"virtual":                          {catalogue.Link{Kind: catalogue.LinkVirtual, NameRegex: "^Acme"}, devices.Endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"virtual, but hardware":            {catalogue.Link{Kind: catalogue.LinkVirtual, NameRegex: "^Acme"}, devices.Endpoint{Name: "Acme Mixer"}, false},
		"by the OS's id instead of a name": {catalogue.Link{Kind: catalogue.LinkVirtual, NameRegex: "^x$"}, devices.Endpoint{Name: "Acme Mixer", Virtual: true}, true},
		"for this system":                  {catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []devices.OS{devices.Darwin, devices.Linux}}, hardware, true},
		"for another system":               {catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"07ab"}, OS: []devices.OS{devices.Windows}}, hardware, false},
		"by name, for another system":      {catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "^Acme", OS: []devices.OS{devices.Windows}}, devices.Endpoint{Bus: devices.Bluetooth, Name: "Acme BT"}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{c.link}}), native, mic(c.endpoint))
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
	named := catalogue.Link{Kind: catalogue.LinkUSB, VID: "1209", PIDs: []string{"0700"}, NameRegex: "Special"}
	bluetooth := catalogue.Link{Kind: catalogue.LinkBluetooth, VID: "1209", PIDs: []string{"0700"}}
	byName := catalogue.Link{Kind: catalogue.LinkBluetooth, NameRegex: "Special"}
	plain, special := usb("plain", devices.AudioInput, "0700"), usb("special", devices.AudioInput, "0700")
	special.Name = "Special"
	air := special
	air.Bus = devices.Bluetooth
	cases := map[string]struct {
		products []catalogue.Product
		endpoint devices.Endpoint
		want     string
	}{
		"lower number first":            {[]catalogue.Product{{ID: "a", Priority: 2, Links: []catalogue.Link{usbLink("0700")}}, {ID: "b", Priority: 1, Links: []catalogue.Link{named}}}, special, "b"},
		"a name that does not fit":      {[]catalogue.Product{{ID: "a", Priority: 2, Links: []catalogue.Link{usbLink("0700")}}, {ID: "b", Priority: 1, Links: []catalogue.Link{named}}}, plain, "a"},
		"equal priority, then the id":   {[]catalogue.Product{{ID: "b", Links: []catalogue.Link{named}}, {ID: "a", Links: []catalogue.Link{named}}}, special, "a"},
		"a name before hardware ids":    {[]catalogue.Product{{ID: "a", Priority: 2, Links: []catalogue.Link{bluetooth}}, {ID: "b", Priority: 1, Links: []catalogue.Link{byName}}}, air, "b"},
		"hardware ids before a name":    {[]catalogue.Product{{ID: "a", Priority: 1, Links: []catalogue.Link{bluetooth}}, {ID: "b", Priority: 2, Links: []catalogue.Link{byName}}}, air, "a"},
		"any one link of a product":     {[]catalogue.Product{{ID: "a", Links: []catalogue.Link{usbLink("0001"), byName, usbLink("0700")}}}, plain, "a"},
		"the same product by two links": {[]catalogue.Product{{ID: "a", Links: []catalogue.Link{bluetooth, byName}}}, air, "a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := catalogue.NewResolver(catalogueOf(c.products...), native)
			require.NoError(t, err)
			s := r.Resolve(devices.Inputs{Endpoints: []devices.Endpoint{c.endpoint}})
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
		"each type has to be named":   {[]catalogue.EndpointRule{{Type: devices.AudioInput}}, []string{"chat", "stereo"}, `no audiooutput of product "p"`},
		"pick narrows":                {[]catalogue.EndpointRule{{Type: devices.AudioInput, Pick: pick("chat")}}, []string{"chat"}, `no audioinput of product "p"`},
		"pick by the OS's id":         {[]catalogue.EndpointRule{{Type: devices.AudioInput, Pick: pick("^stereo$")}}, []string{"stereo"}, ""},
		"never":                       {[]catalogue.EndpointRule{{Type: devices.AudioInput, Pick: pick("chat"), Report: &no}, {Type: devices.AudioInput}}, []string{"stereo"}, "the catalogue says not to report it"},
		"the first that fits decides": {[]catalogue.EndpointRule{{Type: devices.AudioInput, Pick: pick("chat")}, {Type: devices.AudioInput, Report: &no}}, []string{"chat"}, "the catalogue says not to report it"},
		"report: true":                {[]catalogue.EndpointRule{{Type: devices.AudioOutput, Report: &yes}}, []string{"out"}, ""},
		"nothing at all":              {[]catalogue.EndpointRule{{Type: devices.VideoInput}}, []string{}, `no audioinput of product "p"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := resolve(t, catalogueOf(catalogue.Product{ID: "p", Links: []catalogue.Link{usbLink("0700")}, Endpoints: c.rules}), native,
				usb("stereo", devices.AudioInput, "0700"), usb("chat", devices.AudioInput, "0700"), usb("out", devices.AudioOutput, "0700"))
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
