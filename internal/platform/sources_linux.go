package platform

import (
	"log/slog"

	"sidetone/internal/platform/pulse"
)

func native(o Options, log *slog.Logger) ([]Source, error) {
	var list []Source
	if o.Camera {
		camera, err := NewCamera("", log)
		if err != nil {
			return nil, err
		}
		list = append(list, camera)
	}
	if o.Audio {
		audio := NewAudio(o.pulseAddress)
		audio.cookie = func() []byte { return pulse.LoadCookie(o.env) }
		list = append(list, audio)
	}
	return list, nil
}

// pulseAddress lets a setting stand in for $PULSE_SERVER; it may be all that $PULSE_SERVER may.
func (o Options) pulseAddress() (string, error) {
	return pulse.Address(func(name string) string {
		if name == "PULSE_SERVER" && o.PulseServer != "" {
			return o.PulseServer
		}
		return o.env(name)
	})
}
