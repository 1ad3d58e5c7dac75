package engine

import (
	"errors"
	"time"
)

// Handover is what another Engine has to be told to go on where this one ends: what was pushed, each with the rest of its lease, and the
// pause. What was pushed without a lease has one of heldFor: who said it has to find the other agent. From now on pushes are refused, since
// they would be lost, until CancelHandover is called.
//
// What HID devices have said is not in it. A level that the other Engine cannot ask for is unknown to it until the device says it again,
// and so is a toggle without an anchor: nobody can tell whether both have counted the same presses, and one press of a difference is a
// mute that is stuck.
func (e *Engine) Handover(heldFor time.Duration) (inputs []Input) {
	e.do(func(s *state) {
		s.expire() // what is due at this moment is over
		s.bindLeases()
		s.handedOver = true
		inputs = []Input{{Unpause: true}}
		if s.paused != nil {
			inputs = []Input{{Pause: s.paused.remaining(s.now)}}
		}
		s.leaseInputs(func(in Input) {
			if in.Push.TTL == 0 {
				in.Push.TTL, in.Push.Holder = Span(heldFor), ""
			}
			inputs = append(inputs, in)
		})
	})
	return inputs
}

// CancelHandover has pushes taken again after Handover: the other Engine does not go on.
func (e *Engine) CancelHandover() { e.do(func(s *state) { s.handedOver = false }) }

// ApplyHandover takes over what the Handover of another Engine told, that long ago, once all that is there has been read. It leaves out
// a push whose unit is not there, or has come since it was said: that one has left in between.
func (e *Engine) ApplyHandover(inputs []Input, age time.Duration) {
	for _, in := range inputs {
		e.do(func(s *state) {
			in, err := in.aged(Span(age), s.now), error(nil)
			if in.Push != nil {
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

// aged is an input of a Handover after some time. A clock that was set back in between would have said it in the future, and all that is
// said until then would be older.
func (in Input) aged(by Span, now time.Time) Input {
	switch {
	case in.Push != nil:
		p := *in.Push
		if p.TTL > 0 {
			p.TTL = max(1, p.TTL-by) // what is over ends at once
		}
		if p.At.After(now) {
			p.At = now
		}
		in.Push = &p
	case in.Pause != nil && in.Pause.For > 0:
		in.Pause = &Pause{For: max(1, in.Pause.For-by), UntilLogin: in.Pause.UntilLogin}
	}
	return in
}

// errUnitLeft means that what was pushed was said of a unit that is not there any more.
var errUnitLeft = errors.New("what it was said of has left")

// sameUnit finds out whether the unit that p was bound to has been there all the while.
func (s *state) sameUnit(p Push) error {
	if p.Unit == "" {
		return nil
	}
	u, there := s.grouping().Unit(p.Product, p.Unit)
	if !there || u.Leaving || u.First.After(p.At) && u.First.After(s.first) {
		return errUnitLeft
	}
	return nil
}

// Settled reports whether there is a first list, and whether beside that no HID device is being asked.
func (e *Engine) Settled() (published, quiet bool) {
	e.do(func(s *state) { published, quiet = s.sent, s.sent && s.hid.Due().IsZero() })
	return published, quiet
}
