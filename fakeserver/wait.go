package fakeserver

import (
	"context"
	"fmt"
	"slices"
)

func (s *Server) count(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
	s.changed.Notify()
}

// wait returns when the condition holds; it is checked after each change.
func (s *Server) wait(ctx context.Context, holds func() bool) error {
	for {
		changed, closed := s.Changed(), s.isClosed()
		switch {
		case holds():
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Wait returns when the current list (see [Server.Devices]) is as wanted. It may
// miss a list that is replaced at once; to see each, use [Server.WaitPayload].
// The error says what was received until the context ended.
func (s *Server) Wait(ctx context.Context, wanted func([]Device) bool) error {
	if err := s.wait(ctx, func() bool { return wanted(s.Devices()) }); err != nil {
		return fmt.Errorf("the device list is not as wanted (%s): %w", s.summary(), err)
	}
	return nil
}

// WaitPayload returns the first payload, accepted or not, whose Seq is above
// after, as soon as it has been received.
func (s *Server) WaitPayload(ctx context.Context, after int) (Payload, error) {
	var p Payload
	err := s.wait(ctx, func() (ok bool) {
		p, ok = s.NextPayload(after)
		return ok
	})
	if err != nil {
		return p, fmt.Errorf("no payload after number %d (%s): %w", after, s.summary(), err)
	}
	return p, nil
}

// NextPayload returns the oldest recorded payload whose Seq is above after. It does
// not wait.
func (s *Server) NextPayload(after int) (p Payload, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := slices.BinarySearchFunc(s.record.list, after+1, func(p Payload, seq int) int { return p.Seq - seq })
	if i == len(s.record.list) {
		return Payload{}, false
	}
	return s.record.list[i], true
}

// WaitStats returns when the counts are as wanted.
func (s *Server) WaitStats(ctx context.Context, wanted func(Stats) bool) error {
	if err := s.wait(ctx, func() bool { return wanted(s.Stats()) }); err != nil {
		return fmt.Errorf("the counts are not as wanted (%s): %w", s.summary(), err)
	}
	return nil
}

func (s *Server) summary() string {
	text := fmt.Sprintf("%+v, %d devices in force", s.Stats(), len(s.Devices()))
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.record.list)
	if n == 0 {
		return text
	}
	last := s.record.list[n-1]
	if last.Err != nil {
		return text + ", last payload: rejected, " + last.Err.Error()
	}
	return text + fmt.Sprintf(", last payload: accepted, %d devices", len(last.Devices))
}
