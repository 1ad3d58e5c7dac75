package ipc

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"
	"time"
)

// Agent is a running agent of this user.
type Agent struct {
	Vendor  string // vendor.id
	Address string // of its local API
}

// dialTimeout is how long a connection to an agent may take. The system accepts it for the agent.
const dialTimeout = time.Second

// Agents lists the running agents of all vendors at their usual addresses, by vendor.
func Agents(ctx context.Context, getenv func(string) string) ([]Agent, error) {
	found, err := agentAddresses(getenv)
	var list []Agent
	for vendor, address := range found {
		if listens(ctx, address) {
			list = append(list, Agent{vendor, address})
		}
	}
	slices.SortStableFunc(list, func(a, b Agent) int { return cmp.Compare(a.Vendor, b.Vendor) })
	return list, err
}

// listens reports whether there is an agent at address. It may be too busy, or another user's: whoever asks it will be told.
func listens(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := DialControl(ctx, address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
}
