package fakeserver

import (
	"fmt"
	"net"
	"slices"
)

// SetFault makes the server misbehave from now on, in place of any earlier fault;
// Fault{} makes it behave. The error says what is wrong with the fault, or that
// the port could not be reopened after [FaultRefuse].
func (s *Server) SetFault(f Fault) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.mu.Lock()
	refusing := s.fault.Kind == FaultRefuse || f.Kind == FaultRefuse
	s.fault, s.sinceClose = f, 0
	s.mu.Unlock()
	s.changed.Notify()
	if refusing {
		return s.updateListeners()
	}
	return nil
}

// updateListeners opens or closes the listeners as the active fault demands.
func (s *Server) updateListeners() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.run == nil {
		return nil
	}
	s.mu.Lock()
	fault, port, path := s.fault, s.port, s.ipcPath
	s.mu.Unlock()
	for _, t := range []Transport{HTTP, IPC} {
		var ln net.Listener
		var err error
		switch {
		case fault.refuses(t):
			s.run.closeListener(t)
		case s.run.listeners[t] != nil: // stays open
		case t == HTTP && !s.opts.NoTCP:
			ln, _, err = s.opts.Network.ListenPort([]int{port})
		case t == IPC && s.opts.IPCDir != "":
			ln, err = s.opts.Network.ReopenIPC(path)
		}
		switch {
		case err != nil:
			return fmt.Errorf("fake server: %w", err)
		case ln != nil:
			s.run.listen(t, ln)
		}
	}
	return nil
}

// refuses reports whether the fault closes the listener of a transport, HTTP or IPC.
func (f Fault) refuses(t Transport) bool {
	return f.Kind == FaultRefuse && (f.Transport == "" || f.Transport == t)
}

// Fault is the active fault, with the number of times that it still applies.
func (s *Server) Fault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault
}

// useFault reports whether the active fault is one of the kinds and applies to
// the transport; if so, it counts as applied. An empty transport is a connection
// whose transport is not known yet: no fault that is limited to one applies to it.
func (s *Server) useFault(t Transport, kinds ...FaultKind) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	if !slices.Contains(kinds, f.Kind) || !f.appliesTo(t) {
		return Fault{}, false
	}
	if f.Kind == FaultCloseAfter {
		s.sinceClose++
		if s.sinceClose < f.Count {
			return Fault{}, false
		}
		s.sinceClose = 0
	}
	s.stats.Faults++
	if s.fault.Times > 0 {
		s.fault.Times--
		if s.fault.Times == 0 {
			s.fault = Fault{}
		}
	}
	s.changed.Notify()
	return f, true
}

// appliesTo reports whether the fault can occur on the transport, by its nature
// and by what it is limited to.
func (f Fault) appliesTo(t Transport) bool {
	if f.Transport != "" {
		return f.Transport == t
	}
	spec, _ := specOf(f.Kind)
	return spec.appliesTo(t)
}
