package wasapi

import (
	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/com"
)

// effect is one that Windows applies, or could (AUDIO_EFFECT).
type effect struct {
	ID       com.GUID
	Settable int32
	On       int32
}

// effectFields are the flags that effects stand for. Windows 11 has two of noise suppression.
var effectFields = map[com.GUID]devices.Field{
	com.MustGUID("6F64ADBE-8211-11E2-8C70-2C27D7F001FA"): devices.EchoCancellation,
	com.MustGUID("6F64ADBF-8211-11E2-8C70-2C27D7F001FA"): devices.NoiseSuppression,
	com.MustGUID("6F64ADC0-8211-11E2-8C70-2C27D7F001FA"): devices.AutomaticGainControl,
	com.MustGUID("6F64ADD0-8211-11E2-8C70-2C27D7F001FA"): devices.NoiseSuppression, // deep
}

// flagsOf are the flags that the effects of an endpoint make: on if one of their effects is, off if Windows lists one and it is not.
// What it does not list may yet be done in the device.
func flagsOf(list []effect) map[devices.Field]devices.Tri {
	out := make(map[devices.Field]devices.Tri)
	for _, e := range list {
		if f, ok := effectFields[e.ID]; ok && out[f] != devices.True {
			out[f] = devices.Of(e.On != 0)
		}
	}
	return out
}
