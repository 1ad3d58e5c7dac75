package world

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
	"sidetone/internal/hid"
)

// heldFor is the time that software has to find another agent when it has said something for as long as its connection lives.
const heldFor = 5 * time.Second

// replace has another agent go on in place of the one that runs: it reads everything beside that for a while, and is told what only that
// one knows. Where a client cannot be connected to anew the old one goes on.
func (d *desk) replace(during []scenarioStep, span time.Duration) {
	if len(d.Models) == 0 {
		if goOn := d.clients.leave(); goOn != nil {
			goOn()
		}
		return
	}
	old, next := d.engine, d.newEngine(d.settings(d.version), nil)
	d.hearing = append(d.hearing, next)
	d.attachTo(next)
	d.listHID()
	d.readSound()
	present := d.present()
	for _, s := range during {
		d.rest(span / time.Duration(len(during)+1))
		d.applyToHeadset(s)
		d.settle()
	}
	d.rest(span / time.Duration(len(during)+1))
	for range 70 { // as long as an agent that asks is patient with its sources
		if published, _ := next.Settled(); published {
			break
		}
		d.rest(time.Second)
	}
	published, _ := next.Settled()
	var goOn func()
	if published && !d.asleep {
		goOn = d.clients.leave()
	}
	if goOn == nil {
		d.note(ofDesk, "it is not replaced")
		d.hearing = []*agentEngine{old}
		next.stop(nil)
		return
	}
	d.handOver(old, next)
	d.checkKept(old, next, present)
	old.stop(nil)
	goOn()
	for _, s := range d.suites {
		if s.TTL == 0 { // its connection has ended
			for _, h := range d.headsets {
				s.notice(h)
			}
		}
	}
}

// handOver tells next what only old knows, as over the wire.
func (d *desk) handOver(old, next *agentEngine) {
	var inputs []engine.Input
	text, err := json.Marshal(old.Handover(heldFor))
	if err = errors.Join(err, json.Unmarshal(text, &inputs)); err != nil {
		d.violate("handed over", "%v", err)
	}
	next.ApplyHandover(inputs, 0)
	d.handed.Lock()
	d.engine, d.hearing, d.list = next, []*agentEngine{next}, next.list
	list := d.list
	d.handed.Unlock()
	d.note(ofDesk, "replaced: %s, list %s", text, asJSON{list.Wire()})
	d.clients.publish(list)
}

// attachTo has an Engine hear of the HID devices that are open.
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

// present is what is there, and since when.
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

// checkKept looks whether what software has said of headsets that have been there all the while is still said. An id that stands for other
// endpoints than before tells nothing: the old agent still counts for a moment what has just gone.
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
		if i < 0 || flag.Origin.Via != devices.ViaPush {
			continue
		}
		if now := is[i].Flags[devices.HardwareMute].Value; now != flag.Value {
			d.violate("kept", "software has said that %s of %s, and the next agent says %s", flag.Value, was.ID, now)
		}
	}
}

// pause has nothing reported, for a while or until it is resumed.
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

// remainingPause is what an agent has kept of a pause for its next start.
func (d *desk) remainingPause() *engine.Pause {
	switch {
	case !d.isPaused():
		return nil
	case d.pausedUntil.IsZero():
		return &engine.Pause{}
	default:
		return &engine.Pause{For: engine.Span(time.Until(d.pausedUntil))}
	}
}
