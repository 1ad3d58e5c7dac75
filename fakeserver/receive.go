package fakeserver

import "slices"

// A delivery is a payload on its way in, with what the client knows of it.
type delivery struct {
	Payload
	refusal *Rejection // why the request that carried it is refused as a whole
	noScope bool       // the command needs an authorization that is not there
	fate    Fault      // the fault that was drawn for it
}

// receive judges, records and reports a payload, and says what to do about it.
func (s *Server) receive(d delivery) verdict {
	p := d.Payload
	m := p.parse()
	if d.noScope {
		m.denyScope()
	}
	s.order.Lock()
	defer s.order.Unlock()
	v := judge(m, d.refusal)
	switch {
	case d.refusal != nil:
		p.Err = d.refusal
	case s.opts.Profile == ArRPC:
		v, p.Err = judgeArRPC(p.Raw)
	case m.err != nil:
		p.Err = m.err
	}
	if f, ok := s.meet(p.Transport, d.fate, d.faults()...); ok {
		v = f.spoil(v, m)
		p.Fault = f.Kind
		if p.Err == nil && !f.takes() {
			p.Err = reject(f.Code, "fault %s: not taken", f.Kind)
		}
	}
	s.keep(p)
	return v
}

// faults are those that can meet a payload that has been read. What is lost
// meets none. Over HTTP the client id of every request is checked.
func (d delivery) faults() []FaultKind {
	switch {
	case d.refusal != nil && d.refusal.Code == 0:
		return nil
	case d.Transport == HTTP:
		return slices.Concat(payloadFaults, []FaultKind{FaultOffline})
	}
	return payloadFaults
}

// swallow records a payload that was not read as one, for the reason given.
func (s *Server) swallow(p Payload, kind FaultKind, reason string) {
	p.parse()
	p.Fault, p.Err = kind, reject(0, "%s", reason)
	s.order.Lock()
	defer s.order.Unlock()
	s.keep(p)
}

// keep records a payload, makes its list the list in force when it was taken,
// and tells whoever waits. order is held.
func (s *Server) keep(p Payload) {
	s.mu.Lock()
	lists := s.store
	s.mu.Unlock()
	p.Previous = lists.of(p.ClientID)
	if p.Err == nil {
		lists = slices.Clone(lists)
		lists.put(p.ClientID, p.Devices)
		s.save(lists)
	}
	s.mu.Lock()
	p.Seq = s.record.total + 1
	s.store = lists
	if p.Err != nil {
		s.stats.Rejected++
	}
	s.record.add(p)
	s.notify()
	s.mu.Unlock()
	if s.opts.OnPayload != nil {
		s.opts.OnPayload(p)
	}
}
