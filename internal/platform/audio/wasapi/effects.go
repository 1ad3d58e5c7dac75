package wasapi

import (
	"sidetone/internal/devices"
	"sidetone/internal/platform/windows/com"
)

// effect is an effect that Windows applies or could apply (AUDIO_EFFECT).
type effect struct {
	ID       com.GUID
	Settable int32
	On       int32
}

// effectFields maps effects to flags. Windows 11 has two kinds of noise suppression.
var effectFields = map[com.GUID]devices.Field{
	com.MustGUID("6F64ADBE-8211-11E2-8C70-2C27D7F001FA"): devices.EchoCancellation,
	com.MustGUID("6F64ADBF-8211-11E2-8C70-2C27D7F001FA"): devices.NoiseSuppression,
	com.MustGUID("6F64ADC0-8211-11E2-8C70-2C27D7F001FA"): devices.AutomaticGainControl,
	com.MustGUID("6F64ADD0-8211-11E2-8C70-2C27D7F001FA"): devices.NoiseSuppression, // deep
}

// flagsOf returns an endpoint's flags: true if one of their effects is on, false if Windows lists one and none is on. An effect that is
// not listed may still be applied in the device.
func flagsOf(list []effect) map[devices.Field]devices.Tri {
	out := make(map[devices.Field]devices.Tri)
	for _, e := range list {
		if f, ok := effectFields[e.ID]; ok && out[f] != devices.True {
			out[f] = devices.Of(e.On != 0)
		}
	}
	return out
}
