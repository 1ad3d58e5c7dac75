// Package session keeps one client up to date over one link: one list is in flight, only the newest one waits, and each goes when the
// client has a token for it. The numbered rules in comments are those of docs/protocol.md.
package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/signal"
)

// Options are how a Session is held.
type Options struct {
	Link        link.Link
	Over        policy.Transport
	Outbox      *Outbox
	Limits      func() Limits
	Bucket      *TokenBucket   // the client's tokens, if each list costs one; otherwise nil (rule R67)
	Jitter      func() float64 // of the waits after refused lists
	Observer    Observer
	EndWhenIdle context.Context   // at its end the session ends as soon as nothing is in flight
	HasAnswered bool              // the client has answered the command before
	MayHold     *devices.Snapshot // the last list that the client was sent and has not refused; nil: none
}

// Limits are how long answers may take (rule R48).
type Limits struct {
	Overdue time.Duration // after which a client that has answered before is slow
	Silent  time.Duration // after which a client that has never answered does not know the command
	Hung    time.Duration // after which a client that has answered before is connected to anew
}

// Observer is told what happens in a session.
type Observer interface {
	Slow(sent *devices.Snapshot, since time.Time) // the answer to sent is overdue
	Delivered(Delivery)
	UpToDate(generation uint64) // the client already holds a list equal to that of this generation
	// Refused: the client refuses the list newest. It is sent again, and until then the client may hold held.
	Refused(err error, again time.Time, newest devices.Snapshot, held *devices.Snapshot)
	Waits(until time.Time)             // a list has to wait for the client's rate limit
	Unsupported(err error) (end error) // the client does not know the command; nil: go on waiting for an answer
}

// Delivery is one list that the client has accepted.
type Delivery struct {
	Snapshot  devices.Snapshot
	Changes   []devices.Change // against what this client had before; all of it on the first list
	First     bool             // the first list of a session
	RoundTrip time.Duration    // from writing the list to its answer
	SinceOS   time.Duration    // from the OS event to the answer
}

var (
	// ErrUnsupported means that the client sends READY and never answers the command.
	ErrUnsupported = errors.New("this client does not know certified devices")
	// ErrReconnect is why a session ends as soon as nothing is in flight.
	ErrReconnect = errors.New("there is a better way now, or it may no longer be talked to")
)

// Session keeps one client up to date over one link. At most one list is in flight, only the newest one
// waits, and an older list never follows a newer one (rule R71).
type Session struct {
	Options // HasAnswered and MayHold change while it runs

	pacer *TokenBucket
	retry *link.Backoff // after refused lists

	accepted        devices.Snapshot // the last list that the client has accepted
	acceptedIsKnown bool             // false: what the client holds is unknown, so the next list is sent in any case (rule R52)
	first           bool             // no list was accepted yet

	repeating bool // the list is sent once more because of another application

	unansweredSince time.Time // since when no list of this session was answered although one is overdue; zero: none is

	offer      offer
	holds      *devices.Snapshot // what the client has accepted last in this session; nil: unknown, as it may be of another session or agent
	rejected   []devices.Device  // the last list that was refused while it was the newest
	refusedGen uint64            // its generation
	refusal    error             // why
	again      time.Time         // when the newest list is offered again
}

const (
	refusedFirst = time.Second     // first wait after a refused list (rule R44)
	refusedMax   = 5 * time.Minute // the longest one
)

// New returns a session that has not begun.
func New(o Options) *Session {
	return &Session{
		Options: o, pacer: newPacer(), retry: link.NewBackoff(refusedFirst, refusedMax, o.Jitter), first: true, offer: offerNewest,
	}
}

// HasDelivered reports whether the client has accepted a list of this session.
func (s *Session) HasDelivered() bool { return !s.first }

// IsSilent reports whether the client has never answered the command, and an answer is overdue: as far as is known, it does not know the
// command.
func (s *Session) IsSilent() bool { return !s.HasAnswered && !s.unansweredSince.IsZero() }

// Run returns when the link is lost, ctx ends, or EndWhenIdle does. A refused list does not end it: the list
// is sent again after a growing wait, and at once when it changes (rule R44).
func (s *Session) Run(ctx context.Context) error {
	for {
		if s.EndWhenIdle.Err() != nil {
			return ErrReconnect
		}
		snap, ok, resend, repeat := s.Outbox.Take()
		s.acceptedIsKnown = s.acceptedIsKnown && !resend
		s.repeating = s.repeating || repeat
		if snap.Generation != s.refusedGen || resend {
			s.offer = offerNewest
		}
		if !ok || s.offer == offerNewest && s.upToDate(snap) {
			if err := s.sleep(ctx, 0, s.Outbox.news); err != nil {
				return err
			}
			continue
		}
		changed := s.Bucket.Changed()
		if wait := s.delay(time.Now()); wait > 0 {
			if err := s.sleep(ctx, wait, changed); err != nil {
				return err
			}
			continue // with what is the newest by then
		}
		if err := s.send(ctx, snap); err != nil {
			return err
		}
	}
}

// delay returns how long the next list has to wait. It waits here, where a newer one can replace it,
// rather than in the client's queue.
func (s *Session) delay(now time.Time) time.Duration {
	wait := s.pacer.Delay(now)
	if token := s.Bucket.Delay(now); token > 0 {
		s.Observer.Waits(now.Add(token))
		wait = max(wait, token)
	}
	return wait
}

// upToDate reports whether the client already holds the list of snap, perhaps from an earlier snapshot.
func (s *Session) upToDate(snap devices.Snapshot) bool {
	if !s.acceptedIsKnown || !devices.SameWire(s.accepted.Wire(), snap.Wire()) {
		return false
	}
	s.accepted = snap
	s.Observer.UpToDate(snap.Generation)
	return true
}

// sleep waits for the given time (0: no limit) or for news (nil: none). It ends with an error when the
// session does.
func (s *Session) sleep(ctx context.Context, d time.Duration, news <-chan struct{}) error {
	var timeout <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Link.Lost():
		return s.Link.Cause()
	case <-s.EndWhenIdle.Done():
		return ErrReconnect
	case <-news:
	case <-timeout:
	}
	return nil
}

// send delivers what the client is offered while newest is the newest list. It returns an error only when the session is over.
func (s *Session) send(ctx context.Context, newest devices.Snapshot) error {
	snap := s.listFor(newest)
	nonce, payload := link.Encode(snap.Wire())
	start, before := time.Now(), s.MayHold
	s.MayHold = &snap
	s.pacer.Spend(start)
	spent := s.Bucket.Spend(start)
	err := s.deliver(ctx, nonce, payload, &snap)
	spent(time.Now())
	if silent := s.asUnsupported(err); silent != nil && ctx.Err() == nil {
		s.markUnanswered(start)
		if end := s.Observer.Unsupported(silent); end != nil {
			return end
		}
		err = s.awaitLateAnswer(ctx, silent)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refusal *link.Refusal
	switch {
	case errors.Is(err, errNewer):
		s.acceptedIsKnown, s.holds = false, nil
		return nil
	case err == nil && s.offer != offerNewest:
		s.HasAnswered, s.unansweredSince = true, time.Time{}
		s.accepted, s.acceptedIsKnown, s.holds = snap, false, &snap // the newest one goes out even if it then says the same
		s.Observer.Refused(s.refusal, s.again, newest, s.holds)
		return s.decided(ctx, onTaken)
	case err == nil:
		s.HasAnswered, s.unansweredSince = true, time.Time{}
		now := time.Now()
		s.Observer.Delivered(Delivery{
			Snapshot: snap, Changes: devices.Diff(s.accepted, snap), First: s.first,
			RoundTrip: now.Sub(start), SinceOS: now.Sub(snap.At),
		})
		s.holds = &snap
		s.accepted, s.acceptedIsKnown, s.first = snap, !s.overtaken(now.Sub(start)), false
		s.repeating = false
		s.retry.Reset()
		return nil
	case errors.As(err, &refusal) && refusal.Phase == link.PhaseCommand && refusal.Code != link.CodeNotAuthorized:
		s.MayHold = before
		s.refused(snap, newest, err)
		return s.decided(ctx, s.verdictOn(newest))
	case errors.Is(err, link.ErrBroken):
		s.acceptedIsKnown, s.holds = false, nil
		return nil // it goes out again, when there is a token for it
	default:
		return err
	}
}

// refused notes that the client refuses snap, with err, while newest is the newest list.
func (s *Session) refused(snap, newest devices.Snapshot, err error) {
	s.HasAnswered, s.acceptedIsKnown, s.unansweredSince = true, false, time.Time{}
	if s.offer == offerNewest {
		if list := snap.Wire(); !devices.SameWire(list, s.rejected) {
			s.rejected = list
			s.retry.Reset() // another list may fare better
		}
		s.refusal, s.refusedGen, s.again = err, snap.Generation, time.Now().Add(s.retry.Wait())
	}
	s.Observer.Refused(s.refusal, s.again, newest, s.former())
}

// decided applies the client's answer to an offer, and waits until the next one is due.
func (s *Session) decided(ctx context.Context, on verdict) error {
	next := offers.After(s.offer, on)
	s.offer = next.To
	if next.Then != growing {
		return nil
	}
	wait := time.Until(s.again)
	if wait <= 0 { // the offer has taken that long
		return nil
	}
	return s.sleep(ctx, wait, s.Outbox.news)
}

// PromptAnswer is the time within which a healthy client answers.
const PromptAnswer = 100 * time.Millisecond

// overtaken reports whether the client may have taken a repeated list before the list of the other application that caused
// the repetition. A client that was frozen reads its connections in any order, and may drop devices that both lists have
// with the later one (rule R90). So the list is sent once more.
func (s *Session) overtaken(roundTrip time.Duration) bool {
	return s.repeating && s.Bucket == nil && roundTrip > PromptAnswer
}

// errNewer means that the answer to a list is not waited for any longer, because there is a newer one, or it is time to send it again.
var errNewer = errors.New("there is a newer list")

// repeatUnanswered is the interval at which a list goes out again to a client that has not answered, where that costs nothing.
// One that has answered before is frozen or has lost one answer.
const (
	repeatUnanswered = 5 * time.Minute
	repeatSlow       = 30 * time.Second
)

// newer returns the channel that announces a newer list, if that is not to wait for the answer to an overdue one; otherwise nil.
// That a client has not answered any list of this session may have many reasons: one answer was lost, it is busy, it does not know the
// command. Over IPC and WebSocket one more list costs nothing (rule R68), and an answer to it ends all doubt (rule R48). A client
// that has answered in this session, and does so no more, is probably frozen: it gets the newest list when it goes on, and one every
// repeatSlow in case it is not.
func (s *Session) newer() <-chan struct{} {
	if s.Over == policy.HTTP || !s.first {
		return nil
	}
	return s.Outbox.news
}

func (s *Session) markUnanswered(since time.Time) {
	if s.unansweredSince.IsZero() {
		s.unansweredSince = since
	}
}

// orNewer calls wait with a context that ends when there is a newer list, too, or when it is time to send it again. Then it returns
// errNewer.
func (s *Session) orNewer(ctx context.Context, wait func(context.Context) error) error {
	news := s.newer()
	if news == nil {
		return wait(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		again := time.NewTimer(repeatUnanswered)
		defer again.Stop()
		select {
		case <-again.C:
			cancel(errNewer)
		case <-news:
			s.Outbox.news.Notify() // for the loop, which takes the list
			cancel(errNewer)
		case <-ctx.Done():
		}
	}()
	err := wait(ctx)
	cancel(nil)
	<-watched
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errNewer) {
		return errNewer
	}
	return err
}

// deliver sends a list and waits for its answer. A client that has answered before may be frozen
// for a while, or stopped in a debugger: its link is kept (rule R48).
func (s *Session) deliver(ctx context.Context, nonce string, payload []byte, snap *devices.Snapshot) error {
	within := s.Limits()
	if !s.HasAnswered {
		ctx, cancel := context.WithTimeout(ctx, within.Silent)
		defer cancel()
		if s.unansweredSince.IsZero() {
			return s.Link.Deliver(ctx, nonce, payload)
		}
		return s.orNewer(ctx, func(ctx context.Context) error { return s.Link.Deliver(ctx, nonce, payload) })
	}
	since, patience, leave := time.Now(), within.Overdue, s.EndWhenIdle.Done()
	if !s.unansweredSince.IsZero() {
		since, patience = s.unansweredSince, 0
	}
	if s.Over == policy.HTTP {
		leave = nil // the client may still take what is in its line
	}
	ctx, cancel := context.WithDeadline(ctx, since.Add(within.Hung))
	defer cancel()
	var end error
	done := make(chan struct{})
	overdue := time.AfterFunc(patience, func() { // beside this goroutine, which writes at once: a mute waits for it
		defer close(done)
		s.markUnanswered(since)
		s.Observer.Slow(snap, since)
		var again <-chan time.Time
		if s.Over != policy.HTTP {
			again = time.After(repeatSlow)
		}
		select {
		case <-again:
			end = errNewer
			cancel()
		case <-leave:
			end = ErrReconnect
			cancel()
		case <-s.newer():
			s.Outbox.news.Notify() // for the loop, which takes the list
			end = errNewer
			cancel()
		case <-ctx.Done():
		}
	})
	err := s.Link.Deliver(ctx, nonce, payload)
	if !overdue.Stop() {
		cancel()
		<-done
	}
	if end != nil && errors.Is(err, context.Canceled) { // else it has just answered, or the link is lost
		return end
	}
	return err
}

// awaitLateAnswer waits for the answer of a client that seems not to know the command, in case one comes after all, or for a newer list.
// Whatever else ends the wait, what counts is that it never answered: the error is silent then.
func (s *Session) awaitLateAnswer(ctx context.Context, silent error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.EndWhenIdle, func() { cancel(ErrReconnect) })()
	err := s.orNewer(ctx, s.Link.Await)
	if errors.Is(context.Cause(ctx), ErrReconnect) {
		return ErrReconnect
	}
	if told := err == nil || errors.As(err, new(*link.Refusal)) || errors.Is(err, errNewer); !told {
		return silent
	}
	return err
}

// asUnsupported returns an error if err shows that the client does not know the command: it says so, or it
// has never answered it (rules R13, R48). Asking again would not help.
func (s *Session) asUnsupported(err error) error {
	switch {
	case errors.Is(err, &link.Refusal{Phase: link.PhaseCommand, Code: link.CodeUnknownCommand}):
		return err
	case errors.Is(err, link.ErrNoAnswer) && !s.HasAnswered:
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	default:
		return nil
	}
}

// Farewell leaves what the policy says, or an empty list if the client refuses that. It does not wait for a list in flight, because the
// link keeps the order. If a list costs a token and there is none in time, nothing is sent: the client would only queue it.
func (s *Session) Farewell(ctx context.Context, leave policy.Exit) error {
	list := []devices.Device{}
	switch leave {
	case policy.ExitLeave:
		return nil
	case policy.ExitUnmute:
		if last := s.lastList(); last != nil { // else what it holds may be the list of an agent that was killed, with a mute
			list = last.Wire()
			for i := range list {
				list[i].HardwareMute = nil
			}
		}
	}
	if s.Bucket != nil {
		wait := s.Bucket.LinkDelay(time.Now())
		if end, ok := ctx.Deadline(); ok && time.Now().Add(wait).After(end) {
			return errNoToken
		}
		_ = signal.Sleep(ctx, wait)
	}
	nonce, payload := link.Encode(list)
	spent := s.Bucket.Spend(time.Now())
	err := s.Link.Deliver(ctx, nonce, payload)
	spent(time.Now())
	if len(list) > 0 && errors.As(err, new(*link.Refusal)) { // it holds what it had accepted before, perhaps with a mute
		return s.Farewell(ctx, policy.ExitClear)
	}
	return err
}

// lastList returns the newest list, or if the client has refused that, the last one that it may hold; nil: there is none.
func (s *Session) lastList() *devices.Snapshot {
	if s.Outbox == nil {
		return s.MayHold
	}
	newest, ok, _, _ := s.Outbox.Take()
	if !ok || s.MayHold != nil && newest.Generation == s.refusedGen {
		return s.MayHold
	}
	return &newest
}

var errNoToken = errors.New("over HTTP the client takes no further update so soon")
