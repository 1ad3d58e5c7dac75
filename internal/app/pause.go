package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/platform/keep"
)

// Pause stops telling clients what is known, and keeps the pause for the next start of the agent. If it cannot be kept, nothing changes: a
// pause that the next start ends, unnoticed, is less than what was promised.
func (a *App) Pause(r control.PauseRequest) (control.Pause, error) {
	a.pausing.Lock()
	defer a.pausing.Unlock()
	p := engine.Pause{For: engine.Span(time.Duration(r.ForMS) * time.Millisecond), UntilLogin: r.UntilLogin}
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
	return &control.Pause{Until: p.Until.Round(0), UntilLogin: p.UntilLogin, List: list}
}

// keptPause is a pause in its file. One until the next log-in is kept in a place that is emptied at the end of the session, which tells a
// log-in from a mere start of the agent. Where there is no such place it ends with the agent, which starts at log-in.
type keptPause struct {
	Until time.Time   `json:"until,omitzero"` // zero: until somebody ends it, or the next log-in
	For   engine.Span `json:"for,omitzero"`   // its whole length, which a clock that was set back does not extend
}

func (a *App) pausePlace(untilLogin bool) (keep.Text, error) {
	const name = "pause.json"
	folder, err := a.stateFolder()
	if untilLogin {
		return keep.UntilLogOff(a.opts.Host.Getenv, a.opts.Settings.Identity.ID, folder, name)
	}
	return keep.File(filepath.Join(folder, name)), err
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
	place, err := a.pausePlace(p.UntilLogin)
	if p.UntilLogin && errors.Is(err, errors.ErrUnsupported) { // it ends with the agent
		return a.forgetPause()
	}
	if err != nil {
		return notKept("the user's folder for it", p.UntilLogin, err)
	}
	if err = place.Write(text); err != nil {
		return notKept(place.String(), p.UntilLogin, err)
	}
	a.pauseKept = true
	other, missing := a.pausePlace(!p.UntilLogin)
	if missing != nil || other.String() == place.String() {
		return nil
	}
	if err = other.Remove(); err != nil { // the next start would find both
		_ = place.Remove()
		return notKept(other.String(), false, err)
	}
	return nil
}

// notKept refuses a pause that cannot be kept in that place.
func notKept(place string, untilLogin bool, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	remedy := "make that possible, and pause again"
	if !untilLogin {
		remedy += "; a pause until the next log-in is kept elsewhere"
	}
	return conflict("nothing was changed, as the pause cannot be kept in %s and would end unnoticed with this agent (%v): %s",
		place, err, remedy)
}

func (a *App) forgetPause() (err error) {
	for _, untilLogin := range []bool{false, true} {
		if place, missing := a.pausePlace(untilLogin); missing == nil {
			err = errors.Join(err, place.Remove())
		}
	}
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
	for _, untilLogin := range []bool{false, true} {
		place, err := a.pausePlace(untilLogin)
		if err != nil {
			continue
		}
		var kept keptPause
		text, err := place.Read()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			if err = json.Unmarshal(text, &kept); err != nil {
				err = fmt.Errorf("cannot read %s: %w", place, err)
			}
		}
		if err != nil {
			a.log.Warn("a pause is not kept up", "remedy", "remove "+place.String(), "reason", err)
			continue
		}
		a.pauseKept = true
		if kept.Until.IsZero() {
			return &engine.Pause{UntilLogin: untilLogin}
		}
		longest := control.MaxPause
		if kept.For > 0 {
			longest = min(longest, time.Duration(kept.For))
		}
		if left := min(time.Until(kept.Until), longest); left > 0 {
			return &engine.Pause{For: engine.Span(left)}
		}
	}
	return nil
}
