package ipc

import (
	"fmt"
	"os"

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
