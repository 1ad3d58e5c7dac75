package app

import (
	"errors"
	"net"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
)

// takeLocks takes all that only one agent can have. *ipc.ErrRunning means that another one has something of it.
func (a *App) takeLocks() (err error) {
	if a.lock, err = a.lockClient(); err != nil {
		return err
	}
	if a.listener, err = a.listenControl(); err != nil && a.lock != nil {
		_ = a.lock.Release()
		a.lock = nil
	}
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
	a.listener, a.lock = nil, nil
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
