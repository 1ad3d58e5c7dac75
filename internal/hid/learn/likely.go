package learn

import (
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// Usages and pages of the outermost collections that distinguish kinds of device (HID Usage Tables).
const (
	mousePointer    = 0x00010001
	mouse           = 0x00010002
	keyboard        = 0x00010006
	keypad          = 0x00010007
	digitizers      = 0x0d
	telephonyPage   = 0x0b
	consumerPage    = 0x0c
	firstVendorPage = 0xff00
	phoneMuteUsage  = 0x2f
)

// LikelyHeadset reports whether the HID devices of one product look like a headset: it declares Phone
// Mute, or has media keys or vendor-defined reports and is not a keyboard or pointing device.
func LikelyHeadset(parts []hid.Device) bool {
	likely := false
	for _, d := range parts {
		if HasPhoneMute(d) {
			return true
		}
		desc, err := descriptor.Parse(d.Descriptor)
		if err != nil {
			continue
		}
		for _, usage := range desc.Applications {
			switch page := usage >> 16; {
			case usage == mousePointer || usage == mouse || usage == keyboard || usage == keypad || page == digitizers:
				return false
			case page == telephonyPage || page == consumerPage || page >= firstVendorPage:
				likely = true
			}
		}
	}
	return likely
}

// HasPhoneMute reports whether d declares Phone Mute, the standard control for a headset's mute.
func HasPhoneMute(d hid.Device) bool {
	desc, err := descriptor.Parse(d.Descriptor)
	return err == nil && len(desc.Find(descriptor.Input, telephonyPage, phoneMuteUsage)) > 0
}
