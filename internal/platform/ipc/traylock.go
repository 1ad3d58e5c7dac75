package ipc

import (
	"errors"
	"fmt"
	"io"
)

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
