package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sidetone/internal/rpcclient"
)

// emptyTimeout is how long Empty may take.
const emptyTimeout = 5 * time.Second

// Empty leaves no list in any client, whatever an agent that does not run any more has left there. *ipc.ErrRunning means that one runs. Any
// other error means that a client may still have a list.
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
	opts.Log, opts.StopTimeout = log, emptyTimeout
	client := rpcclient.New(opts)
	client.LeaveWith(rpcclient.ExitClear)
	ended, end := context.WithCancel(ctx)
	end()
	client.Run(ended) // which is nothing but the end: it looks for clients once, and sends them the farewell
	if n := client.KeepLists(); n > 0 {
		return fmt.Errorf("%d of the clients may keep a list: restart them, or try again once they answer", n)
	}
	return nil
}
