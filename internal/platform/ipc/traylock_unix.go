//go:build linux || darwin

package ipc

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
)

// trayLockFile is the lock file in the folder of the agent's socket, which is made if it is missing.
func trayLockFile(address, session string) (string, error) {
	if !filepath.IsAbs(address) {
		return "", fmt.Errorf("control socket %s: not an absolute path", address)
	}
	vendor := filepath.Dir(address)
	if parent := filepath.Dir(vendor); filepath.Base(parent) == "sidetone" {
		if err := privateFolder(parent); err != nil {
			return "", err
		}
	}
	if err := privateFolder(vendor); err != nil {
		return "", err
	}
	name := fnv.New32a()
	_, _ = name.Write([]byte(session))
	return filepath.Join(vendor, fmt.Sprintf("tray-%08x.lock", name.Sum32())), nil
}
