package fakeserver

// waitWhileFrozen returns when the server is not frozen, or closed is closed.
func (s *Server) waitWhileFrozen(closed <-chan struct{}) {
	for frozen := s.frozen.Load(); frozen != nil; frozen = s.frozen.Load() {
		select {
		case <-*frozen:
		case <-closed:
			return
		}
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
	s.frozen.CompareAndSwap(nil, new(make(chan struct{})))
	s.limiter.setFrozen(true)
}

// Frozen reports whether the server is frozen, see [Server.Freeze].
func (s *Server) Frozen() bool { return s.frozen.Load() != nil }

// Thaw ends [Server.Freeze]: the server now handles what came meanwhile.
func (s *Server) Thaw() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.thaw()
}

// thaw is Thaw with lifecycle held.
func (s *Server) thaw() {
	if frozen := s.frozen.Swap(nil); frozen != nil {
		close(*frozen)
	}
	s.limiter.setFrozen(false)
}
