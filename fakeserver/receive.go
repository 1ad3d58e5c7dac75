package fakeserver

// receive judges, records and reports a payload, and says what to do about it.
// refusal is set when the request that carried it is refused as a whole.
func (s *Server) receive(p Payload, refusal *Rejection) verdict {
	m := p.parse()
	s.order.Lock()
	defer s.order.Unlock()
	v := judge(m, refusal)
	switch {
	case refusal != nil:
		p.Err = refusal
	case m.err != nil:
		p.Err = m.err
	}
	if f, ok := s.hit(p.Transport, payloadFaults...); ok {
		v = f.spoil(v, m)
		p.Fault = f.Kind
		if p.Err == nil && !f.takes() {
			p.Err = reject(f.Code, "fault %s: not taken", f.Kind)
		}
	}
	s.keep(p)
	return v
}

// swallow records a payload that a fault kept from being read as one.
func (s *Server) swallow(p Payload, kind FaultKind) {
	p.parse()
	p.Fault, p.Err = kind, reject(0, "fault %s: not taken", kind)
	s.order.Lock()
	defer s.order.Unlock()
	s.keep(p)
}

// keep records a payload, makes its list the list in force when it was taken,
// and tells whoever waits. order is held.
func (s *Server) keep(p Payload) {
	s.mu.Lock()
	p.Seq = s.record.total + 1
	p.Previous = s.store.of(p.ClientID)
	if p.Err == nil {
		s.store.put(p.ClientID, p.Devices)
	} else {
		s.stats.Rejected++
	}
	s.record.add(p)
	s.notify()
	s.mu.Unlock()
	if s.opts.OnPayload != nil {
		s.opts.OnPayload(p)
	}
}
