package catalogue

import (
	"encoding/json"
	"testing"

	"sidetone/internal/devices"

	"github.com/stretchr/testify/require"
)

// soundCatalogue holds each kind of link and source, and no fault.
func soundCatalogue() *Catalogue {
	yes, no := true, false
	return &Catalogue{
		Schema: SchemaVersion,
		Vendor: Vendor{ID: "acme", Name: "Acme", URL: "https://acme.example", ClientID: "123456789012345678", RPCOrigin: "https://acme.example:8443"},
		Products: []Product{
			{
				ID: "headset", Name: "Headset", URL: "http://acme.example/h", Priority: 2,
				Links: []Link{
					{Kind: LinkUSB, VID: "12aB", PIDs: []string{"0700", "0701"}},
					{Kind: LinkDongle, VID: "12ab", PIDs: []string{"0702"}, OS: []devices.OS{devices.Linux}},
					{Kind: LinkBluetooth, NameRegex: "^Acme"},
					{Kind: LinkBluetooth, VID: "12ab", PIDs: []string{"0700"}},
				},
				Endpoints:        []EndpointRule{{Type: devices.AudioInput, Pick: &Pick{NameRegex: "x"}, Report: &no}, {Type: devices.AudioInput}, {Type: devices.AudioOutput}},
				VirtualEndpoints: []VirtualRule{{Type: devices.AudioInput, NameRegex: "echo", OS: []devices.OS{devices.Linux}}, {Type: devices.AudioInput, NameRegex: "echo", OS: []devices.OS{devices.Windows}}},
				IDScheme:         &IDSchemes{Windows: devices.IDGUID, Linux: devices.IDBusInfo},
				Sources: []SourceRule{
					muteOf(SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}),
					muteOf(SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}),
					{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: devices.NoiseSuppression}}},
					{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{}}},
					{Field: devices.EchoCancellation, OS: []devices.OS{devices.Windows}, SourceKind: SourceKind{Const: &yes}},
					{Field: devices.EchoCancellation, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A"}}},
					{Field: devices.EchoCancellation, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "B"}}},
				},
			},
			{
				ID: "special", Name: "Special edition", URL: "https://acme.example/s", Priority: 1,
				Links: []Link{
					{Kind: LinkUSB, VID: "12ab", PIDs: []string{"0700"}, NameRegex: "Special"},
					{Kind: LinkUSB, VID: "12ab", PIDs: []string{"0702"}, OS: []devices.OS{devices.Windows, devices.Darwin}},
				},
				Endpoints: []EndpointRule{{Type: devices.VideoInput}},
			},
			{
				ID: "jack", Name: "Jack", URL: "https://acme.example/j", Priority: 1,
				Links: []Link{
					{Kind: LinkJack, NameRegex: "Front"},
					{Kind: LinkVirtual, NameRegex: "Front"},
					{Kind: LinkUSB, VID: "12ab", PIDs: []string{"0700"}, NameRegex: "Other"},
				},
				Endpoints: []EndpointRule{{Type: devices.AudioOutput}},
			},
		},
	}
}

func TestCheckSound(t *testing.T) {
	c := soundCatalogue()
	require.Empty(t, c.Check())
	for _, os := range []devices.OS{devices.Linux, devices.Windows, devices.Darwin} {
		_, err := NewResolver(c, devices.Options{OS: os})
		require.NoError(t, err)
	}
}

const sharedHint = "add shared_with_button: true if its button and the OS move one mute; else take the rule out, and push the state"

func TestCheckFaults(t *testing.T) {
	yes, no := true, false
	const linkState = "a link_state in each that is true for this model only tells which of them is there"
	tell := func(model Byte) []LinkRule {
		return []LinkRule{{SourceKind: SourceKind{HIDReport: &HIDReport{ReportID: ptr(Byte(5)), Value: &ByteValue{Byte: 1, On: []Byte{model}, Off: []Byte{0}}}}}}
	}
	// h and s are the first two products.
	for name, tc := range map[string]struct {
		breakIt func(c *Catalogue, h, s *Product)
		want    []Fault
	}{
		"schema": {func(c *Catalogue, h, _ *Product) { c.Schema, h.ID = 2, "" }, []Fault{
			{"$.schema", "unknown schema version 2", "this program reads schema 1"},
		}},
		"vendor": {func(c *Catalogue, _, _ *Product) {
			c.Vendor = Vendor{ID: "Acme", ClientID: "abc", RPCOrigin: "https://x/y"}
		}, []Fault{
			{"$.vendor.id", "not a valid id", "use lower-case letters, digits and dashes"},
			{"$.vendor.name", "empty name", "the client refuses a list with an empty name"},
			{"$.vendor.url", "empty url", "the client refuses a list with an empty url"},
			{"$.vendor.client_id", "client_id is not 17 to 20 digits", `a snowflake such as "123456789012345678"`},
			{"$.vendor.rpc_origin", "not an origin", "such as https://acme.example, without a path"},
		}},
		"no products": {func(c *Catalogue, _, _ *Product) { c.Products = nil }, []Fault{
			{"$.products", "no products: nothing would ever be reported", ""},
		}},
		"product": {func(_ *Catalogue, _, s *Product) { *s = Product{ID: "-", Name: "\t", URL: "ftp://x"} }, []Fault{
			{"$.products[1].id", "not a valid id", "use lower-case letters, digits and dashes"},
			{"$.products[1].name", "empty name", "the client refuses a list with an empty name"},
			{"$.products[1].url", "not an http or https address", "such as https://acme.example"},
			{"$.products[1].priority", "priority is less than 1", "1 comes first"},
			{"$.products[1].links", "no links: nothing can match this product", ""},
			{"$.products[1].endpoints", "no endpoints: nothing of this product would be reported", ""},
		}},
		"name": {func(_ *Catalogue, h, _ *Product) { h.Name = "a\nb" }, []Fault{
			{"$.products[0].name", "control character in a name", ""},
		}},
		"duplicate id": {func(c *Catalogue, h, _ *Product) { c.Products[2].ID = h.ID }, []Fault{
			{"$.products[2].id", "duplicate product id", "products[0] has it too"},
		}},
		"ids": {func(_ *Catalogue, h, _ *Product) { h.Links[0].VID, h.Links[0].PIDs = "0x12", []string{"700", "07001"} }, []Fault{
			{"$.products[0].links[0].vid", "not a vendor id", `four hex digits such as "1209"`},
			{"$.products[0].links[0].pids[0]", "not a product id", `four hex digits such as "0700"`},
			{"$.products[0].links[0].pids[1]", "not a product id", `four hex digits such as "0700"`},
		}},
		"usb needs ids": {func(_ *Catalogue, h, _ *Product) {
			h.Links = []Link{{Kind: LinkUSB}, {Kind: LinkDongle, PIDs: []string{}}}
		}, []Fault{
			{"$.products[0].links[0].vid", "a link of kind usb needs vid", ""},
			{"$.products[0].links[0].pids", "a link of kind usb needs pids", ""},
			{"$.products[0].links[1].vid", "a link of kind dongle needs vid", ""},
			{"$.products[0].links[1].pids", "a link of kind dongle needs pids", ""},
		}},
		"bluetooth": {func(_ *Catalogue, h, _ *Product) {
			h.Links = []Link{{Kind: LinkBluetooth}, {Kind: LinkBluetooth, VID: "1209", NameRegex: "x"}}
		}, []Fault{
			{"$.products[0].links[0].vid", "a link of kind bluetooth needs vid", "or name_regex alone"},
			{"$.products[0].links[0].pids", "a link of kind bluetooth needs pids", "or name_regex alone"},
			{"$.products[0].links[1].pids", "a link of kind bluetooth needs pids", "or name_regex alone"},
		}},
		"jack": {func(c *Catalogue, _, _ *Product) {
			c.Products[2].Links = []Link{{Kind: LinkJack, VID: "1209", PIDs: []string{"0001"}}, {Kind: LinkVirtual}}
		}, []Fault{
			{"$.products[2].links[0].vid", "a link of kind jack has no vid", "remove it"},
			{"$.products[2].links[0].pids", "a link of kind jack has no pids", "remove it"},
			{"$.products[2].links[0].name_regex", "a link of kind jack needs name_regex", ""},
			{"$.products[2].links[1].name_regex", "a link of kind virtual needs name_regex", ""},
		}},
		"expressions": {func(_ *Catalogue, h, _ *Product) {
			h.Links[2].NameRegex, h.Endpoints[0].Pick.NameRegex, h.VirtualEndpoints[0].NameRegex = "a(b", "", ".*"
		}, []Fault{
			{"$.products[0].links[2].name_regex", "bad expression, missing closing ): `a(b`", "see the syntax of RE2"},
			{"$.products[0].endpoints[0].pick.name_regex", "empty expression", "it would fit every name"},
			{"$.products[0].virtual_endpoints[0].name_regex", "the expression matches empty text", "it would fit every name"},
		}},
		"systems": {func(_ *Catalogue, h, _ *Product) {
			h.Links[0].OS, h.VirtualEndpoints[0].OS, h.Sources[4].OS = []devices.OS{}, []devices.OS{devices.Linux, devices.Linux}, []devices.OS{}
		}, []Fault{
			{"$.products[0].links[0].os", "empty list of systems", "leave it out for all systems"},
			{"$.products[0].virtual_endpoints[0].os[1]", "linux is listed twice", ""},
			{"$.products[0].sources[4].os", "empty list of systems", "leave it out for all systems"},
			{"$.products[0].sources[5]", "unreachable source", "sources[4] decides before it"},
			{"$.products[0].sources[6]", "unreachable source", "sources[4] decides before it"},
		}},
		"endpoint after all": {func(_ *Catalogue, h, _ *Product) {
			h.Endpoints = append(h.Endpoints, EndpointRule{Type: devices.AudioInput, Pick: &Pick{NameRegex: "y"}}, EndpointRule{Type: devices.AudioOutput})
		}, []Fault{
			{"$.products[0].endpoints[3]", "unreachable rule", "endpoints[1] decides before it"},
			{"$.products[0].endpoints[4]", "unreachable rule", "endpoints[2] decides before it"},
		}},
		"endpoint twice": {func(_ *Catalogue, h, _ *Product) {
			h.Endpoints = []EndpointRule{{Type: devices.AudioInput, Pick: &Pick{NameRegex: "y"}}, {Type: devices.AudioInput, Pick: &Pick{NameRegex: "y"}, Report: &no}}
		}, []Fault{
			{"$.products[0].endpoints[1]", "unreachable rule", "endpoints[0] decides before it"},
		}},
		"virtual twice": {func(_ *Catalogue, h, _ *Product) { h.VirtualEndpoints[0].OS = nil }, []Fault{
			{"$.products[0].virtual_endpoints[1]", "unreachable rule", "virtual_endpoints[0] decides before it"},
		}},
		"id schemes": {func(_ *Catalogue, h, _ *Product) {
			h.IDScheme = &IDSchemes{Windows: devices.IDBusInfo, Darwin: devices.IDGUID, Linux: devices.IDGUID}
		}, []Fault{
			{"$.products[0].id_scheme.windows", "there is no bus_info on windows", "bus_info is for linux"},
			{"$.products[0].id_scheme.darwin", "ids have no guid on darwin", "guid is for windows"},
			{"$.products[0].id_scheme.linux", "ids have no guid on linux", "guid is for windows"},
		}},
		"no input": {func(_ *Catalogue, h, s *Product) {
			s.Sources = h.Sources[:1]
			h.VirtualEndpoints, h.Endpoints[1].Report = nil, &no
		}, []Fault{
			{"$.products[0].sources", "the product reports no audioinput", "flags are reported on an audioinput only"},
			{"$.products[1].sources", "the product reports no audioinput", "flags are reported on an audioinput only"},
		}},
		"virtual input is enough": {func(_ *Catalogue, h, _ *Product) { h.Endpoints = h.Endpoints[2:] }, nil},
		"kinds of source": {func(_ *Catalogue, h, _ *Product) {
			h.Sources = []SourceRule{{Field: devices.HardwareMute}, {Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{}, Const: &yes}}}
		}, []Fault{
			{"$.products[0].sources[0]", "want exactly one kind of source, found 0", "one of os_endpoint_mute, os_effects, alsa_ctl, hid_usage, hid_report, hid_query, hidpp, derive, const"},
			{"$.products[0].sources[1]", "want exactly one kind of source, found 2", "one of os_endpoint_mute, os_effects, alsa_ctl, hid_usage, hid_report, hid_query, hidpp, derive, const"},
		}},
		"source and field": {func(_ *Catalogue, h, _ *Product) {
			h.Sources = []SourceRule{
				{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}},
				muteOf(SourceKind{OSEffects: &OSEffects{}}),
				{Field: devices.NoiseSuppression, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: devices.HardwareMute}}},
				muteOf(SourceKind{ALSACtl: &ALSACtl{Name: " "}}),
				{Field: devices.AutomaticGainControl, OS: []devices.OS{devices.Windows, devices.Darwin}, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A"}}},
				muteOf(SourceKind{Const: &yes}),
			}
		}, []Fault{
			{"$.products[0].sources[0].os_endpoint_mute", "os_endpoint_mute is for hardware_mute only", ""},
			{"$.products[0].sources[1].os_effects", "os_effects cannot tell hardware_mute", ""},
			{"$.products[0].sources[2].os_effects.effect", "hardware_mute is not an effect", ""},
			{"$.products[0].sources[3].alsa_ctl.name", "empty name of a control", "'sidetone devices' shows the names"},
			{"$.products[0].sources[4].alsa_ctl", "alsa_ctl works on linux only, so this rule never applies", ""},
			{"$.products[0].sources[5].const", "hardware_mute is never constant", ""},
		}},
		"mute of the OS": {func(_ *Catalogue, h, _ *Product) {
			h.Sources = []SourceRule{
				{Field: devices.HardwareMute, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{}}},
				{Field: devices.HardwareMute, OS: []devices.OS{devices.Windows}, SourceKind: SourceKind{OSEndpointMute: &OSEndpointMute{RequireHardwareSupport: &no}}},
			}
		}, []Fault{
			{"$.products[0].sources[0].os_endpoint_mute", "the OS does not tell who set its mute, so this rule says nothing", sharedHint},
			{"$.products[0].sources[1].os_endpoint_mute", "the OS does not tell who set its mute, so this rule says nothing", sharedHint},
		}},
		"unreachable sources": {func(_ *Catalogue, h, _ *Product) {
			h.Sources = []SourceRule{
				muteOf(SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true, RequireHardwareSupport: &no}}),
				muteOf(SourceKind{OSEndpointMute: &OSEndpointMute{SharedWithButton: true}}), // weaker than 0
				{Field: devices.EchoCancellation, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{OSEffects: &OSEffects{}}},
				{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: devices.EchoCancellation}}}, // left: windows, darwin
				{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{}}},                                 // the same as 2 and 3
				{Field: devices.EchoCancellation, OS: []devices.OS{devices.Windows, devices.Darwin}, SourceKind: SourceKind{Const: &yes}},
				{Field: devices.EchoCancellation, SourceKind: SourceKind{OSEffects: &OSEffects{Effect: devices.NoiseSuppression}}}, // left: linux
				{Field: devices.EchoCancellation, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{Const: &no}},
				{Field: devices.EchoCancellation, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A"}}}, // after 5 and 7
				{Field: devices.NoiseSuppression, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A"}}},
				{Field: devices.NoiseSuppression, OS: []devices.OS{devices.Linux}, SourceKind: SourceKind{ALSACtl: &ALSACtl{Name: "A", Invert: true}}}, // the same control
			}
		}, []Fault{
			{"$.products[0].sources[1]", "unreachable source", "sources[0] decides before it"},
			{"$.products[0].sources[4]", "unreachable source", "sources[3] decides before it"},
			{"$.products[0].sources[8]", "unreachable source", "sources[7] decides before it"},
			{"$.products[0].sources[10]", "unreachable source", "sources[9] decides before it"},
		}},
		"overlap": {func(c *Catalogue, _, s *Product) {
			s.Links[0].NameRegex = "" // 12ab:0700, as the headset
			c.Products[2].Links[2] = Link{Kind: LinkDongle, VID: "12AB", PIDs: []string{"0702"}}
		}, []Fault{
			{"$.products[1].links[0].pids[0]", `overlapping match: products "headset" and "special" both match it`, linkState},
			{"$.products[2].links[2].pids[0]", `overlapping match: products "headset" and "jack" both match it`, linkState},
		}},
		"overlap of names": {func(c *Catalogue, h, s *Product) {
			s.Links[0] = Link{Kind: LinkBluetooth, NameRegex: h.Links[2].NameRegex}
			s.Links[1] = c.Products[2].Links[0]
			c.Products[2].Priority = 2
		}, []Fault{
			{"$.products[1].links[0].name_regex", `overlapping match: products "headset" and "special" both match it`, ""},
			{"$.products[2].links[0].name_regex", `overlapping match: products "special" and "jack" both match it`, ""},
			{"$.products[2].links[2].pids[0]", `unreachable: product "headset" matches it without name_regex, and first`, `give product "jack" a smaller priority than 2`},
		}},
		"overlap of which link_state decides": {func(_ *Catalogue, h, s *Product) {
			s.Links[0].NameRegex, s.Priority, h.LinkState, s.LinkState = "", 3, tell(1), tell(2)
		}, nil},
		"overlap with a link_state on one system": {func(_ *Catalogue, h, s *Product) {
			s.Links[0].NameRegex, s.Priority, h.LinkState, s.LinkState = "", 3, tell(1), tell(2)
			s.LinkState[0].OS = []devices.OS{devices.Linux}
		}, []Fault{
			{"$.products[1].links[0].pids[0]", `overlapping match: products "headset" and "special" both match it`, linkState},
		}},
		"overlap with the same link_state": {func(_ *Catalogue, h, s *Product) {
			s.Links[0].NameRegex, s.Priority, h.LinkState, s.LinkState = "", 3, tell(1), tell(1)
		}, []Fault{
			{"$.products[1].links[0].pids[0]", `overlapping match: products "headset" and "special" both match it`, linkState},
		}},
		"same expression": {func(c *Catalogue, _, _ *Product) {
			c.Products[2].Links[2].NameRegex = "Special"
		}, []Fault{
			{"$.products[2].links[2].pids[0]", `overlapping match: products "special" and "jack" both match it`, linkState},
		}},
		"unreachable match": {func(_ *Catalogue, h, _ *Product) { h.Priority = 1 }, []Fault{
			{"$.products[1].links[0].pids[0]", `unreachable: product "headset" matches it without name_regex, and first`, `give product "special" a smaller priority than 1`},
			{"$.products[2].links[2].pids[0]", `unreachable: product "headset" matches it without name_regex, and first`, `give product "jack" a smaller priority than 1`},
		}},
		"twice in a product": {func(_ *Catalogue, h, _ *Product) {
			h.Links[0].PIDs = append(h.Links[0].PIDs, "0700")
			h.Links[1] = Link{Kind: LinkUSB, VID: "12ab", PIDs: []string{"0701"}, NameRegex: "x"}
		}, []Fault{
			{"$.products[0].links[0].pids[2]", "listed twice in this product", ""},
			{"$.products[0].links[1].pids[0]", "unreachable: this product matches it without name_regex too", ""},
		}},
		"exception first": {func(c *Catalogue, _, _ *Product) {
			c.Products[0], c.Products[2] = c.Products[2], c.Products[0]
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := soundCatalogue()
			tc.breakIt(c, &c.Products[0], &c.Products[1])
			before := encoded(t, c)
			require.Equal(t, tc.want, c.Check())
			require.Equal(t, tc.want, c.Check(), "the same again")
			require.Equal(t, before, encoded(t, c), "unchanged")
		})
	}
}

func encoded(t *testing.T, c *Catalogue) string {
	t.Helper()
	out, err := json.Marshal(c)
	require.NoError(t, err)
	return string(out)
}

func TestCheckOfTheFolderOfAllVendors(t *testing.T) {
	cat := soundCatalogue()
	cat.Vendor.ID = "clients"
	require.Equal(t, []Fault{{"$.vendor.id", "clients cannot be a vendor's id: the folder of that name is shared by all vendors", "such as acme"}}, cat.Check())
	require.Empty(t, cat.CheckRecorded(), "a recording of an agent that was called so can be read")
}
