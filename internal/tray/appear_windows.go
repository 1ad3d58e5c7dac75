package tray

import (
	"time"

	"sidetone/internal/platform/ipc"
)

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
