package main

import (
	"fmt"
	"strings"

	"sidetone/internal/catalogue"
	"sidetone/internal/control"
	"sidetone/internal/devices"
)

// why says of which kind the source at that place of a product is, why it does not know a flag of e,
// and what to do about it; the latter two are "" where there is nothing to say.
func (d *diagnosis) why(product string, e control.Endpoint, f devices.Field, place string) (kind, reason, remedy string) {
	rule := d.rule(product, place)
	if rule.Field != f {
		return "", fmt.Sprintf("its kind is not known, because %s cannot be read or has changed since the agent read it", orElse(d.CataloguePath, "the catalogue")), ""
	}
	kind = rule.Via()
	reason, remedy = d.whyKind(product, e, f, place, rule.SourceKind)
	if reason == "" && strings.HasPrefix(kind, "hid") {
		reason = "the HID device that knows it is a part of another unit, as far as can be told"
	}
	return kind, reason, remedy
}

// rule is the one of the catalogue at that place of a product; its zero value if it is not known.
func (d *diagnosis) rule(product, place string) catalogue.SourceRule {
	if d.Catalogue == nil {
		return catalogue.SourceRule{}
	}
	for _, p := range d.Catalogue.Products {
		for i, s := range p.Sources {
			if p.ID == product && place == fmt.Sprintf("sources[%d]", i) {
				return s
			}
		}
	}
	return catalogue.SourceRule{}
}

// whyKind is why for a source of kind k, which may be a term of a derived one.
func (d *diagnosis) whyKind(product string, e control.Endpoint, f devices.Field, at string, k catalogue.SourceKind) (reason, remedy string) {
	hw := d.hardware(e)
	switch k.Via() {
	case devices.ViaDerive:
		for at, term := range k.Derive.Terms(at) {
			if reason, remedy = d.whyKind(product, e, f, at, term); reason != "" {
				return term.Via() + ": " + reason, remedy
			}
		}
		return "", ""
	case devices.ViaHIDUsage, devices.ViaHIDReport, devices.ViaHIDQuery, devices.ViaHIDPP:
		return d.whyHID(product, f, at)
	case devices.ViaOSEffects:
		effect := devices.Field(orElse(string(k.OSEffects.Effect), string(f)))
		if e.Effects[effect].Known() {
			return "", ""
		}
		return fmt.Sprintf("the system does not say whether %s is active on this endpoint", effect), ""
	case devices.ViaOSEndpointMute:
		demanded := k.OSEndpointMute.RequireHardwareSupport == nil || *k.OSEndpointMute.RequireHardwareSupport
		switch {
		case !hw.Mute.Known():
			return "the system does not tell the mute of this endpoint", ""
		case demanded && !hw.MuteInHardware:
			return "the system's mute of this endpoint is no switch in the device, and the catalogue demands one",
				fmt.Sprintf("Push the state from the vendor's software ('sidetone push %s hardware_mute=true'); only if the button is known to set this mute too, set 'require_hardware_support: false'", product)
		}
	case devices.ViaALSACtl:
		name := k.ALSACtl.Name
		value, is := hw.Controls[name]
		setting, isSetting := hw.Settings[name]
		switch {
		case len(hw.Controls)+len(hw.Settings) == 0:
			return fmt.Sprintf("the switches of the device's mixer cannot be read, such as %q", k.ALSACtl.Name),
				"Look at what the source audio says above; if it may not open the sound card's controls, let this user read /dev/snd"
		case !k.ALSACtl.Switch() && isSetting:
			return fmt.Sprintf("the control %q of the device's mixer is %q, which is neither on nor off in the catalogue", name, setting), ""
		case !k.ALSACtl.Switch() && is, k.ALSACtl.Switch() && isSetting:
			return fmt.Sprintf("the control %q of the device's mixer is of another kind", name),
				"A switch has neither 'on' nor 'off' in the catalogue, any other control has both"
		case !k.ALSACtl.Switch():
			return fmt.Sprintf("the device's mixer tells no one value of a control %q; of others it has %s", name, strings.Join(quoted(sortedKeys(hw.Settings)), ", ")),
				fmt.Sprintf("Correct the name in the catalogue's %s of %s%s", at, product, d.reload())
		case !is:
			return fmt.Sprintf("the device's mixer has no switch %q; it has %s", k.ALSACtl.Name, strings.Join(quoted(sortedKeys(hw.Controls)), ", ")),
				fmt.Sprintf("Correct the name in the catalogue's %s of %s%s", at, product, d.reload())
		case !value.Known():
			return fmt.Sprintf("the channels of the switch %q of the device's mixer differ, or it cannot be read", k.ALSACtl.Name), ""
		}
	}
	return "", ""
}

// hardware is the microphone whose switches act on e: e, or the one whose sound it carries, where the
// system tells that.
func (d *diagnosis) hardware(e control.Endpoint) control.Endpoint {
	for _, other := range d.Devices.Endpoints {
		if e.Virtual && other.Type == devices.AudioInput && other.ID == e.Master {
			return other
		}
	}
	return e
}
