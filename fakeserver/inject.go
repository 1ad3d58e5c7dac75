package fakeserver

import (
	"fmt"
	"slices"
)

// SetFault makes the server misbehave from now on, in place of any fault set
// before; Fault{} makes it behave. The error says what is wrong with the fault,
// or that the port could not be opened again after [FaultRefuse].
func (s *Server) SetFault(f Fault) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("fake server: %w", err)
	}
	s.mu.Lock()
	refusing := s.fault.Kind == FaultRefuse || f.Kind == FaultRefuse
	s.fault, s.timesLeft, s.sinceClose = f, f.Times, 0
	s.notify()
	s.mu.Unlock()
	if refusing {
		return s.updateListeners()
	}
	return nil
}

// updateListeners opens or closes the listeners as the fault of the moment demands.
func (s *Server) updateListeners() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.run == nil {
		return nil
	}
	s.mu.Lock()
	tcp, ipc := s.fault.refuses(HTTP), s.fault.refuses(IPC)
	port, path := s.port, s.ipcPath
	s.mu.Unlock()
	if tcp {
		s.run.closeTCP()
	}
	if ipc {
		s.run.closeIPC()
	}
	if !tcp && !s.opts.NoTCP && s.run.tcp == nil {
		ln, _, err := s.opts.Network.ListenPort([]int{port})
		if err != nil {
			return fmt.Errorf("fake server: %w", err)
		}
		s.run.listenTCP(ln)
	}
	if !ipc && s.opts.IPCDir != "" && s.run.ipc == nil {
		ln, err := s.opts.Network.ReopenIPC(path)
		if err != nil {
			return fmt.Errorf("fake server: %w", err)
		}
		s.run.listenIPC(ln)
	}
	return nil
}

// refuses reports whether the fault closes the door through which connections
// of the transport come. WebSocket and HTTP share one.
func (f Fault) refuses(t Transport) bool {
	return f.Kind == FaultRefuse && (f.Transport == "" || f.Transport == t)
}

// Fault is the fault that is active, with the number of times it still applies.
func (s *Server) Fault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	f.Times = s.timesLeft
	return f
}

// useFault reports whether the active fault is one of the kinds and meets the
// transport, and if so uses it up once. An empty transport is a connection of
// which nothing is known yet: no fault that is limited to a transport meets it.
func (s *Server) useFault(t Transport, kinds ...FaultKind) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fault
	if !slices.Contains(kinds, f.Kind) || !f.meets(t) {
		return Fault{}, false
	}
	if f.Kind == FaultCloseAfter {
		if s.sinceClose++; s.sinceClose < f.Count {
			return Fault{}, false
		}
		s.sinceClose = 0
	}
	s.stats.Faults++
	if s.timesLeft > 0 {
		if s.timesLeft--; s.timesLeft == 0 {
			s.fault = Fault{}
		}
	}
	s.notify()
	return f, true
}

// meets reports whether the fault can meet the transport, by its nature and by
// what it is limited to.
func (f Fault) meets(t Transport) bool {
	if f.Transport != "" {
		return f.Transport == t
	}
	spec, _ := specOf(f.Kind)
	return spec.meets(t)
}
