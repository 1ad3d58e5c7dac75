package rpcclient

import (
	"errors"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/rpcclient/session"
)

// sessionObserver updates the status of one session, and logs its events.
type sessionObserver struct {
	*Client
	p            *peer
	to           Address
	who          clientKey
	paced        bool      // each list costs a token of the client
	refusedUntil time.Time // when a refused list is sent again

	accepted *devices.Snapshot // the list that the client has accepted last
	muted    []string          // ids of microphones that are muted in accepted or in lists that were sent since and not answered
}

func (o *sessionObserver) Delivered(d session.Delivery) {
	o.accepted, o.muted = &d.Snapshot, nil
	if d.First || o.paced {
		o.memory.add(o.who, o.p.bucket.Full())
	}
	if d.First {
		o.attemptChanged.Notify() // attempts with other clients may have to end
	}
	on := onAccepted
	if o.paced {
		on = onAcceptedHTTP
	}
	o.applySessionOutcome(o.p, on, func(s *Session) {
		*s = Session{Address: o.to, Generation: d.Snapshot.Generation, Delivered: time.Now(), Devices: len(d.Snapshot.Devices)}
		if o.paced {
			s.Error = o.refusals(o.p)
			s.Reason = o.overHTTP(s.Error)
			if wait := o.p.bucket.Delay(time.Now()); wait > 0 {
				s.NextTry = time.Now().Add(wait)
			}
		}
	})
	clear(o.p.logged)
	o.locked(func() {
		o.loggedReason, o.p.askOnceMore, o.p.commandUnknown, o.p.silent = "", false, false, false
		o.supersede(o.p, &d.Snapshot)
	})
	o.opts().OnDelivery(Delivery{o.to, d})
	o.p.refusalBackoff.Reset()
}

// Slow shows that an answer is overdue, and what the client may hold meanwhile.
func (o *sessionObserver) Slow(sent *devices.Snapshot, since time.Time) {
	was := o.stateOf(o.p)
	for _, id := range session.MutedIn(o.accepted, sent) {
		if !slices.Contains(o.muted, id) {
			o.muted = append(o.muted, id)
		}
	}
	o.applySessionOutcome(o.p, onOverdue, func(s *Session) {
		s.Address, s.Since, s.Pending, s.NextTry = o.to, since, sent.Generation, time.Time{}
		s.Muted, s.Missing = slices.Clone(o.muted), nil
		s.Reason = &health.Condition{
			Code: health.ClientUnanswering, Severity: health.Problem, Args: health.Args{"since": since.Format(time.TimeOnly)},
		}
		s.Error = health.English.Phrase(*s.Reason)
	})
	if was != Slow {
		o.opts().Log.Warn("the client is slow", "client", o.to, "generation", sent.Generation)
	}
}

// overHTTP returns the condition that updates are slow over HTTP. why says what refused the better ways; "": not known.
func (o *sessionObserver) overHTTP(why string) *health.Condition {
	args := health.Args{"every": o.opts().TokenEvery.String()}
	if why != "" {
		args["reason"] = why
	}
	return &health.Condition{Code: health.ClientOverHTTP, Severity: health.Warning, Args: args}
}

func (o *sessionObserver) UpToDate(generation uint64) {
	o.updateSession(o.p, func(s *Session) { s.Generation, s.NextTry = generation, time.Time{} })
}

func (o *sessionObserver) Waits(until time.Time) {
	o.opts().OnEvent(TokenAwaited, o.to.Transport)
	o.updateSession(o.p, func(s *Session) { s.NextTry = until })
}

func (o *sessionObserver) Refused(err error, again time.Time, newest devices.Snapshot, held *devices.Snapshot) {
	o.applySessionOutcome(o.p, onListRefused, func(s *Session) {
		s.NextTry, s.Error, s.Reason = again, err.Error(), reasonOf(err)
		s.Muted, s.Missing = session.MutedIn(held), session.MissingIn(held, newest)
		s.Since, s.Pending = time.Time{}, 0
	})
	if o.refusedUntil.Equal(again) { // another list than the newest, or the answer to it
		return
	}
	o.refusedUntil = again
	o.opts().OnEvent(ListRefused, o.to.Transport)
	wait := time.Until(again).Round(time.Millisecond)
	o.opts().Log.Warn("list refused", "client", o.to, "reason", err, remedy(err), "again in", wait)
}

// Unsupported keeps the link, which costs nothing: if it ends, the client may have restarted, and if
// the answer comes after all, the client was merely busy. If only one client is to be talked to, the session of one that says that it
// does not know the command ends to make room for another; that of one that says nothing, only when there is another.
func (o *sessionObserver) Unsupported(err error) (end error) {
	var again bool
	o.locked(func() {
		again, o.p.askOnceMore = o.p.askOnceMore, false
		o.p.commandUnknown = !errors.Is(err, session.ErrUnsupported)
		o.p.silent = !o.p.commandUnknown
	})
	if again {
		return errReconnect
	}
	o.applySessionOutcome(o.p, onUnanswered, func(s *Session) { *s = Session{Address: o.to, Error: err.Error(), Reason: reasonOf(err)} })
	o.logOnce(o.p, "client does not know certified devices", "client", o.to, "reason", err, remedy(err))
	if o.opts().Clients == FirstClient && !o.p.silent {
		return err
	}
	o.attemptChanged.Notify() // there may be a better transport, or another client
	return nil
}

// refusals returns why the client refuses transports until it restarts; "": it refuses none. mu is held.
func (c *Client) refusals(p *peer) string {
	var why []string
	for _, tr := range c.opts().Transports {
		if err := p.refused[tr]; err != nil {
			why = append(why, err.Error())
		}
	}
	return strings.Join(why, "; ")
}
