package learn

import (
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// Usages of the outermost collections by which devices are told apart (HID Usage Tables).
const (
	mousePointer   = 0x00010001
	mouse          = 0x00010002
	keyboard       = 0x00010006
	keypad         = 0x00010007
	digitizers     = 0x0d
	telephonyPage  = 0x0b
	consumerPage   = 0x0c
	firstOwnPage   = 0xff00 // of the vendor
	phoneMuteUsage = 0x2f
)

// LikelyHeadset reports whether all HID devices of one product together look like those of a
// headset: it declares Phone Mute, or it has keys or reports of its own and is not made for typing
// and pointing.
func LikelyHeadset(parts []hid.Device) bool {
	may := false
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
			case page == telephonyPage || page == consumerPage || page >= firstOwnPage:
				may = true
			}
		}
	}
	return may
}

// HasPhoneMute reports whether d declares Phone Mute, by which a headset tells its mute as the standard has it.
func HasPhoneMute(d hid.Device) bool {
	desc, err := descriptor.Parse(d.Descriptor)
	return err == nil && len(desc.Find(descriptor.Input, telephonyPage, phoneMuteUsage)) > 0
}
