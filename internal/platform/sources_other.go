//go:build !linux

package platform

import "log/slog"

// native has no source of this OS yet; endpoint files work everywhere.
func native(o Options, log *slog.Logger) ([]Source, error) {
	if o.Audio || o.Camera {
		log.Warn("audio endpoints and cameras are not read on this operating system yet; endpoint files are")
	}
	return nil, nil
}
