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

// Pause has clients told nothing of what is known, and keeps that for the next start of the agent.
func (a *App) Pause(r control.PauseRequest) control.Pause {
	a.pausing.Lock()
	defer a.pausing.Unlock()
	p := engine.Pause{For: engine.Span(time.Duration(r.ForMS) * time.Millisecond), UntilLogin: r.UntilLogin}
	until := time.Now().Round(0).Add(time.Duration(p.For))
	a.engine.Pause(p)
	if err := a.keepPause(p, until); err != nil {
		a.log.Warn("the pause ends with this agent", "reason", err)
	}
	list := a.current().Config.Pause.List
	if now := pauseOf(a.engine.View().Paused, list); now != nil {
		return *now
	}
	return control.Pause{List: list} // it was short, and is over
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

// pauseOf says it in the local API's words.
func pauseOf(p *engine.Paused, list devices.PauseList) *control.Pause {
	if p == nil {
		return nil
	}
	return &control.Pause{Until: p.Until.Round(0), UntilLogin: p.UntilLogin, List: list}
}

// keptPause is a pause as it is kept. One until the next log-in is kept where it ends with the session: so a log-in is told from a mere
// start of the agent. Where there is no such place it ends with the agent, which starts at log-in.
type keptPause struct {
	Until time.Time   `json:"until,omitzero"` // zero: until somebody ends it, or the next log-in
	For   engine.Span `json:"for,omitzero"`   // how long it was to be: a clock that was set back makes it no longer
}

func (a *App) pausePlace(untilLogin bool) (keep.Text, error) {
	const name = "pause.json"
	folder, err := a.stateFolder()
	if untilLogin {
		return keep.UntilLogOff(a.opts.Host.Getenv, a.opts.Settings.Identity.ID, folder, name)
	}
	return keep.File(filepath.Join(folder, name)), err
}

func (a *App) keepPause(p engine.Pause, until time.Time) error {
	var kept keptPause
	if p.For > 0 {
		kept = keptPause{until, p.For}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err = a.forgetPause(); err != nil {
		return err
	}
	a.pauseKept = true
	place, err := a.pausePlace(p.UntilLogin)
	if err == nil {
		err = place.Write(text)
	}
	return err
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

// forgetEndedPause removes what is kept of a pause that has come to its end: were the clock set back, the next start of the agent would
// find it again. An Engine that has ended, and says nothing of a pause, has no list either.
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

// keptPause is the pause that an agent before this one has left; nil: none.
func (a *App) keptPause() *engine.Pause {
	for _, untilLogin := range []bool{false, true} {
		place, err := a.pausePlace(untilLogin)
		if err != nil {
			continue
		}
		kept, err := readPause(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
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

func readPause(place keep.Text) (kept keptPause, err error) {
	text, err := place.Read()
	if err == nil {
		if err = json.Unmarshal(text, &kept); err != nil {
			err = fmt.Errorf("cannot read %s: %w", place, err)
		}
	}
	return kept, err
}
