package app

import (
	"sidetone/internal/engine"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
)

// openSources opens all that the settings name. The Engine, which is made of them, is not needed
// before they are followed.
func (a *App) openSources(rules *hid.Rules) error {
	set, host := a.opts.Settings, a.opts.Host
	var err error
	if a.sources, err = platform.Sources(set.platform(host), a.log); err != nil {
		return err
	}
	if path := set.Config.Push.StateFile; path != "" {
		states, err := newStateFile(path, a.log, func(p engine.Push) (engine.Pushed, error) { return a.engine.Push(p) })
		if err != nil {
			return err
		}
		a.sources = append(a.sources, states)
	}
	if !set.Config.Sources.HID {
		return nil
	}
	src, err := platform.NewHID(host.HIDRoot, rules.Wants, func(e hid.Event) { a.engine.HID(e) }, a.log)
	switch {
	case err == nil:
		a.hid, a.sources = src, append(a.sources, src)
	case !rules.Empty():
		a.log.Warn("the catalogue's sources of HID devices have no effect", "reason", err)
	}
	return nil
}
