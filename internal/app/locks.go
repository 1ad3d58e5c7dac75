package app

import (
	"context"
	"errors"
	"net"
	"time"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
	"sidetone/internal/signal"
)

// takeLocks takes everything that only one agent can have, or nothing. *ipc.ErrRunning means that another one has some of it.
func (a *App) takeLocks() error {
	err := a.tryLocks()
	if err != nil {
		a.releaseLocks()
	}
	return err
}

// giveWayTime is how long an agent that is to replace another one leaves free locks alone. They are free for a moment as well while a third
// agent takes over: that one retries every lockInterval and has the old agent's state, so it should get them.
const giveWayTime = 2 * lockInterval

// takeLocksGivingWay takes the locks. If they were free, it releases them for giveWayTime, and tries again.
func (a *App) takeLocksGivingWay() error {
	err := a.takeLocks()
	if err == nil && a.lock != nil { // else there is nothing for which agents could compete
		a.releaseLocks()
		_ = signal.Sleep(context.Background(), giveWayTime)
		err = a.takeLocks()
	}
	return err
}

// awaitLocks is takeLocks that gives another agent some time to let go.
func (a *App) awaitLocks(ctx context.Context, within time.Duration) error {
	over := time.After(within)
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
		case <-over:
		case <-ctx.Done():
			err = ctx.Err()
		}
		a.releaseLocks()
		return err
	}
}

// tryLocks takes those of the things that only one agent can have which this one does not have yet. Its only error is *ipc.ErrRunning:
// another one has some of it. Then this one keeps what it has got until releaseLocks, and the next try writes nothing. Every agent takes
// the lock of its client id first, and the local API only when it has that: so no two wait for each other.
func (a *App) tryLocks() (err error) {
	host, set := a.opts.Host, a.opts.Settings
	if !a.locked {
		folder, err := paths.AgentsFolder(host.Getenv)
		var lock *ipc.ClientLock
		if err == nil {
			lock, err = ipc.LockClient(folder, set.Identity.ClientID)
		}
		err = a.tolerate(err, "another agent for the same client_id would not be noticed, and the two would overwrite each other's list")
		if err != nil {
			return err
		}
		a.lock, a.locked = lock, true
	}
	address, err := set.controlAddress(host)
	var listener net.Listener
	if err == nil {
		listener, err = ipc.ListenControl(address)
	}
	err = a.tolerate(err, "no local API: 'sidetone status' and pushed states do not work")
	a.listener = listener
	return err
}

// tolerate returns err if it says that another agent runs. Anything else that is in the way of a lock is logged with what does not work
// without it, and does not keep this agent from reporting.
func (a *App) tolerate(err error, consequence string) error {
	if err == nil || errors.As(err, new(*ipc.ErrRunning)) {
		return err
	}
	a.log.Warn(consequence, "reason", err)
	return nil
}

// releaseLocks leaves the locks to another agent.
func (a *App) releaseLocks() {
	if a.listener != nil {
		_ = ipc.Release(a.listener)
	}
	if a.lock != nil {
		_ = a.lock.Release()
	}
	a.listener, a.lock, a.locked = nil, nil, false
}

// closeLocks closes the locks after clients have been told of the end, which the lock tells other agents.
func (a *App) closeLocks() {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	a.unguard()
	if a.lock != nil {
		_ = a.lock.Close()
	}
}
