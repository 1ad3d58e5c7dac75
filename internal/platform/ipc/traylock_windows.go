package ipc

import "path/filepath"

// trayLockFile is the lock file beside that of the agent, in whose name the session is.
func trayLockFile(address, _ string) (string, error) {
	agent, err := controlLockFile(address)
	return filepath.Join(filepath.Dir(agent), "tray-"+filepath.Base(agent)), err
}
