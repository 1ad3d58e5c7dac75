// Package catalogue defines the vendor's file: its types and schema, how it is loaded and checked, and how it is compiled into
// the rules of devices (resolution) and hid (reading HID devices).
package catalogue

import (
	"strings"

	"sidetone/internal/devices"
)

// SchemaVersion is the version of the catalogue's format that this code reads.
const SchemaVersion = 1

// Catalogue describes a vendor's products: which hardware they are and where each reported flag comes
// from. Field order is the order in the schema.
type Catalogue struct {
	Schema   int       `json:"schema" yaml:"schema" jsonschema:"enum=1" jsonschema_description:"Version of this format. 1."`
	Vendor   Vendor    `json:"vendor" yaml:"vendor" jsonschema_description:"The vendor that the client shows."`
	Products []Product `json:"products" yaml:"products" jsonschema:"minItems=1" jsonschema_description:"The products, each matched by its links."`
}

// Vendor is the maker of all products of a catalogue.
type Vendor struct {
	ID        string `json:"id" yaml:"id" jsonschema:"pattern=^[a-z0-9][a-z0-9-]{0\\,23}$" jsonschema_description:"Short name by which the vendor's agent is found: its local API is at .../sidetone/ID/agent.sock. At most 24 lower-case letters, digits and dashes; all catalogues of a brand have the same, and it never changes."`
	Name      string `json:"name" yaml:"name" jsonschema:"minLength=1" jsonschema_description:"Name that the client shows."`
	URL       string `json:"url" yaml:"url" jsonschema:"minLength=1" jsonschema_description:"The vendor's page, http or https."`
	ClientID  string `json:"client_id" yaml:"client_id" jsonschema:"pattern=^[0-9]{17\\,20}$" jsonschema_description:"Application id (a snowflake, quoted) that the vendor registered with the client's maker."`
	RPCOrigin string `json:"rpc_origin,omitempty" yaml:"rpc_origin,omitempty" jsonschema_description:"Origin registered for the application. Sent on WebSocket only. Leave out unless the client's maker asks for it."`
}

// Product is one model.
type Product struct {
	ID               string          `json:"id" yaml:"id" jsonschema_description:"Unique name in this catalogue: lower-case letters, digits and dashes."`
	Name             string          `json:"name" yaml:"name" jsonschema:"minLength=1" jsonschema_description:"Model name that the client shows."`
	URL              string          `json:"url" yaml:"url" jsonschema:"minLength=1" jsonschema_description:"The model's page, http or https."`
	Priority         int             `json:"priority" yaml:"priority" jsonschema:"minimum=1" jsonschema_description:"Rank: 1 comes first in the list that the client gets, and wins where two products match the same hardware."`
	Links            []Link          `json:"links" yaml:"links" jsonschema:"minItems=1" jsonschema_description:"How the product can be attached. Any one that matches is enough."`
	Endpoints        []EndpointRule  `json:"endpoints" yaml:"endpoints" jsonschema:"minItems=1" jsonschema_description:"Which of its endpoints are reported. The first rule that fits an endpoint decides; an endpoint that no rule fits is not reported."`
	VirtualEndpoints []VirtualRule   `json:"virtual_endpoints,omitempty" yaml:"virtual_endpoints,omitempty" jsonschema_description:"Virtual endpoints that carry this product's sound and are reported with it."`
	Related          Related         `json:"related,omitempty" yaml:"related,omitempty" jsonschema_description:"auto (default): each endpoint lists the product's other reported endpoints. none: it lists none."`
	GroupBy          devices.GroupBy `json:"group_by,omitempty" yaml:"group_by,omitempty" jsonschema_description:"What makes endpoints one physical product. container (default): the OS's hardware identity; serial: the serial number, for products that are several USB devices; model: all endpoints of this model."`
	IDScheme         *IDSchemes      `json:"id_scheme,omitempty" yaml:"id_scheme,omitempty" jsonschema_description:"Overrides which id is sent, per OS. Only for models whose id the client is known to form differently."`
	Sources          []SourceRule    `json:"sources,omitempty" yaml:"sources,omitempty" jsonschema_description:"Where each flag comes from, best first: the first source that knows the value decides. A flag without a source is never reported."`
	LinkState        []LinkRule      `json:"link_state,omitempty" yaml:"link_state,omitempty" jsonschema_description:"What tells whether the product is really connected, best source first. While false, as for a headset that is switched off while its dongle is plugged in, none of its endpoints is reported."`
	AllowWrite       bool            `json:"allow_write,omitempty" yaml:"allow_write,omitempty" jsonschema_description:"true: hid_query and hidpp may send their requests to the device. Nothing else is ever written to a device."`
	Traces           []string        `json:"traces,omitempty" yaml:"traces,omitempty" jsonschema_description:"Recordings of this product, as paths relative to the catalogue, that 'sidetone catalogue test' replays."`
}

// LinkKind is a way to attach a product.
type LinkKind string

// The link kinds. A dongle is USB hardware that stands for a wireless device.
const (
	LinkUSB       LinkKind = "usb"
	LinkDongle    LinkKind = "dongle"
	LinkBluetooth LinkKind = "bluetooth"
	LinkJack      LinkKind = "jack"
	LinkVirtual   LinkKind = "virtual"
)

// Enum lists the names that a file may use.
func (LinkKind) Enum() []string {
	return devices.Names([]LinkKind{LinkUSB, LinkDongle, LinkBluetooth, LinkJack, LinkVirtual})
}

// bus returns the bus on which the OS lists hardware attached this way.
func (k LinkKind) bus() devices.Bus {
	switch k {
	case LinkBluetooth:
		return devices.Bluetooth
	case LinkJack:
		return devices.PCI
	case LinkVirtual:
		return devices.Virtual
	default:
		return devices.USB
	}
}

// isWireless reports whether such a link may appear without the headset being switched on: plugging in a dongle, or coming
// back into Bluetooth range, finds a headset that may have been on, and muted, for long.
func (k LinkKind) isWireless() bool { return k == LinkDongle || k == LinkBluetooth }

// Link matches the endpoints of a product.
type Link struct {
	Kind      LinkKind     `json:"kind" yaml:"kind" jsonschema_description:"usb and dongle need vid and pids; bluetooth needs vid and pids or name_regex; jack and virtual need name_regex."`
	VID       string       `json:"vid,omitempty" yaml:"vid,omitempty" jsonschema:"pattern=^[0-9a-fA-F]{4}$" jsonschema_description:"Vendor id, four hex digits, quoted."`
	PIDs      []string     `json:"pids,omitempty" yaml:"pids,omitempty" jsonschema_description:"Product ids, four hex digits each, quoted."`
	NameRegex string       `json:"name_regex,omitempty" yaml:"name_regex,omitempty" jsonschema_description:"RE2 expression that the endpoint's name or OS id must contain."`
	OS        []devices.OS `json:"os,omitempty" yaml:"os,omitempty" jsonschema_description:"Systems that this link is for. All if left out."`
}

// EndpointRule decides whether the product's endpoints of one type are reported.
type EndpointRule struct {
	Type   devices.Type `json:"type" yaml:"type"`
	Pick   *Pick        `json:"pick,omitempty" yaml:"pick,omitempty" jsonschema_description:"Narrows the rule. Without it, every endpoint of the type."`
	Report *bool        `json:"report,omitempty" yaml:"report,omitempty" jsonschema_description:"false: never report these. Default true."`
}

// Pick narrows an EndpointRule, or a SourceRule.
type Pick struct {
	NameRegex string `json:"name_regex" yaml:"name_regex" jsonschema_description:"RE2 expression that the endpoint's name or OS id must contain."`
}

// covers reports whether p is known to fit every endpoint that q fits; nil fits all.
func (p *Pick) covers(q *Pick) bool { return p == nil || q != nil && *p == *q }

// VirtualRule reports virtual endpoints together with a product.
type VirtualRule struct {
	Type      devices.Type `json:"type" yaml:"type"`
	NameRegex string       `json:"name_regex" yaml:"name_regex" jsonschema:"minLength=1" jsonschema_description:"RE2 expression that the virtual endpoint's name or OS id must contain. If the OS says which device an endpoint comes from, the endpoint is taken only if that device is this product."`
	OS        []devices.OS `json:"os,omitempty" yaml:"os,omitempty"`
}

// Related is the policy for the wire field of that name.
type Related string

// The two policies for related.
const (
	RelatedAuto Related = "auto"
	RelatedNone Related = "none"
)

// Enum lists the names that a file may use.
func (Related) Enum() []string { return devices.Names([]Related{RelatedAuto, RelatedNone}) }

// IDSchemes overrides the wire id per OS.
type IDSchemes struct {
	Windows devices.IDScheme `json:"windows,omitempty" yaml:"windows,omitempty"`
	Darwin  devices.IDScheme `json:"darwin,omitempty" yaml:"darwin,omitempty"`
	Linux   devices.IDScheme `json:"linux,omitempty" yaml:"linux,omitempty"`
}

// For returns the override for os, or "".
func (s *IDSchemes) For(os devices.OS) devices.IDScheme {
	if s == nil {
		return ""
	}
	return map[devices.OS]devices.IDScheme{devices.Windows: s.Windows, devices.Darwin: s.Darwin, devices.Linux: s.Linux}[os]
}

// SourceRule says where one flag comes from: Field and exactly one of the kinds of source.
type SourceRule struct {
	Field    devices.Field `json:"field" yaml:"field"`
	Pick     *Pick         `json:"pick,omitempty" yaml:"pick,omitempty" jsonschema_description:"Which of the product's inputs this source is about, where it has several. Without it, all."`
	OS       []devices.OS  `json:"os,omitempty" yaml:"os,omitempty" jsonschema_description:"Systems that this source is for. All if left out."`
	Firmware *Firmware     `json:"firmware,omitempty" yaml:"firmware,omitempty" jsonschema_description:"Versions of the firmware that this HID source is for. All if left out; with it, none that is unknown."`

	SourceKind
}

// LinkRule says where the state of a product's own link comes from: exactly one of the kinds of
// source.
type LinkRule struct {
	OS       []devices.OS `json:"os,omitempty" yaml:"os,omitempty" jsonschema_description:"Systems that this source is for. All if left out."`
	Firmware *Firmware    `json:"firmware,omitempty" yaml:"firmware,omitempty" jsonschema_description:"Versions of the firmware that this HID source is for. All if left out; with it, none that is unknown."`

	SourceKind
}

// SourceKind is one source of an on/off state: exactly one of its fields is set. A new kind is a
// new optional key, so the format grows without a new version.
type SourceKind struct {
	OSEndpointMute *OSEndpointMute `json:"os_endpoint_mute,omitempty" yaml:"os_endpoint_mute,omitempty" jsonschema_description:"The OS's mute of the endpoint, for models whose button moves it. For hardware_mute only."`
	OSEffects      *OSEffects      `json:"os_effects,omitempty" yaml:"os_effects,omitempty" jsonschema_description:"Processing that the OS says is active on the endpoint."`
	ALSACtl        *ALSACtl        `json:"alsa_ctl,omitempty" yaml:"alsa_ctl,omitempty" jsonschema_description:"A control of the device's ALSA mixer (Linux)."`
	HIDUsage       *HIDUsage       `json:"hid_usage,omitempty" yaml:"hid_usage,omitempty" jsonschema_description:"A usage of the device's HID reports, found by its report descriptor. Phone Mute by default."`
	HIDReport      *HIDReport      `json:"hid_report,omitempty" yaml:"hid_report,omitempty" jsonschema_description:"Bytes of an input report of the device."`
	HIDQuery       *HIDQuery       `json:"hid_query,omitempty" yaml:"hid_query,omitempty" jsonschema_description:"The device's answer to a request. Needs the product's allow_write."`
	HIDPP          *HIDPP          `json:"hidpp,omitempty" yaml:"hidpp,omitempty" jsonschema_description:"A feature of a device that speaks HID++ 2.0. Needs the product's allow_write."`
	Derive         *Derive         `json:"derive,omitempty" yaml:"derive,omitempty" jsonschema_description:"Several sources together."`
	Const          *bool           `json:"const,omitempty" yaml:"const,omitempty" jsonschema_description:"A fixed value, for processing that cannot be switched. Not for hardware_mute."`
}

// OSEndpointMute takes hardware_mute from the OS's mute of the endpoint. The OS tells where a mute is
// applied, but never who set it, so only the vendor can vouch that the button moves it.
type OSEndpointMute struct {
	SharedWithButton       bool  `json:"shared_with_button,omitempty" yaml:"shared_with_button,omitempty" jsonschema_description:"true: the button and the OS move one mute, so that each shows what the other has set. Without it the OS's mute says nothing about the button, and the rule is refused."`
	RequireHardwareSupport *bool `json:"require_hardware_support,omitempty" yaml:"require_hardware_support,omitempty" jsonschema_description:"true (default): only if the OS says that the device itself applies the mute. false: also a mute that the OS applies in software."`
}

// OSEffects takes a flag from the effects that the OS reports.
type OSEffects struct {
	Effect devices.Field `json:"effect,omitempty" yaml:"effect,omitempty" jsonschema_description:"Which effect, if not the one named like the flag."`
}

// ALSACtl takes a flag from an ALSA control.
type ALSACtl struct {
	Name   string `json:"name" yaml:"name" jsonschema:"minLength=1" jsonschema_description:"The control's name as 'sidetone devices' shows it, such as Auto Gain Control."`
	Invert bool   `json:"invert,omitempty" yaml:"invert,omitempty" jsonschema_description:"true: on means false, as with a capture switch that is on when not muted."`

	SharedWithButton bool `json:"shared_with_button,omitempty" yaml:"shared_with_button,omitempty" jsonschema_description:"true: the button and the OS move one control. A hardware_mute from a capture switch needs it: sound servers and mixers set it too."`

	On  []string `json:"on,omitempty" yaml:"on,omitempty" jsonschema_description:"For a control that is not a switch: the items, or numbers, that mean true. Needs off."`
	Off []string `json:"off,omitempty" yaml:"off,omitempty" jsonschema_description:"Those that mean false. Any other is unknown."`
}

// IsSwitch reports whether the control is an on/off switch; if not, On and Off say what its values mean.
func (c ALSACtl) IsSwitch() bool { return len(c.On) == 0 && len(c.Off) == 0 }

// isAmbiguousFor reports whether the control does not tell the field's state because sound servers and mixers set it, too: by ALSA's
// naming convention, a capture switch is the mute that they offer to the user.
func (c ALSACtl) isAmbiguousFor(f devices.Field) bool {
	name, _, _ := strings.Cut(c.Name, ",") // without the index of controls of equal name
	return f == devices.HardwareMute && strings.HasSuffix(name, "Capture Switch") && !c.SharedWithButton
}
