package app

import (
	"context"
	"log/slog"
	"time"

	"sidetone/internal/rpcclient"
)

// emptyTimeout is how long Empty may take.
const emptyTimeout = 5 * time.Second

// Empty leaves no list in any client, whatever an agent that does not run any more has left there. *ipc.ErrRunning means that one runs.
func Empty(ctx context.Context, set *Settings, host Host, log *slog.Logger) error {
	if err := set.needCatalogue(); err != nil {
		return err
	}
	lock, err := set.lockClient(host)
	if err != nil {
		return err
	}
	defer lock.Close()
	opts := set.rpc(host, log)
	opts.StopTimeout = emptyTimeout
	client := rpcclient.New(opts)
	client.LeaveWith(rpcclient.ExitClear)
	ended, end := context.WithCancel(ctx)
	end()
	client.Run(ended) // which is nothing but the end: it looks for clients once, and sends them the farewell
	return nil
}
