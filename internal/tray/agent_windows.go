package tray

import (
	"syscall"
	"time"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/ipc"
)

// detached is a process that does not end with the tray's console. It has one of its own that nobody sees, for console programs that it
// starts: those that inherit none open one each.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
}

// downRetry is how often an agent is looked for that does not run, should its word that it has appeared not have been heard.
const downRetry = 5 * time.Minute

// socketWatch hears of an agent that appears.
type socketWatch struct{ stop func() }

// watchSocket succeeds also where nothing can be heard: then there is downRetry.
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
