package app

import (
	"context"
	"errors"
	"net"
	"time"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
)

// takeLocks takes all that only one agent can have, or nothing. *ipc.ErrRunning means that another one has something of it.
func (a *App) takeLocks() error {
	err := a.tryLocks()
	if err != nil {
		a.releaseLocks()
	}
	return err
}

// awaitLocks is takeLocks where another agent may still let go within that time.
func (a *App) awaitLocks(ctx context.Context, within time.Duration) error {
	over := time.NewTimer(within)
	defer over.Stop()
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()
	for {
		err := a.tryLocks()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-over.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		a.releaseLocks()
		return err
	}
}

// tryLocks takes what this agent does not have yet of all that only one can have. Its one error is *ipc.ErrRunning: another one has
// something of it. What this one has got it keeps then, until releaseLocks, and the next try writes nothing. Every agent takes the lock for
// its client id first, and the local API only with that in its hands: so no two wait for each other.
func (a *App) tryLocks() (err error) {
	if !a.locked {
		if a.lock, err = a.lockClient(); err != nil {
			return err
		}
		a.locked = true
	}
	a.listener, err = a.listenControl()
	return err
}

// lockClient sees to it that no other agent speaks for the same client id. Whatever else is in the way
// of that does not keep this one from reporting.
func (a *App) lockClient() (*ipc.ClientLock, error) {
	folder, err := paths.AgentsFolder(a.opts.Host.Getenv)
	if err == nil {
		var lock *ipc.ClientLock
		if lock, err = ipc.LockClient(folder, a.opts.Settings.Identity.ClientID); err == nil {
			return lock, nil
		}
	}
	if errors.As(err, new(*ipc.ErrRunning)) {
		return nil, err
	}
	a.log.Warn("another agent for the same client_id would not be noticed, and the two would overwrite each other's list", "reason", err)
	return nil, nil
}

// listenControl opens the local API. That another agent runs is an error; whatever else is in
// its way is not: reporting goes on without it.
func (a *App) listenControl() (net.Listener, error) {
	address, err := a.opts.Settings.controlAddress(a.opts.Host)
	if err == nil {
		var l net.Listener
		if l, err = ipc.ListenControl(address); err == nil {
			return l, nil
		}
	}
	if errors.As(err, new(*ipc.ErrRunning)) {
		return nil, err
	}
	a.log.Warn("no local API: 'sidetone status' and pushed states do not work", "reason", err)
	return nil, nil
}

// releaseLocks leaves them to another agent.
func (a *App) releaseLocks() {
	if a.listener != nil {
		_ = ipc.Release(a.listener)
	}
	if a.lock != nil {
		_ = a.lock.Release()
	}
	a.listener, a.lock, a.locked = nil, nil, false
}

// closeLocks is for after the farewell: the lock tells other agents that clients have it.
func (a *App) closeLocks() {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	a.unguard()
	if a.lock != nil {
		_ = a.lock.Close()
	}
}
