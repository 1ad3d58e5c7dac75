package ipc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"
)

// ErrRunning means that another agent of this user runs already.
type ErrRunning struct {
	Lock     string // the lock file that it holds
	PID      int    // 0: unknown
	ClientID string // for which it speaks; "": it has the same address
}

// Error says which agent runs, and what to do.
func (e *ErrRunning) Error() string {
	who := "another agent"
	if e.PID != 0 {
		who = fmt.Sprintf("another agent (process %d)", e.PID)
	}
	what := "runs already"
	if e.ClientID != "" {
		what = "runs already for client_id " + e.ClientID
	}
	return fmt.Sprintf("%s of this user %s and holds %s: stop it first", who, what, e.Lock)
}

// lockAgent takes the lock that proves that no other agent of this user runs. The operating
// system takes it back when the process ends, however it ends; the file stays. flag is added
// to those with which the file is opened.
func lockAgent(path string, flag int) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|flag), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock file %s: %w", path, lockError(err))
	case !held:
		return nil, &ErrRunning{Lock: path, PID: lockHolder(path)}
	}
	return lock, nil
}

const (
	lockSuffix   = ".lock"
	clientsLocks = "clients" // the folder of the locks, among those of the vendors
)

// A ClientLock is the right to speak for one client id. Whoever has it is the only agent of this user that sends lists
// for it, wherever its local API is: a client keeps one list for each id, so two agents would
// take turns to overwrite each other's.
//
// Ids of devices are one map in the client, over all vendors: an agent whose list leaves out a
// device takes away what another has sent for the same id. So the agents tell each other by these
// files when that may have happened.
type ClientLock struct {
	lock *flock.Flock
	path string
}

// LockClient takes the lock in the folder of all agents (see paths.AgentsFolder), which is made if it is missing.
// *ErrRunning means that another agent has it. The operating system takes it back when the process
// ends; the file stays.
func LockClient(folder, clientID string) (*ClientLock, error) {
	name, err := lockName(clientID)
	if err != nil {
		return nil, err
	}
	clients := filepath.Join(folder, clientsLocks)
	for _, f := range []string{folder, clients} {
		if err := privateFolder(f); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(clients, name)
	lock, err := lockAgent(path, lockFlags)
	if running, ok := errors.AsType[*ErrRunning](err); ok {
		running.ClientID = clientID
	}
	if err != nil {
		return nil, err
	}
	writePID(lock)
	return &ClientLock{lock, path}, nil
}

// Announce tells the other agents that devices which they report, too, may have left the client
// with a list of this one.
func (l *ClientLock) Announce() {
	now := time.Now()
	_ = os.Chtimes(l.path, now, now) // without it they send again when they have news
}

// Close announces the end and gives the lock back.
func (l *ClientLock) Close() error {
	l.Announce()
	return l.lock.Unlock()
}

// Release gives the lock back, for another agent that goes on in place of this one: no list has changed.
func (l *ClientLock) Release() error { return l.lock.Unlock() }

// Watch calls notify when it has begun to watch, and then whenever another agent announces
// something, until ctx ends; then it returns nil. notify must not block. An error says what cannot
// be watched. Whoever tidies up removes a lock file that is held as any other: the log has it.
func (l *ClientLock) Watch(ctx context.Context, log *slog.Logger, notify func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(filepath.Dir(l.path))
	}
	if err != nil {
		if limit := watchLimit(err); limit != nil {
			err = limit
		}
		return fmt.Errorf("watch for other agents: %w", err)
	}
	notify()
	for {
		select {
		case event := <-watcher.Events:
			if event.Name == l.path && (event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename)) {
				log.Warn("the lock file was removed: "+
					"another agent for the same client_id would not be noticed, and the two would overwrite each other's list",
					"file", l.path, "remedy", "restart the agent")
			}
			if event.Has(announced) && event.Name != l.path && strings.HasSuffix(event.Name, lockSuffix) {
				notify()
			}
		case err := <-watcher.Errors:
			log.Debug("other agents: events may have been lost", "err", err)
			notify()
		case <-ctx.Done():
			return nil
		}
	}
}

// LockTray takes the lock that keeps a desktop's session from two icons of one agent: that at address, whose folder is made if it is
// missing. session names the session where the address does not. The operating system takes the lock back when the process ends; the
// file stays.
func LockTray(address, session string) (io.Closer, error) {
	path, err := trayLockFile(address, session)
	if err != nil {
		return nil, err
	}
	lock, err := lockAgent(path, lockFlags)
	if running, ok := errors.AsType[*ErrRunning](err); ok {
		holder := path
		if running.PID != 0 {
			holder = fmt.Sprintf("process %d, which holds %s", running.PID, path)
		}
		return nil, fmt.Errorf("this session has a tray icon of this agent already (%s)", holder)
	}
	if err != nil {
		return nil, err
	}
	writePID(lock)
	return lock, nil
}
