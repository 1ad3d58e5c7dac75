package tray

import "time"

// downRetry is how often an agent is looked for that does not run: nothing tells of a new pipe. To find none takes less than 1 ms.
const downRetry = 3 * time.Second

// socketWatch hears of nothing.
type socketWatch struct{}

func watchSocket(string, func()) (socketWatch, error) { return socketWatch{}, nil }

func (socketWatch) Arm() (bool, []error) { return true, nil }

func (socketWatch) Close() error { return nil }
