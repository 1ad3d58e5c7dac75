package app

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
)

// lockInterval is the time between two tries to get a lock.
const lockInterval = 100 * time.Millisecond

// awaitLocks takes everything that only one agent can have, or nothing, and gives another agent some time to end. *ipc.ErrRunning means
// that it has not.
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
		a.closeLocks()
		return err
	}
}

// tryLocks takes those of the things that only one agent can have which this one does not have yet. Its only error is *ipc.ErrRunning:
// another one has some of it. Then this one keeps what it has got until closeLocks, and the next try writes nothing. Every agent takes
// the lock of its client id first, and the local API only when it has that: so no two wait for each other.
func (a *App) tryLocks() (err error) {
	host, set := a.opts.Host, a.opts.Settings
	if !a.locked {
		lock, err := set.lockClient(host)
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

// lockClient takes the lock of these settings' client id.
func (s *Settings) lockClient(host Host) (*ipc.ClientLock, error) {
	folder, err := paths.AgentsFolder(host.Getenv)
	if err != nil {
		return nil, err
	}
	return ipc.LockClient(folder, s.Identity.ClientID)
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

// listenAgain makes the socket of the local API again if that was removed, and serves there within wg until ctx ends.
func (a *App) listenAgain(ctx context.Context, wg *sync.WaitGroup) {
	address, err := a.opts.Settings.controlAddress(a.opts.Host)
	if err != nil || a.listener == nil {
		return
	}
	if _, err := os.Lstat(address); err == nil {
		return
	}
	_ = a.listener.Close()
	listener, err := ipc.ListenControl(address)
	if err != nil {
		a.log.Warn("no local API: 'sidetone status' and pushed states do not work", "reason", err)
		return
	}
	a.listener = listener
	wg.Go(func() { a.serve(ctx, listener) })
}

// closeLocks leaves the locks to another agent. The lock tells other vendors' agents that clients have been told of the end.
func (a *App) closeLocks() {
	if a.listener != nil {
		_ = a.listener.Close()
	}
	a.unguard()
	if a.lock != nil {
		_ = a.lock.Close()
	}
	a.listener, a.lock, a.locked = nil, nil, false
}
