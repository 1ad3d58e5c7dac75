package fakeserver

import (
	"bytes"
	"slices"
)

// A delivery is a payload that comes in, with what is known of its request.
type delivery struct {
	Payload
	refusal      *Rejection // why the whole request is refused; nil if it is not
	noScope      bool       // the command lacks the authorization that it needs
	injected     Fault      // the fault that was drawn for it
	cached       bool       // the client knows the application without looking it up
	packetStarts []int      // offsets of the packets in which it came, except the first
}

// text is the text that the client decodes from the bytes. A WebSocket has to
// carry UTF-8.
func (d *delivery) text(desktop bool) []byte {
	if !desktop || d.Transport == WebSocket || whole(d.Raw, d.packetStarts) {
		return d.Raw
	}
	d.Warnings = append(d.Warnings, "message: a character is not whole UTF-8 in one packet: it becomes U+FFFD")
	return decoded(d.Raw, d.packetStarts)
}

// receive judges, records and reports a payload. It returns what to do about it.
func (s *Server) receive(d delivery) response {
	desktop := s.opts.Profile.isDesktop()
	text := d.text(desktop)
	p := d.Payload
	m := p.parse(text, desktop)
	if desktop && d.refusal == nil && isNull(text) {
		d.refusal = reject(0, "message: null: never answered")
	}
	if d.noScope && m.found {
		m.err = reject(codeScope, scopeMessage) // before its arguments are looked at (rule R20)
	}
	s.order.Lock()
	defer s.order.Unlock()
	if s.opts.Refuse != nil && m.found && m.err == nil {
		if reason := s.opts.Refuse(m.devices); reason != "" {
			m.err = reject(codePayload, "devices: %s", reason)
		}
	}
	d.cached = desktop && d.injected.Kind != FaultOffline && s.hasLookedUp(p.ClientID)
	v := judge(m, d.refusal)
	switch {
	case d.refusal != nil:
		p.Err = d.refusal
	case s.opts.Profile == ArRPC:
		v, p.Err = judgeArRPC(p.Raw)
	case m.err != nil:
		p.Err = m.err
	}
	if f, ok := s.meetFault(p.Transport, d.injected, d.possibleFaults()...); ok {
		v = f.apply(v, m)
		p.Fault = f.Kind
		if p.Err == nil && !slices.Contains(acceptingFaults, f.Kind) {
			p.Err = reject(f.Code, "fault %s: not taken", f.Kind)
		}
	}
	if p.Transport == HTTP && d.refusal == nil && p.Fault != FaultOffline {
		s.lookedUp(p.ClientID)
	}
	s.keep(p)
	return v
}

// possibleFaults are the faults that can meet a payload that has been read. A lost
// one meets none. Over HTTP the application of every request is looked up.
func (d delivery) possibleFaults() []FaultKind {
	switch {
	case d.refusal != nil && d.refusal.Code == 0:
		return nil
	case d.Transport == HTTP && !d.cached:
		return slices.Concat(payloadFaults, []FaultKind{FaultOffline})
	}
	return payloadFaults
}

// recordUnread records a payload that the program ignored, with the reason.
func (s *Server) recordUnread(p Payload, kind FaultKind, reason string) {
	p.parse(p.Raw, s.opts.Profile.isDesktop())
	p.Fault, p.Err = kind, reject(0, "%s", reason)
	s.order.Lock()
	defer s.order.Unlock()
	s.keep(p)
}

// keep records a payload, puts its list in force if it was accepted, and notifies
// those who wait. order is held.
func (s *Server) keep(p Payload) {
	s.mu.Lock()
	lists := s.store
	s.mu.Unlock()
	p.Previous = lists.of(p.ClientID)
	var gone []Device
	if p.Err == nil {
		lists = slices.Clone(lists)
		gone = lists.put(p.ClientID, p.Devices)
		s.save(lists)
	}
	s.mu.Lock()
	p.Seq = s.record.total + 1
	if p.Err == nil {
		s.store = lists
		s.known.replace(gone, p.Devices)
	} else {
		s.stats.Rejected++
	}
	s.record.add(p)
	s.mu.Unlock()
	s.changed.Notify()
	if s.opts.OnPayload != nil {
		s.opts.OnPayload(p)
	}
}

func isNull(text []byte) bool {
	return string(bytes.Trim(text, " \t\r\n")) == "null"
}
