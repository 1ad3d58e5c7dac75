package app

import (
	"errors"
	"log/slog"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
	"sidetone/internal/platform/audio"
	"sidetone/internal/platform/camera"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/hidio"
)

// openEndpoints opens the sources of endpoints that the settings name, in safe mode without miniaudio. resolver is asked which endpoints'
// effects are wanted. On an error none is left open.
func (s *Settings) openEndpoints(
	host Host, log *slog.Logger, safe bool, resolver func() *catalogue.Resolver,
) (list []platform.Source, err error) {
	defer func() {
		if err != nil {
			for _, src := range list {
				_ = src.Close()
			}
			list = nil
		}
	}()
	from := s.Config.Sources
	add := func(src platform.Source, err error) error {
		switch {
		case err == nil:
			list = append(list, src)
		case errors.Is(err, errors.ErrUnsupported):
			log.Warn("a kind of device is left out; endpoint files may have it", "reason", err)
		default:
			return err
		}
		return nil
	}
	if from.Camera {
		if err := add(camera.New("", log)); err != nil {
			return list, err
		}
	}
	if from.Audio {
		o := audio.Options{
			Name: ProgramName(host), Server: from.PulseServer, Getenv: host.Getenv, Etc: host.Etc, Run: host.Run, Alone: safe,
		}
		o.Controls = func(e devices.Endpoint) bool { return resolver().WantsControls(e) }
		if from.Effects && !safe {
			o.Effects = func(e devices.Endpoint) bool { return resolver().WantsEffects(e) }
		}
		if err := add(audio.New(o)); err != nil {
			return list, err
		}
	}
	for _, path := range from.Files {
		if err := add(files.NewEndpoints(path)); err != nil {
			return list, err
		}
	}
	return list, nil
}

// openSources opens all sources that the settings name. They do not need the Engine, which is made for them, until they are followed.
func (a *App) openSources(rules *hid.Rules) error {
	set, host := a.opts.Settings, a.opts.Host
	var err error
	if a.sources, err = set.openEndpoints(host, a.log, a.safe, a.resolver.Load); err != nil {
		return err
	}
	if !set.Config.Sources.HID || a.safe {
		return nil
	}
	src, err := hidio.New(host.HIDRoot, rules, a.hidEvent, a.log)
	switch {
	case err == nil:
		a.hid, a.sources = src, append(a.sources, src)
	case !rules.Empty():
		a.log.Warn("the catalogue's sources of HID devices have no effect", "reason", err)
	}
	return nil
}

// hidEvent passes on what has happened to a HID device.
func (a *App) hidEvent(e hid.Event) {
	if e.Device != nil {
		a.serials.add(e.Device.Serial)
	}
	a.engine.HID(e)
}
