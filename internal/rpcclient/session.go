package rpcclient

import (
	"context"
	"errors"
	"time"

	"sidetone/internal/devices"
)

// Delivery is one list that the client has accepted.
type Delivery struct {
	Snapshot  devices.Snapshot
	Changes   []devices.Change // against what this client had before; all of it on the first list
	First     bool             // the first list of a session
	Transport Transport
	Port      int
	RoundTrip time.Duration // from writing the list to its answer
	SinceOS   time.Duration // from the OS event to the answer
}

// session keeps one client up to date over one link: at most one list is in flight, the newest
// one waits, nothing older follows something newer (rule R71).
type session struct {
	link      link
	transport Transport
	port      int
	box       *mailbox
	timeout   time.Duration // for one answer
	pacer     pacer
	retry     *backoff
	delivered func(Delivery)
	holds     func(generation uint64) // the client has this generation, whether or not it had to be sent
	refused   func(err error, next time.Duration)

	has   devices.Snapshot // what the client has accepted last
	knows bool             // false: the client's list is unknown, the next one goes out whatever it holds (rule R52)
	first bool

	rejected []devices.Device // the list that was refused last
}

// run returns when the link is of no more use or ctx ends. A refused list is not the end: it
// is sent again after a growing wait, and at once when it changes (rule R44).
func (s *session) run(ctx context.Context) error {
	s.first = true
	for {
		snap, ok := s.take()
		if !ok || s.upToDate(snap) {
			if err := s.sleep(ctx, nil, true); err != nil {
				return err
			}
			continue
		}
		if wait := s.pacer.delay(time.Now()); wait > 0 {
			if err := s.sleep(ctx, &wait, false); err != nil {
				return err
			}
			snap, _ = s.take()
			if s.upToDate(snap) {
				continue
			}
		}
		if err := s.send(ctx, snap); err != nil {
			return err
		}
	}
}

// take returns the newest snapshot; ok is false before the first one.
func (s *session) take() (snap devices.Snapshot, ok bool) {
	snap, ok, resend := s.box.take()
	if resend {
		s.knows = false
	}
	return snap, ok
}

// upToDate reports whether the client has what snap says, which may be so without sending it.
func (s *session) upToDate(snap devices.Snapshot) bool {
	if !s.knows || !devices.SameWire(s.has.Wire(), snap.Wire()) {
		return false
	}
	s.has = snap
	s.holds(snap.Generation)
	return true
}

// sleep waits for the given time (nil: no limit), for a new snapshot if wake is set, and ends
// with an error when the link is lost or ctx ends.
func (s *session) sleep(ctx context.Context, d *time.Duration, wake bool) error {
	var timeout <-chan time.Time
	if d != nil {
		t := time.NewTimer(*d)
		defer t.Stop()
		timeout = t.C
	}
	var news <-chan struct{}
	if wake {
		news = s.box.notify
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.link.lost():
		return ErrLost
	case <-news:
	case <-timeout:
	}
	return nil
}

// send delivers snap. It returns an error only when the session is over.
func (s *session) send(ctx context.Context, snap devices.Snapshot) error {
	nonce, payload, err := encode(snap.Wire())
	if err != nil {
		return err
	}
	start := time.Now()
	s.pacer.use(start)
	answer, cancel := context.WithTimeout(ctx, s.timeout)
	err = s.link.deliver(answer, nonce, payload)
	cancel()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refusal *Error
	switch {
	case err == nil:
		now := time.Now()
		s.delivered(Delivery{
			Snapshot: snap, Changes: devices.Diff(s.has, snap), First: s.first,
			Transport: s.transport, Port: s.port,
			RoundTrip: now.Sub(start), SinceOS: now.Sub(snap.At),
		})
		s.has, s.knows, s.first = snap, true, false
		s.retry.reset()
		return nil
	case errors.As(err, &refusal) && refusal.Phase == PhaseCommand && refusal.Code != CodeNotAuthorized:
		s.knows = false
		if list := snap.Wire(); !devices.SameWire(list, s.rejected) {
			s.rejected = list
			s.retry.reset() // another list may fare better
		}
		wait := s.retry.wait()
		s.refused(err, wait)
		return s.sleep(ctx, &wait, true)
	default:
		return err
	}
}

// farewell empties the client's list (rules R38, R53). What was in flight is not waited for:
// the order of the link keeps the empty list last.
func (s *session) farewell(ctx context.Context) error {
	nonce, payload, err := encode(nil)
	if err != nil {
		return err
	}
	return s.link.deliver(ctx, nonce, payload)
}
