package learn

import (
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// Usages of outermost collections, with the page in the upper 16 bits (HID Usage Tables).
const (
	pointer  = 0x00010001
	mouse    = 0x00010002
	keyboard = 0x00010006
	keypad   = 0x00010007
)

// phoneMute is a usage of the Telephony page.
const phoneMute = 0x2f

// LikelyHeadset reports whether the HID devices of one product look like a headset: it declares Phone
// Mute, or has media keys or vendor-defined reports and is not a keyboard or pointing device.
func LikelyHeadset(parts []hid.Device) bool {
	likely := false
	for _, d := range parts {
		if HasPhoneMute(d) {
			return true
		}
		desc := hid.Describe(d)
		if desc == nil {
			continue
		}
		for _, usage := range desc.Applications {
			switch page := usage >> 16; {
			case usage == pointer || usage == mouse || usage == keyboard || usage == keypad || page == pageDigitizer:
				return false
			case page == pageTelephony || page == pageConsumer || page >= pageVendor:
				likely = true
			}
		}
	}
	return likely
}

// HasPhoneMute reports whether d declares Phone Mute, the standard control for a headset's mute.
func HasPhoneMute(d hid.Device) bool {
	desc := hid.Describe(d)
	return desc != nil && len(desc.Find(descriptor.Input, pageTelephony, phoneMute)) > 0
}
