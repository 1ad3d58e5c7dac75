package fakeserver

// Changed returns a channel that is closed at the next change of anything that
// the server's methods return: payloads, lists, counts, the fault, whether it is
// running. A caller that calls Changed before them misses no change. After
// [Server.Close] nothing changes any more.
func (s *Server) Changed() <-chan struct{} { return s.changed.Next() }

// Running reports whether the server is neither stopped nor closed. It is
// running, too, while [FaultRefuse] keeps new connections out.
func (s *Server) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run != nil
}

// ConnectionsByTransport counts the open connections of each transport. A
// WebSocket counts as HTTP until READY was sent.
func (s *Server) ConnectionsByTransport() map[Transport]int {
	counts := map[Transport]int{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return counts
	}
	for c := range s.run.conns {
		switch {
		case c.ipc:
			counts[IPC]++
		case c.ready.Load():
			counts[WebSocket]++
		default:
			counts[HTTP]++
		}
	}
	return counts
}

// ClientIDs returns the client ids that have a list, see [Server.DevicesOf]; the
// one that reported last is the last.
func (s *Server) ClientIDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, l := range s.store {
		ids = append(ids, l.ClientID)
	}
	return ids
}
