package fakeserver

import (
	"math/rand/v2"
	"slices"
	"time"
)

// An event is something for which a fault can be drawn.
type event int

const (
	connectEvent event = iota // a WebSocket connect or an IPC handshake
	payloadEvent
)

const (
	faultOdds = 4               // one event of so many meets a fault
	maxDelay  = 2 * time.Second // of a late READY or answer
)

var faultPool = map[event][]FaultKind{
	connectEvent: {FaultReadyLate, FaultReadyNever, FaultCloseCode, FaultLogin, FaultOffline},
	payloadEvent: {
		FaultDie, FaultCloseAfter, FaultNoAnswer, FaultAnswerLate, FaultWrongNonce, FaultBadJSON, FaultError,
		FaultHuge, FaultHalf, FaultDeep, FaultExtraAnswer, FaultTwice, FaultOffline,
	},
}

// An rng draws the faults of [Flaky]. Connects and payloads each have their own
// stream, so that the draws for one do not depend on the number of the other.
type rng map[event]*rand.Rand

func newRNG(seed uint64) rng {
	return rng{
		connectEvent: rand.New(rand.NewPCG(seed, uint64(connectEvent))),
		payloadEvent: rand.New(rand.NewPCG(seed, uint64(payloadEvent))),
	}
}

// draw draws for one event. It always takes the same amount from the stream.
func (d rng) draw(t Transport, e event) Fault {
	r := d[e]
	useFault, pick, delay := r.IntN(faultOdds) == 0, r.Uint64(), 1+time.Duration(r.Int64N(int64(maxDelay)))
	if !useFault {
		return Fault{}
	}
	possible := slices.DeleteFunc(slices.Clone(faultPool[e]), func(k FaultKind) bool {
		return !Fault{Kind: k}.appliesTo(t) || (k == FaultOffline && e == payloadEvent && t != HTTP)
	})
	f := Fault{Kind: possible[pick%uint64(len(possible))], Delay: delay, Count: 1}
	switch f.Kind {
	case FaultCloseCode:
		f.Code = codeRateLimit
	case FaultError:
		f.Code, f.Message = codeUnknown, unknownError
	}
	return f
}

// draw draws the fault of [Flaky] for an event; none for other profiles, and none
// while a fault is set.
func (s *Server) draw(t Transport, e event) Fault {
	if s.opts.Profile != Flaky {
		return Fault{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.rng.draw(t, e)
	if s.fault.Kind != FaultNone {
		return Fault{}
	}
	return f
}

// meetFault is like useFault, but also applies the fault that was drawn for the event.
func (s *Server) meetFault(t Transport, drawn Fault, kinds ...FaultKind) (Fault, bool) {
	if f, ok := s.useFault(t, kinds...); ok {
		return f, true
	}
	if drawn.Kind == FaultNone || !slices.Contains(kinds, drawn.Kind) {
		return Fault{}, false
	}
	s.count(&s.stats.Faults)
	return drawn, true
}
