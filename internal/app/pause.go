package app

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/platform/files"
)

// Pause stops telling clients what is known, and keeps the pause for the next start of the agent. If it cannot be kept, nothing changes: a
// pause that the next start ends, unnoticed, is less than what was promised.
func (a *App) Pause(r control.PauseRequest) (control.Pause, error) {
	a.pausing.Lock()
	defer a.pausing.Unlock()
	p := engine.Pause{For: engine.Span(time.Duration(r.ForMS) * time.Millisecond)}
	if err := a.keepPause(p, time.Now().Round(0).Add(time.Duration(p.For))); err != nil {
		a.log.Warn("reporting is not paused", "reason", err)
		return control.Pause{}, err
	}
	a.engine.Pause(p)
	list := a.current().Config.Pause.List
	if now := pauseOf(a.engine.View().Paused, list); now != nil {
		return *now, nil
	}
	return control.Pause{List: list}, nil // it was so short that it is over
}

// Resume ends the pause.
func (a *App) Resume() {
	a.pausing.Lock()
	defer a.pausing.Unlock()
	a.engine.Unpause()
	if err := a.forgetPause(); err != nil {
		a.log.Warn("the next start of the agent would find the pause again", "reason", err)
	}
}

// pauseOf returns a pause as the local API has it.
func pauseOf(p *engine.Paused, list devices.PauseList) *control.Pause {
	if p == nil {
		return nil
	}
	return &control.Pause{Until: p.Until.Round(0), List: list}
}

// keptPause is a pause in its file.
type keptPause struct {
	Until time.Time   `json:"until,omitzero"` // zero: until somebody ends it
	For   engine.Span `json:"for,omitzero"`   // its whole length, which a clock that was set back does not extend
}

// pauseFile is where a pause outlasts the agent.
func (a *App) pauseFile() (files.Text, error) {
	folder, err := a.stateFolder()
	return files.Text(filepath.Join(folder, "pause.json")), err
}

// keepPause replaces the pause that is kept. After an error the one before is still kept.
func (a *App) keepPause(p engine.Pause, until time.Time) error {
	var kept keptPause
	if p.For > 0 {
		kept = keptPause{until, p.For}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	file, err := a.pauseFile()
	if err != nil {
		return notKept("the user's folder for it", err)
	}
	if err = file.Write(text); err != nil {
		return notKept(string(file), err)
	}
	a.pauseKept = true
	return nil
}

// notKept refuses a pause that cannot be kept in that place.
func notKept(place string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	return conflict("nothing was changed, as the pause cannot be kept in %s and would end unnoticed with this agent (%v): "+
		"make that possible, and pause again", place, err)
}

func (a *App) forgetPause() error {
	file, err := a.pauseFile()
	if err != nil {
		return nil // without a folder there is no file
	}
	err = file.Remove()
	a.pauseKept = err != nil
	return err
}

// forgetEndedPause removes the file of a pause that is over: if the clock were set back, the next start of the agent would find it again.
// An Engine that has ended shows no pause, but no list either.
func (a *App) forgetEndedPause() {
	a.pausing.Lock()
	defer a.pausing.Unlock()
	if !a.pauseKept {
		return
	}
	if v := a.engine.View(); v.Paused == nil && v.Snapshot.Generation > 0 {
		if err := a.forgetPause(); err != nil {
			a.log.Warn("a pause that is over is still kept", "reason", err)
		}
		a.pauseKept = false // one warning is enough
	}
}

// keptPause returns the pause that a previous agent has left; nil: none.
func (a *App) keptPause() *engine.Pause {
	file, err := a.pauseFile()
	if err != nil {
		return nil
	}
	text, err := file.Read()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var kept keptPause
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		a.log.Warn("a pause is not kept up", "remedy", "remove "+string(file), "reason", err)
		return nil
	}
	a.pauseKept = true
	if kept.Until.IsZero() {
		return &engine.Pause{}
	}
	longest := control.MaxPause
	if kept.For > 0 {
		longest = min(longest, time.Duration(kept.For))
	}
	if left := min(time.Until(kept.Until), longest); left > 0 {
		return &engine.Pause{For: engine.Span(left)}
	}
	return nil
}
