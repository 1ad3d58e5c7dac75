//go:build linux || darwin

package ipc

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
)

// LockTray takes the lock that keeps a desktop's session from two icons of one agent: that at address, whose folder is made if it is
// missing. session names the session. The operating system takes the lock back when the process ends; the file stays.
func LockTray(address, session string) (io.Closer, error) {
	if !filepath.IsAbs(address) {
		return nil, fmt.Errorf("control socket %s: not an absolute path", address)
	}
	vendor := filepath.Dir(address)
	if parent := filepath.Dir(vendor); filepath.Base(parent) == "sidetone" {
		if err := privateFolder(parent); err != nil {
			return nil, err
		}
	}
	if err := privateFolder(vendor); err != nil {
		return nil, err
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(session))
	path := filepath.Join(vendor, fmt.Sprintf("tray-%08x.lock", name.Sum32()))
	lock, err := lockAgent(path, lockFlags)
	if running, ok := errors.AsType[*ErrRunning](err); ok {
		return nil, fmt.Errorf("this session has a tray icon of this agent already (process %d, which holds %s)", running.PID, path)
	}
	if err != nil {
		return nil, err
	}
	writePID(lock)
	return lock, nil
}
