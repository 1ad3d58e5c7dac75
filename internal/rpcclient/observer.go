package rpcclient

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sidetone/internal/devices"
)

// sessionObserver keeps the status of one session.
type sessionObserver struct {
	*Client
	p        *peer
	to       Address
	start    time.Time
	paced    bool              // by the client's tokens
	accepted *devices.Snapshot // the list that it has accepted
	ignored  bool              // the client does not know the command: there is nothing to empty
}

func (h *sessionObserver) delivered(d Delivery) {
	h.ignored, h.accepted = false, &d.Snapshot
	if d.First {
		h.attemptChanged.Notify() // others may have to make way
	}
	on := onAccepted
	if h.paced {
		on = onAcceptedHTTP
	}
	h.applySessionOutcome(h.p, on, func(s *Session) {
		*s = Session{Address: h.to, Generation: d.Snapshot.Generation, Delivered: time.Now(), Devices: len(d.Snapshot.Devices)}
		h.showTokens(s)
	})
	clear(h.p.logged)
	h.mu.Lock()
	h.loggedReason, h.p.askOnceMore, h.p.commandUnknown = "", false, false
	h.supersede(h.p, &d.Snapshot)
	h.mu.Unlock()
	h.opts().OnDelivery(d)
	// Only a session that lasts proves that the client is well: one that ends after each list
	// must not be reopened at full speed.
	if time.Since(h.start) > h.opts().RetryMax {
		h.p.retryBackoff.reset()
	}
	h.p.refusalBackoff.reset()
}

// showTokens says what the client's tokens allow.
func (h *sessionObserver) showTokens(s *Session) {
	if !h.paced {
		return
	}
	s.Error, s.Remedy = h.refusalsLocked(h.p), h.httpRemedy()
	if wait := h.p.bucket.delay(time.Now()); wait > 0 {
		s.NextTry = time.Now().Add(wait)
	}
}

// slow says that an answer is overdue, and what the client may hold meanwhile.
func (h *sessionObserver) slow(sent *devices.Snapshot, since time.Time) {
	h.applySessionOutcome(h.p, onOverdue, func(s *Session) {
		s.Address, s.Since, s.Pending, s.NextTry = h.to, since, sent.Generation, time.Time{}
		s.Muted = mutedIn(sent, h.accepted)
		s.Error = "the client has not answered since " + since.Format(time.TimeOnly)
		s.Remedy = "wait: the newest list is sent as soon as it answers; if it stays so, restart the client"
	})
	h.opts().Log.Warn("the client is slow", "client", h.to, "generation", sent.Generation)
}

// mutedIn are the microphones that are muted in any of the lists.
func mutedIn(lists ...*devices.Snapshot) (ids []string) {
	for _, list := range lists {
		if list == nil {
			continue
		}
		for _, d := range list.Devices {
			if d.HardwareMute != nil && *d.HardwareMute && !slices.Contains(ids, d.ID) {
				ids = append(ids, d.ID)
			}
		}
	}
	return ids
}

// httpRemedy says what HTTP means, and what would be better.
func (h *sessionObserver) httpRemedy() string {
	return fmt.Sprintf("over HTTP this client takes one update in %s; it needs IPC, or an origin that is registered and authorized, to be told at once", h.opts().TokenEvery)
}

func (h *sessionObserver) holds(generation uint64) {
	h.updateSession(h.p, func(s *Session) { s.Generation, s.NextTry = generation, time.Time{} })
}

func (h *sessionObserver) waits(until time.Time) {
	h.updateSession(h.p, func(s *Session) { s.NextTry = until })
}

func (h *sessionObserver) refused(err error, again time.Time) {
	h.applySessionOutcome(h.p, onListRefused, func(s *Session) { s.NextTry, s.Error, s.Remedy = again, err.Error(), Remedy(err) })
	h.opts().Log.Warn("list refused", "client", h.to, "reason", err, "remedy", Remedy(err), "again in", time.Until(again).Round(time.Millisecond))
}

// unsupported keeps the link, which costs nothing: its end tells that the client has restarted,
// and an answer that comes after all that it was merely busy. Where only one client is to be
// talked to it goes, to make room for another.
func (h *sessionObserver) unsupported(err error) (end error) {
	h.mu.Lock()
	chance := h.p.askOnceMore
	h.p.askOnceMore = false
	h.p.commandUnknown = !errors.Is(err, ErrUnsupported)
	h.mu.Unlock()
	if chance {
		return errMoved
	}
	h.ignored = true
	h.applySessionOutcome(h.p, onUnanswered, func(s *Session) { *s = Session{Address: h.to, Error: err.Error(), Remedy: Remedy(err)} })
	h.logOnce(h.p, "client does not know certified devices", "client", h.to, "reason", err, "remedy", Remedy(err))
	if h.opts().Clients == FirstClient {
		return err
	}
	return nil
}

// refusals says which transports the client has refused for as long as it runs, and why.
func (c *Client) refusals(p *peer) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusalsLocked(p)
}

func (c *Client) refusalsLocked(p *peer) string {
	var why []string
	for _, tr := range c.opts().Transports {
		if err := p.refused[tr]; err != nil {
			why = append(why, err.Error())
		}
	}
	return strings.Join(why, "; ")
}
