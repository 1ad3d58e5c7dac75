package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/health"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/power"
	"sidetone/internal/rpcclient"
	"sidetone/internal/signal"
)

const (
	// roomTimeout is how long an agent that is ready has to wait until each client has a token for its connection: there is one in 30 s.
	roomTimeout = 90 * time.Second
	// confirmTimeout is how long the other agent may take to take over what this one has let go. It needs milliseconds.
	confirmTimeout = 10 * time.Second
	// reclaimTimeout is how long this agent tries to take back a lock that somebody else has.
	reclaimTimeout = 30 * time.Second
	// withdrawTimeout is the same if this agent has been told to stop: whoever told it does not wait for long.
	withdrawTimeout = 2 * time.Second
	// lockInterval is the time between two tries to get a lock.
	lockInterval = 100 * time.Millisecond
	// heldFor is the lease that pushes without one get: their software has to find the next agent in that time.
	heldFor = 5 * time.Second
)

// handover is the state of a handover from or to this agent.
type handover struct {
	requests  chan takeoverRequest // to Run, from HandOver
	failed    signal.Signal        // the connection of the agent that asked has ended
	confirmed chan struct{}        // closed when that agent has everything

	mu    sync.Mutex
	state handoverState
	from  takeoverRequest // the last one
	child *os.Process     // that Upgrade has started; nil: none
	own   bool            // the agent that takes over is child

	blocked     atomic.Bool // somebody else listens where other agents would ask this one
	sessionEnds atomic.Bool // Windows has said so
}

// takeoverRequest is the request of another agent to take over from this one.
type takeoverRequest struct {
	holder string // its connection
	pid    int
	answer chan handoverAnswer // has room for one
}

type handoverAnswer struct {
	control.Handover
	err error
}

func newHandover() *handover {
	return &handover{requests: make(chan takeoverRequest), failed: signal.New(), confirmed: make(chan struct{}), state: taking}
}

// apply changes the state after an outcome, and returns what else follows.
func (s *handover) apply(on outcome) consequence {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := transitions.After(s.state, on)
	s.state = t.To
	return t.Then
}

func conflict(format string, args ...any) error {
	return &control.Refusal{Kind: control.ErrConflict, Message: fmt.Sprintf(format, args...)}
}

// HandOver lets another agent take over, once that could connect to every client.
func (a *App) HandOver(ctx context.Context, r control.HandoverRequest, holder string) (control.Handover, error) {
	if own := a.current().Identity; r.Vendor != own.ID || r.ClientID != own.ClientID {
		return control.Handover{}, conflict(
			"this agent speaks for vendor %s with client_id %s, and the one that wants to go on for %s with %s: stop this one first",
			own.ID, own.ClientID, r.Vendor, r.ClientID)
	}
	if form := cmp.Or(r.Form, 1); form < control.HandoverForm {
		return control.Handover{}, conflict("the one that wants to go on reads what is handed over in form %d, and this one has form %d: "+
			"stop this one first", form, control.HandoverForm)
	}
	if a.handover.apply(onAsked) == thenRefuse {
		return control.Handover{}, conflict("another agent is about to go on in place of this one, or it ends: ask again")
	}
	a.log.Info("another agent is ready to go on", "version", r.Version, "process", r.PID)
	if err := a.awaitRoom(ctx); err != nil {
		a.handover.apply(onNoClients)
		a.log.Warn("the other agent does not go on", "reason", err)
		return control.Handover{}, err
	}
	from := takeoverRequest{holder, r.PID, make(chan handoverAnswer, 1)}
	select {
	case a.handover.requests <- from:
	case <-ctx.Done():
		a.handover.apply(onFailed)
		return control.Handover{}, ctx.Err()
	case <-a.farewell:
		return control.Handover{}, &control.Refusal{Kind: control.ErrStopping, Message: "this agent ends: start the other one again"}
	}
	answer := <-from.answer
	return answer.Handover, answer.err
}

// serveHandover answers agents that ask to take over, on systems where they do so at another address than that of the local API, until ctx
// ends.
func (a *App) serveHandover(ctx context.Context) {
	address, err := a.current().controlAddress(a.opts.Host)
	if err != nil {
		return // nor is there a local API
	}
	a.tryHandover(ctx, func() error {
		l, err := ipc.ListenHandover(address)
		if err != nil {
			return err
		}
		a.handover.blocked.Store(false)
		return control.NewServer(a, a.log).Serve(ctx, l)
	})
}

// tryHandover serves until ctx ends, and tries again, ever later, if that fails. The agent before this one may still hold the address at
// first; whatever holds it for longer is something else.
func (a *App) tryHandover(ctx context.Context, serve func() error) {
	for wait := lockInterval; ; wait = min(2*wait, reclaimTimeout) {
		err := serve()
		if err == nil || errors.Is(err, errors.ErrUnsupported) {
			return
		}
		if wait >= reclaimTimeout && !a.handover.blocked.Swap(true) {
			a.log.Warn(health.English.Phrase(updateBlocked), "reason", err)
		}
		if signal.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// updateBlocked is the condition of an agent from which no other one can take over.
var updateBlocked = health.Condition{Code: health.UpdateBlocked, Severity: health.Warning}

// awaitRoom waits until each client answers and has a token for another connection: while a client waits for its token it learns of no
// change.
func (a *App) awaitRoom(ctx context.Context) error {
	limit := time.After(roomTimeout)
	for {
		changed := a.report.Changed()
		wait, slow := a.report.HandoverDelay()
		if wait <= 0 && slow == nil {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(max(wait, lockInterval)):
		case <-ctx.Done():
			return ctx.Err()
		case <-limit:
			if slow == nil {
				return conflict("a client has no room for another connection for %s", wait.Round(time.Second))
			}
			return conflict("%s does not answer, and could take what two agents say in any order: try again later, or stop this one first",
				slow.Address)
		}
	}
}

// HandedOver ends this agent: the one that asked over that connection has everything.
func (a *App) HandedOver(holder string) error {
	a.handover.mu.Lock()
	from, child := a.handover.from, a.handover.child
	a.handover.own = child != nil && child.Pid == from.pid
	a.handover.mu.Unlock()
	if from.holder != holder || a.handover.apply(onConfirmed) == thenRefuse {
		return conflict("nothing is handed over, or it has been taken back: this agent goes on, or ends by itself")
	}
	if child != nil && a.opts.Succeeded != nil { // also if the child is not the agent but has started it
		a.opts.Succeeded(from.pid)
	}
	close(a.handover.confirmed)
	return nil
}

// HasLetGo reports whether another agent has taken over, or is about to: what this one would answer is no longer true.
func (a *App) HasLetGo() bool {
	switch a.handover.now() {
	case released, reclaiming, withdrawing, replaced:
		return true
	case asked:
		return a.report.Status().State == rpcclient.Stopped // its sessions have just ended
	default:
		return false
	}
}

// now returns the state.
func (s *handover) now() handoverState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Release ends the pushes of holder that have no lease, and a handover to it that is not complete.
func (a *App) Release(holder string) {
	a.engine.Release(holder)
	a.handover.mu.Lock()
	defer a.handover.mu.Unlock()
	if a.handover.from.holder == holder {
		a.handover.failed.Notify()
	}
}

// reportToClients keeps clients informed until ctx ends and they have been told so, or another agent has taken over.
func (a *App) reportToClients(ctx context.Context, serve func()) error {
	for {
		session, end := context.WithCancelCause(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			a.report.Run(session)
		}()
		select {
		case <-done:
			end(nil)
			a.handover.apply(onStop)
			return nil
		case from := <-a.handover.requests:
			end(rpcclient.ErrHandover)
			<-done
			if !errors.Is(context.Cause(session), rpcclient.ErrHandover) { // ctx had ended
				a.handover.apply(onStop)
				from.answer <- handoverAnswer{err: &control.Refusal{Kind: control.ErrStopping, Message: "this agent ends"}}
				return nil
			}
			a.handOverTo(from)
			if back, err := a.awaitSuccessor(ctx); !back {
				return err
			}
			serve()
		}
	}
}

// handOverTo gives up everything that only one agent can have, and answers with what only this one knows.
func (a *App) handOverTo(from takeoverRequest) {
	a.handover.failed.Clear()
	a.handover.mu.Lock()
	a.handover.from = from
	a.handover.mu.Unlock()
	a.handover.apply(onClients)
	inputs := a.engine.Handover(heldFor)
	answer := handoverAnswer{Handover: control.Handover{Form: control.HandoverForm, UptimeMS: power.Uptime().Milliseconds()}}
	if a.levelSet.Load() {
		answer.LogLevel = levelName(a.opts.LogLevel.Level())
	}
	var problems [2]error
	answer.Inputs, problems[0] = json.Marshal(inputs)
	answer.Clients, problems[1] = json.Marshal(a.report.KnownClients())
	answer.err = errors.Join(problems[:]...)
	a.unguard()
	a.releaseLocks()
	from.answer <- answer
}

// awaitSuccessor waits until the other agent has everything. If that fails, or this one is told to stop meanwhile, it takes everything
// back, and returns whether it could.
func (a *App) awaitSuccessor(ctx context.Context) (back bool, err error) {
	then, warning := nothing, "the other agent has failed: this one goes on"
	select {
	case <-a.handover.confirmed:
		return false, nil
	case <-ctx.Done():
		then, warning = a.handover.apply(onStop), "this agent is to end before the other one has everything: it tells clients itself"
	case <-a.handover.failed:
		then = a.handover.apply(onFailed)
	case <-time.After(confirmTimeout):
		then = a.handover.apply(onFailed)
	}
	if then != thenReclaim {
		<-a.handover.confirmed // it has just said that it has everything
		return false, nil
	}
	a.log.Warn(warning)
	a.handover.endChild()
	return a.reclaim(ctx)
}

// endChild kills the process that Upgrade has started, if that was to take over: it may hang, and have the locks.
func (s *handover) endChild() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil && s.child.Pid == s.from.pid {
		_ = s.child.Kill()
	}
}

// reclaim takes back what was handed over, and returns whether it could.
func (a *App) reclaim(ctx context.Context) (back bool, err error) {
	defer func() {
		if !back {
			a.releaseLocks()
		}
	}()
	never, stop := time.After(reclaimTimeout), ctx.Done()
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		if err = a.tryLocks(); err == nil {
			if a.handover.apply(onReclaimed) == nothing { // the other one has just said that it has everything
				return false, nil
			}
			a.guardCrashes()
			a.engine.CancelHandover()
			return true, nil
		}
		select {
		case <-tick.C:
		case <-a.handover.confirmed:
			return false, nil
		case <-stop:
			a.handover.apply(onStop)
			never, stop = time.After(withdrawTimeout), nil
		case <-never:
			if a.handover.apply(onNeverAgain) != thenFail {
				a.log.Warn("clients keep the last list, as another agent is about to go on", "reason", err)
				return false, nil
			}
			return false, fmt.Errorf("the agent that was to go on has failed, and this one cannot: %w", err)
		}
	}
}
