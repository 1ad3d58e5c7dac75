package world

import (
	"encoding/json"
	"regexp"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/rpcclient"
)

// roomTimeout is how long an agent that is to make way goes on at most until clients have room for the next connection.
const roomTimeout = 30 * time.Second

// replace has the agent make way for a newer program, which starts MS later and finds During done; N 1: it never starts.
func (d *desk) replace(s scenarioStep) {
	for limit := time.Now().Add(roomTimeout); time.Now().Before(limit); {
		wait := d.clients.connectDelay()
		if wait <= 0 {
			break
		}
		d.rest(min(max(wait, 100*time.Millisecond), time.Until(limit)))
	}
	reported := d.clients.reporter != nil
	d.clients.setReplacing(true)
	d.stop(rpcclient.ExitUnmute)
	d.clients.setReplacing(false)
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			n.open = false
		}
	}
	d.list = devices.Snapshot{}
	span := s.wait() / time.Duration(len(s.During)+1)
	for _, in := range s.During {
		d.rest(span)
		if in.Do == doSleep {
			d.sleepThrough(nil, in.wait(), true)
		}
		d.applyToHeadset(in)
		d.await()
	}
	d.rest(span)
	if reported {
		d.clients.checkUnmuted()
	}
	d.clients.memory.setClock(time.Duration(s.Clock) * time.Second)
	if s.N == 1 {
		d.stop = nil
		return
	}
	for _, h := range d.headsets {
		for _, n := range h.nodes {
			n.open = false // nobody has opened what was plugged in meanwhile
		}
	}
	d.bootAnew()
}

// instants finds the times in a JSON text.
var instants = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[^"]+"`)

// clockSet returns a JSON text that was written before the wall clock was set, with its times as seen by the clock now. The clock of the
// bubble itself cannot be set.
func clockSet(text []byte, by time.Duration) []byte {
	return instants.ReplaceAllFunc(text, func(quoted []byte) []byte {
		var at time.Time
		if json.Unmarshal(quoted, &at) != nil {
			return quoted
		}
		out, _ := json.Marshal(at.Add(-by))
		return out
	})
}

// pause pauses reporting for span, or until it is resumed.
func (d *desk) pause(span time.Duration) {
	if d.engine == nil {
		return
	}
	d.paused, d.pausedUntil = true, time.Time{}
	if span > 0 {
		d.pausedUntil = time.Now().Add(span)
	}
	d.engine.Pause(engine.Pause{For: engine.Span(span)})
}

func (d *desk) resume() {
	if d.engine != nil {
		d.paused = false
		d.engine.Unpause()
	}
}

func (d *desk) isPaused() bool {
	return d.paused && (d.pausedUntil.IsZero() || time.Now().Before(d.pausedUntil))
}

// remainingPause returns the rest of a pause, which an agent keeps for its next start.
func (d *desk) remainingPause() *engine.Pause {
	if !d.isPaused() {
		return nil
	}
	return &engine.Pause{For: engine.Span(max(0, time.Until(d.pausedUntil)))}
}
