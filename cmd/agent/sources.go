package main

import (
	"sidetone/internal/engine"
	"sidetone/internal/hid"
	"sidetone/internal/platform"
)

// hidRoot is the folder that holds the sys and dev of HID devices; empty: that of the running
// system. Only tests have another.
var hidRoot string

// sources opens all that the settings name. The Engine, which is made of them, is not needed
// before they are followed.
func (s *settings) sources(rules *hid.Rules, eng func() *engine.Engine) ([]platform.Source, error) {
	list, err := platform.Sources(s.platform(), s.log)
	if err != nil {
		return nil, err
	}
	if path := s.Push.StateFile; path != "" {
		states, err := newStateFile(path, s.log, func(p engine.Push) (engine.Pushed, error) { return eng().Push(p) })
		if err != nil {
			closeAll(list)
			return nil, err
		}
		list = append(list, states)
	}
	if !s.Sources.HID {
		return list, nil
	}
	src, err := platform.NewHID(hidRoot, rules.Wants, func(e hid.Event) { eng().HID(e) }, s.log)
	switch {
	case err == nil:
		list = append(list, src)
	case !rules.Empty():
		s.log.Warn("the catalogue's sources of HID devices have no effect", "reason", err)
	}
	return list, nil
}

func closeAll(list []platform.Source) {
	for _, src := range list {
		_ = src.Close()
	}
}
