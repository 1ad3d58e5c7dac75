package tray

import (
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/ipc"
)

// detached starts a process that does not end with the tray's console. It gets a hidden console of its own, for console programs that it
// starts: each that inherits none would open one.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// downRetry is how often an agent that does not run is looked for, in case its announcement was missed.
const downRetry = 5 * time.Minute

// socketWatch notices an agent that appears.
type socketWatch struct{ stop func() }

// watchSocket succeeds even if agents cannot be noticed: then downRetry finds them.
func watchSocket(address string, appeared func()) (socketWatch, error) {
	stop, err := ipc.WatchControl(address, appeared)
	if err != nil {
		stop = func() {}
	}
	return socketWatch{stop}, nil
}

func (socketWatch) Arm() (bool, []error) { return true, nil }

func (w socketWatch) Close() error {
	w.stop()
	return nil
}
