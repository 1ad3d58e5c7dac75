package world

import (
	"fmt"
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/engine"
)

// suite is the vendor's software for a model. It knows the true mute.
type suite struct {
	vendorSuite
	desk       *desk
	name       string
	runs       bool
	life       int
	seq        uint64 // of its last push
	statements []statement
}

// statement is what the suite has said of a headset.
type statement struct {
	of       *headset
	presence int
	waits    bool // the agent did not see the headset yet
	bound    bool // the agent has answered that it means one headset
	value    devices.Tri
	said     time.Time
	until    time.Time // zero: until the suite's connection ends
}

func (s *suite) launch() {
	s.runs = true
	s.life++
	s.seq = 0
	for _, h := range s.desk.headsets {
		s.notice(h)
	}
}

func (s *suite) crash() {
	s.runs = false
	if s.TTL == 0 {
		s.desk.whenAwake(func() { s.desk.after(s.desk.delay(30*time.Millisecond, s.name), s.release) })
	}
}

// holder names its connection.
func (s *suite) holder() string { return fmt.Sprint(s.name, ".", s.life) }

func (s *suite) release() {
	if s.runs {
		return
	}
	s.desk.note(ofDesk, "release %s", s.holder())
	s.desk.engine.Release(s.holder())
	s.statements = slices.DeleteFunc(s.statements, func(w statement) bool { return w.until.IsZero() })
}

// notice makes the suite report a headset of its model after a moment.
func (s *suite) notice(h *headset) {
	if !s.runs || h.Model != s.Model {
		return
	}
	life, presence, muted := s.life, h.presence, devices.Of(h.muted())
	if s.Late > 0 && s.identifies(h) && h.plugged && h.up() {
		s.desk.whenAwake(func() {
			s.desk.after(time.Duration(s.Late)*time.Millisecond+s.desk.delay(150*time.Millisecond, s.name, h.index), func() {
				if s.runs && s.life == life {
					s.push(h, presence, muted)
				}
			})
		})
		return
	}
	s.desk.whenAwake(func() {
		s.desk.after(200*time.Millisecond+s.desk.delay(150*time.Millisecond, s.name, h.index), func() {
			if s.runs && s.life == life {
				s.report(h)
			}
		})
	})
}

// report tells the agent the mute of a headset. A suite that gives no serial number does so only while one headset is there and has sound,
// or if it is hasty; one that gives it does so only if that identifies the headset.
func (s *suite) report(h *headset) {
	var there []*headset
	for _, o := range s.desk.headsets {
		if o.plugged && o.Model == s.Model {
			there = append(there, o)
		}
	}
	same := slices.DeleteFunc(slices.Clone(there), func(o *headset) bool { return o.serial() != h.serial() })
	twin := slices.ContainsFunc(s.desk.headsets, func(o *headset) bool {
		return o != h && o.Model == s.Model && o.serial() == h.serial()
	})
	switch {
	case h.plugged && s.Serials && twin && (!h.sound || s.desk.serverDown):
		return // the agent would apply it to the first one that it sees
	case h.plugged && s.Serials && (len(same) != 1 || h.serial() == ""), h.plugged && !s.Serials && !s.meansOne(h, there):
		return
	case h.plugged && h.up():
		s.push(h, h.presence, devices.Of(h.muted()))
	case !s.Tidy || !s.hasSaid(h):
		return
	case !s.Serials && len(there) > 0 && !h.plugged:
		return // the agent would apply it to another headset
	default:
		s.push(h, h.presence, devices.Unknown)
		return
	}
	if s.TTL > 0 && s.TTL < 600_000 {
		presence, life := h.presence, s.life
		s.desk.after(time.Duration(s.TTL)*time.Millisecond/2, func() {
			if s.runs && s.life == life && h.plugged && h.presence == presence && !s.desk.asleep {
				s.report(h)
			}
		})
	}
}

// meansOne reports whether the agent can know which of the headsets that are there is meant without a serial number, or that nothing tells.
func (s *suite) meansOne(h *headset, there []*headset) bool {
	if len(there) == 1 {
		return h.sound
	}
	return s.Hasty && !slices.ContainsFunc(there, func(o *headset) bool { return o != h && !s.desk.seesBoth(h, o) })
}

func (s *suite) hasSaid(h *headset) bool {
	return slices.ContainsFunc(s.statements, func(w statement) bool { return w.of == h && w.value.Known() })
}

// identifies reports whether what the suite says of the headset cannot be taken for another one's.
func (s *suite) identifies(h *headset) bool {
	return s.Serials && h.serial() != "" && !slices.ContainsFunc(s.desk.headsets, func(o *headset) bool {
		return o != h && o.Model == h.Model && o.serial() == h.serial()
	})
}

// seesBoth reports whether the agent knows that h is there beside o, another one of its model: by its card, or because its HID device has
// come so long after o that its sound may be still to come.
func (d *desk) seesBoth(h, o *headset) bool {
	if len(h.entry(d.version).Link) > 0 || d.serverDown || time.Since(d.serverBack) < time.Second { // one may seem to be off, or to have gone
		return false
	}
	if h.carded && o.carded {
		return true
	}
	since := slices.MaxFunc([]time.Time{o.validSince, d.serverBack, d.stalledUntil, d.woke, d.booted}, time.Time.Compare)
	seen := slices.ContainsFunc(h.nodes, func(n *node) bool { return n.open })
	return seen && o.carded && h.came.Sub(since) > 12*time.Second && time.Since(h.came) < 8*time.Second
}

// push tells the agent the mute that a headset had in one of its presences.
func (s *suite) push(h *headset, presence int, v devices.Tri) {
	p := engine.Push{
		Product: productID(s.Model), Owner: s.name, Holder: s.holder(), TTL: engine.Span(s.TTL) * engine.Span(time.Millisecond), At: time.Now(),
		State: map[devices.Field]devices.Tri{devices.HardwareMute: v},
	}
	if s.Serials {
		p.Serial = h.serial()
	}
	if s.Counts {
		s.seq++
		p.Seq = s.seq
	}
	w := statement{of: h, presence: presence, waits: !h.sound || s.desk.serverDown, value: v, said: time.Now()}
	if s.TTL > 0 {
		w.until = time.Now().Add(time.Duration(p.TTL))
	}
	units, err := s.desk.engine.Push(p)
	s.statements = slices.DeleteFunc(s.statements, func(o statement) bool {
		replaced := !s.Serials || o.of.serial() == h.serial() // the agent has one for each owner, product and serial number
		return replaced && (err == nil || o.value != v)
	})
	if err == nil {
		w.bound = units.Units == 1
		s.statements = append(s.statements, w)
		if !units.Left { // else the agent does not know whom it contradicts
			s.desk.contradict(s, w)
		}
	}
	s.desk.note(ofDesk, "push by %s of headset %d (%s): %v: %v %v", s.name, h.index, p.Serial, v, units, err)
}

// contradict removes what other suites have said of the headset if w says the contrary.
func (d *desk) contradict(speaker *suite, w statement) {
	for _, s := range d.suites {
		s.statements = slices.DeleteFunc(s.statements, func(o statement) bool {
			return s != speaker && o.of == w.of && o.value.Known() && w.value.Known() && o.value != w.value
		})
	}
}

// stillSays reports whether a suite's statement that the mute is v is still in force. A statement ends with its lease, when another
// suite says the contrary, when the headset leaves or reports that its link is down, and when the machine has slept.
func (d *desk) stillSays(h *headset, v devices.Tri) bool {
	linked := len(h.entry(d.version).Link) > 0
	for _, s := range d.suites {
		for _, w := range s.statements {
			switch {
			case w.of != h, w.value != v, w.presence != h.presence && !w.waits, w.said.Before(d.woke), linked && w.said.Before(h.left):
			case w.until.IsZero(), time.Now().Before(w.until):
				return true
			}
		}
	}
	return false
}

// whyHeld returns which software's statement must still count for a headset whose mute has not changed since; "": none must. Where a link
// tells whether the headset is there, the agent must have heard it all the while.
func (d *desk) whyHeld(h *headset) string {
	linked := len(h.entry(d.version).Link) > 0
	if h.NoAudio { // no card of it shows that it stays while its endpoints go
		return ""
	}
	for _, s := range d.suites {
		for _, w := range s.statements {
			over := !w.until.IsZero() && !time.Now().Before(w.until) || w.presence != h.presence ||
				w.said.Before(h.left) || w.said.Before(d.woke) || linked && (w.said.Before(h.validSince) || w.said.Before(d.stalledUntil))
			if w.of == h && w.bound && w.value.Known() && !over && h.turned.Before(w.said) {
				return fmt.Sprintf("%s has said at %v that it is %v", s.name, w.said.Sub(d.began).Round(time.Millisecond), w.value)
			}
		}
	}
	return ""
}

// serverReturned notes that the agent sees the sound server again, if that was away: what has stayed is known only for a while, and of
// cards that a USB device identifies.
func (d *desk) serverReturned() {
	went := d.serverWent
	if went.IsZero() {
		return
	}
	d.serverWent = time.Time{}
	for _, s := range d.suites {
		for i := range s.statements {
			w := &s.statements[i]
			w.bound = w.bound && w.of.Bus != bluetooth && w.of.came.Before(went) && time.Since(went) < staleAfter-time.Second
		}
	}
}

// missAbsence notes that a headset was unplugged and is back before the agent could notice.
func (d *desk) missAbsence(h *headset) {
	for _, s := range d.suites {
		for i := range s.statements {
			if w := &s.statements[i]; w.of == h {
				w.waits = true
			}
		}
	}
}
