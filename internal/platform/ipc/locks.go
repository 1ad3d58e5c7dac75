package ipc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/gofrs/flock"

	"sidetone/internal/signal"
)

// ErrRunning means that another agent of this user is running.
type ErrRunning struct {
	Lock     string // path of the lock file that it holds
	PID      int    // 0: unknown
	ClientID string // the client id that both are for; "": both have the same address
}

// Error names the agent and the remedy.
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

// lockAgent takes a lock file that proves that no other agent of this user runs. The operating system releases the lock when the process
// ends, in whatever way; the file stays.
func lockAgent(path string) (*flock.Flock, error) {
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|lockFlags), flock.SetPermissions(0o600))
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

// A ClientLock is the right to send lists for one client id. Only one agent of this user holds it, wherever its local API is: a client
// keeps one list for each id, so two agents would overwrite each other's.
//
// Device ids are one map in the client, over all vendors: an agent whose list no longer has a device takes away what another has sent for
// the same id. By the times of these files the agents tell each other when that may have happened.
type ClientLock struct {
	folder, clientID string

	mu   sync.Mutex
	lock *flock.Flock // guarded by mu
}

// LockClient takes the lock in the folder of all agents (see paths.AgentsFolder), which it makes if it is missing. *ErrRunning means that
// another agent holds it. The operating system releases the lock when the process ends; the file stays.
func LockClient(folder, clientID string) (*ClientLock, error) {
	l := &ClientLock{folder: folder, clientID: clientID}
	if err := l.take(); err != nil {
		return nil, err
	}
	return l, nil
}

// take takes the lock file that is there, in place of the one that it had.
func (l *ClientLock) take() error {
	name, err := lockName(l.clientID)
	if err != nil {
		return err
	}
	clients := filepath.Join(l.folder, clientsLocks)
	for _, f := range []string{l.folder, clients} {
		if err := privateFolder(f); err != nil {
			return err
		}
	}
	lock, err := lockAgent(filepath.Join(clients, name))
	if running, ok := errors.AsType[*ErrRunning](err); ok {
		running.ClientID = l.clientID
	}
	if err != nil {
		return err
	}
	writePID(lock)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock != nil {
		_ = l.lock.Unlock()
	}
	l.lock = lock
	return nil
}

// held returns the lock that it has now.
func (l *ClientLock) held() *flock.Flock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lock
}

const (
	restoreTries    = 10
	restoreInterval = 100 * time.Millisecond
)

// restore takes the lock again if its file is not the one that is there, and watches its folder, which may be another one, too. Whoever
// removes the folder may not be done yet.
func (l *ClientLock) restore(ctx context.Context, watcher *fsnotify.Watcher) (again bool, err error) {
	own := l.held()
	for range restoreTries {
		there, missing := os.Lstat(own.Path())
		has, unknown := own.Stat()
		err = nil
		if again || missing != nil || unknown != nil || !os.SameFile(there, has) {
			again = true
			err = l.take()
		}
		if err == nil {
			return again, watcher.Add(filepath.Dir(own.Path()))
		}
		if errors.As(err, new(*ErrRunning)) || signal.Sleep(ctx, restoreInterval) != nil {
			break
		}
	}
	return again, err
}

// Announce tells the other agents that devices which they report, too, may have vanished from the client with a list of this one.
func (l *ClientLock) Announce() {
	now := time.Now()
	_ = os.Chtimes(l.held().Path(), now, now) // if it fails, they send again at their next change
}

// Close announces the end and releases the lock.
func (l *ClientLock) Close() error {
	l.Announce()
	return l.held().Unlock()
}

// Watch calls notify once it watches, and then whenever another agent announces something, until ctx ends; then it returns nil. notify
// must not block. A clean-up can remove this lock file although it is held. Then Watch takes the lock again, and calls restored: the socket
// may have gone with it. *ErrRunning means that another agent was faster. Any other error says what cannot be watched.
func (l *ClientLock) Watch(ctx context.Context, log *slog.Logger, notify, restored func()) error {
	own := l.held().Path()
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(filepath.Dir(own))
	}
	if err != nil {
		return fmt.Errorf("watch for other agents: %w", cmp.Or(watchLimit(err), err))
	}
	notify()
	for {
		select {
		case event := <-watcher.Events:
			if isReplaced(event, own) {
				again, err := l.restore(ctx, watcher)
				switch {
				case errors.As(err, new(*ErrRunning)):
					return err
				case err != nil && ctx.Err() == nil:
					log.Warn("the lock file was removed: "+
						"another agent for the same client_id would not be noticed, and the two would overwrite each other's list",
						"file", own, "reason", err, "remedy", "restart the agent")
				case again:
					log.Warn("the lock file was removed, and is made again", "file", own)
					restored()
					notify()
				}
			}
			if event.Has(announced) && event.Name != own && strings.HasSuffix(event.Name, lockSuffix) {
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

// isReplaced reports whether another file, or none, may be in the place of own after event.
func isReplaced(event fsnotify.Event, own string) bool {
	return (event.Name == own || event.Name == filepath.Dir(own)) && (event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) ||
		event.Has(fsnotify.Create))
}

// LockTray takes the lock that keeps a desktop session from having two icons of the agent at address. The folder is made if it is
// missing. session identifies the session if the address does not. The operating system releases the lock when the process ends; the file
// stays.
func LockTray(address, session string) (io.Closer, error) {
	path, err := trayLockFile(address, session)
	if err != nil {
		return nil, err
	}
	lock, err := lockAgent(path)
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
