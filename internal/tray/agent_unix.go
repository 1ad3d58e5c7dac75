//go:build linux || darwin

package tray

import (
	"syscall"

	"sidetone/internal/platform/files"
)

// detached starts a process in a session of its own.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// downRetry is 0: the folder of the agent's socket tells when it is there.
const downRetry = 0

func watchSocket(address string, changed func()) (*files.PathWatch, error) {
	return files.NewPathWatch([]string{address}, false, changed)
}
