package platform

import (
	"log/slog"
	"os"

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
		list = append(list, NewAudio(func() (string, error) { return pulseAddress(o.PulseServer) }))
	}
	return list, nil
}

// pulseAddress lets a setting stand in for $PULSE_SERVER; it may be all that $PULSE_SERVER may.
func pulseAddress(setting string) (string, error) {
	return pulse.Address(func(name string) string {
		if name == "PULSE_SERVER" && setting != "" {
			return setting
		}
		return os.Getenv(name)
	})
}
