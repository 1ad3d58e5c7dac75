package fakeserver

import "sync"

// A gate holds up whoever passes it while it is shut.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when the gate opens; nil while it is open
}

// pass returns when the gate is open, or closed is.
func (g *gate) pass(closed <-chan struct{}) {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		select {
		case <-shut:
		case <-closed:
			return
		}
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut != nil {
		close(g.shut)
		g.shut = nil
	}
}

// Freeze makes the server do nothing at all, as a process that the system has
// stopped: it accepts, reads and writes nothing, and no request is let through.
// Connections stay open, new ones wait. What it is asked through its methods it
// answers. A server that is stopped or closed is frozen no more.
func (s *Server) Freeze() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.run == nil {
		return
	}
	s.gate.close()
	s.limiter.freeze()
	s.wake()
}

// Frozen reports whether the server is, see [Server.Freeze].
func (s *Server) Frozen() bool { return s.gate.isShut() }

// Thaw ends [Server.Freeze]: what came meanwhile is dealt with now.
func (s *Server) Thaw() {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	s.thaw()
}

// thaw is Thaw for who holds lifecycle.
func (s *Server) thaw() {
	s.gate.open()
	s.limiter.thaw()
	s.wake()
}
