package fakeserver

import "sync/atomic"

// A freezer holds up goroutines while it is frozen.
type freezer struct {
	frozen atomic.Pointer[chan struct{}] // closed by thaw; nil when not frozen
}

// wait returns when it is not frozen, or closed is closed.
func (f *freezer) wait(closed <-chan struct{}) {
	for frozen := f.frozen.Load(); frozen != nil; frozen = f.frozen.Load() {
		select {
		case <-*frozen:
		case <-closed:
			return
		}
	}
}

func (f *freezer) freeze() { f.frozen.CompareAndSwap(nil, new(make(chan struct{}))) }

func (f *freezer) thaw() {
	if frozen := f.frozen.Swap(nil); frozen != nil {
		close(*frozen)
	}
}

// Freeze makes the server do nothing at all, like a process that the system has
// stopped: it accepts, reads and writes nothing, and lets no request through.
// Connections stay open, new ones wait. Its methods still work. Stopping or
// closing the server ends the freeze.
func (s *Server) Freeze() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.run == nil {
		return
	}
	s.freezer.freeze()
	s.limiter.freeze()
	s.changed.Notify()
}

// Frozen reports whether the server is frozen, see [Server.Freeze].
func (s *Server) Frozen() bool { return s.freezer.frozen.Load() != nil }

// Thaw ends [Server.Freeze]: the server now handles what came meanwhile.
func (s *Server) Thaw() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.thaw()
}

// thaw is Thaw with lifecycle held.
func (s *Server) thaw() {
	s.freezer.thaw()
	s.limiter.thaw()
	s.changed.Notify()
}
