package engine

import (
	"errors"
	"time"
)

// Handover returns what another Engine has to be told to go on where this one ends: the pause, and all pushes with the rest of their
// leases. Pushes without a lease get one of heldFor, in which their software has to find the other agent. From now on pushes are refused,
// since they would be lost, until CancelHandover is called.
//
// What HID devices have said is left out. A level that the other Engine cannot ask for is unknown to it until the device reports it again,
// and so is a toggle without an anchor: nobody can tell whether both have counted the same presses, and a difference of one press is a
// stuck mute.
func (e *Engine) Handover(heldFor time.Duration) (inputs []Input) {
	e.do(func(s *state) {
		s.expire() // what is due now is over
		s.trackUnits()
		s.handedOver = true
		inputs = []Input{{Unpause: true}}
		if s.paused != nil {
			inputs = []Input{{Pause: s.paused.remaining(s.now)}}
		}
		s.leaseInputs(func(in Input) {
			if in.Push.TTL == 0 {
				in.Push.TTL, in.Push.Holder = Span(heldFor), ""
			}
			in.Push.Age = Span(s.now.Sub(in.Push.At))
			inputs = append(inputs, in)
		})
	})
	return inputs
}

// CancelHandover accepts pushes again after Handover: the other Engine does not take over.
func (e *Engine) CancelHandover() { e.do(func(s *state) { s.handedOver = false }) }

// ApplyHandover takes over what Handover returned in another Engine, that long ago. It is to be called when everything has been read once.
// It leaves out a push whose unit is not there, or was attached after the push: that unit has left in between.
func (e *Engine) ApplyHandover(inputs []Input, age time.Duration) {
	for _, in := range inputs {
		e.do(func(s *state) {
			in, err := in.aged(Span(age)), error(nil)
			if in.Push != nil {
				in.Push = s.arrived(*in.Push)
				err = s.sameUnit(*in.Push)
			}
			if err == nil {
				err = s.take(in).err
			}
			if err != nil {
				s.opts.Log.Warn("a pushed state ends with the agent before this one", "product", in.Push.Product, "owner", in.Push.Owner, "reason", err)
			}
		})
	}
}

// aged returns an input of a Handover after some time. The connections over which it was pushed have ended, and with them their counts.
func (in Input) aged(by Span) Input {
	switch {
	case in.Push != nil:
		p := *in.Push
		if p.TTL > 0 {
			p.TTL = max(1, p.TTL-by) // ends at once if it is over
		}
		if p.Age > 0 {
			p.Age += by
		}
		p.Seq = 0
		in.Push = &p
	case in.Pause != nil && in.Pause.For > 0:
		in.Pause = &Pause{For: max(1, in.Pause.For-by)}
	}
	return in
}

// errUnitLeft means that a push is about a unit that has left.
var errUnitLeft = errors.New("what it was said of has left")

// sameUnit returns an error unless the unit that p was bound to has been there all the time.
func (s *state) sameUnit(p Push) error {
	if p.Unit == "" {
		return nil
	}
	s.trackUnits()
	inc := s.units[p.Unit]
	if inc == nil || inc.presence == leaving || inc.since.After(p.At) && inc.since.After(s.first) {
		return errUnitLeft
	}
	return nil
}

// Settled reports whether there is a first list, and whether in addition no HID device is being asked.
func (e *Engine) Settled() (published, quiet bool) {
	e.do(func(s *state) { published, quiet = s.sent, s.sent && s.hid.Due().IsZero() })
	return published, quiet
}
