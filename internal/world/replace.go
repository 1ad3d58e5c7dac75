package world

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing/synctest"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
)

// heldFor is how long the next agent keeps what software has said over a connection to the old one.
const heldFor = 5 * time.Second

// replace makes another agent take over: it reads everything beside the old one for a while, and is told what only that one knows.
// If a client cannot be connected to anew, the old agent goes on. clock is by how much the wall clock is set meanwhile.
func (d *desk) replace(during []scenarioStep, span, clock time.Duration) {
	if len(d.Models) == 0 {
		if goOn := d.clients.leave(clock, func(wait func()) { wait() }); goOn != nil {
			goOn()
		}
		return
	}
	old, next := d.engine, d.newEngine(d.settings(d.version), nil)
	d.engines = append(d.engines, next)
	d.attachTo(next)
	d.listHID()
	d.readSound()
	present := d.present()
	for _, s := range during {
		d.rest(span / time.Duration(len(during)+1))
		d.applyToHeadset(s)
		d.await()
	}
	d.rest(span / time.Duration(len(during)+1))
	for range 70 { // s: an agent that takes over waits that long for its sources
		if published, _ := next.Settled(); published {
			break
		}
		d.rest(time.Second)
	}
	published, _ := next.Settled()
	var goOn func()
	if published && !d.asleep {
		goOn = d.clients.leave(clock, d.while)
	}
	if goOn == nil {
		d.note(ofDesk, "it is not replaced")
		d.engines = []*agentEngine{old}
		next.stop(nil)
		return
	}
	d.handOver(old, next, clock)
	d.checkKept(old, next, present)
	old.stop(nil)
	goOn()
	for _, s := range d.suites {
		if s.TTL == 0 { // its connection has ended
			s.hold(heldFor)
			for _, h := range d.headsets {
				s.notice(h)
			}
		}
	}
}

// while lets the time pass until f returns.
func (d *desk) while(f func()) {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	for {
		synctest.Wait()
		select {
		case <-done:
			return
		default:
			d.rest(time.Millisecond)
		}
	}
}

// handOver tells next what only old knows, encoded as in reality.
func (d *desk) handOver(old, next *agentEngine, clock time.Duration) {
	var inputs []engine.Input
	text, err := json.Marshal(old.Handover(heldFor))
	text = clockSet(text, clock)
	if err = errors.Join(err, json.Unmarshal(text, &inputs)); err != nil {
		d.violate("handed over", "%v", err)
	}
	next.ApplyHandover(inputs, 0)
	d.engineMu.Lock()
	d.engine, d.engines, d.list = next, []*agentEngine{next}, next.list
	list := d.list
	d.engineMu.Unlock()
	d.note(ofDesk, "replaced: %s, list %s", text, asJSON{list.Wire()})
	d.clients.publish(list)
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

// attachTo tells an Engine which HID devices are open.
func (d *desk) attachTo(e *agentEngine) {
	for _, h := range d.headsets {
		h.invalidate()
		for _, n := range h.nodes {
			if n.open {
				e.HID(hid.Event{Kind: hid.Attached, Node: n.device.Node, Device: &n.device, At: time.Now()})
			}
		}
	}
}

// present returns numbers that differ if a headset or its sound has gone or come meanwhile.
func (d *desk) present() (all []int) {
	for _, h := range d.headsets {
		sound := 0
		if h.plugged && h.sound && !d.serverDown {
			sound = 1
		}
		all = append(all, h.presence, sound)
	}
	return append(all, d.unheardSleeps)
}

// checkKept checks that the next agent keeps what software has said of headsets that were present all the time. It skips ids that stand
// for other endpoints than before: the old agent still lists for a moment what has just gone.
func (d *desk) checkKept(old, next *agentEngine, present []int) {
	if !slices.Equal(present, d.present()) {
		return
	}
	is := next.View().Snapshot.Devices
	for _, was := range old.View().Snapshot.Devices {
		flag := was.Flags[devices.HardwareMute]
		i := slices.IndexFunc(is, func(r devices.Report) bool {
			return r.Type == was.Type && r.ID == was.ID && slices.Equal(r.Endpoints, was.Endpoints)
		})
		if i < 0 || flag.Origin.Via != devices.ViaPush || len(was.Endpoints)+len(was.Namesakes) > 1 {
			continue // the report of several headsets has the origin of one of them
		}
		if now := is[i].Flags[devices.HardwareMute].Value; now != flag.Value {
			d.violate("kept", "software has said that %s of %s, and the next agent says %s", flag.Value, was.ID, now)
		}
	}
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
