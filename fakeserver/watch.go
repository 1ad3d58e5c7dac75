package fakeserver

// Changed returns a channel that is closed at the next change of anything that
// can be asked of the server: payloads, lists, counts, the fault, whether it
// runs. Who takes it before asking misses no change. A closed server changes no
// more.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listening == nil {
		s.listening = make(chan struct{})
	}
	return s.listening
}

// Running reports whether the client is there: not stopped and not closed. It
// is true too while [FaultRefuse] keeps new connections out.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}

// Links counts the open connections of each transport. A WebSocket counts as
// HTTP until READY was sent.
func (s *Server) Links() map[Transport]int {
	links := make(map[Transport]int)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return links
	}
	for c := range s.run.conns {
		switch {
		case c.ipc:
			links[IPC]++
		case c.ready:
			links[WebSocket]++
		default:
			links[HTTP]++
		}
	}
	return links
}

// Apps are the client ids that have a list, see [Server.DevicesOf]; the last
// one to report is the last.
func (s *Server) Apps() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, l := range s.store {
		ids = append(ids, l.ClientID)
	}
	return ids
}
