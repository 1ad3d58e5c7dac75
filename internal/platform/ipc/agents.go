package ipc

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"sidetone/internal/stable"
)

// Agent is an agent of this user that runs.
type Agent struct {
	Vendor  string // vendor.id
	Address string // of its local API
}

// dialTimeout is how long an agent may take to take a connection. The system does that for it.
const dialTimeout = time.Second

// Agents lists the agents of all vendors that run and are at their usual address, by vendor.
func Agents(ctx context.Context, getenv func(string) string) ([]Agent, error) {
	found, err := agentAddresses(getenv)
	var list []Agent
	for vendor, address := range found {
		if listens(ctx, address) {
			list = append(list, Agent{vendor, address})
		}
	}
	stable.Sort(list, func(a, b Agent) int { return cmp.Compare(a.Vendor, b.Vendor) })
	return list, err
}

// listens reports whether there is an agent at address, which may be too busy or another user's:
// whoever asks it is told.
func listens(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := DialControl(ctx, address)
	if err == nil {
		_ = conn.Close()
	}
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED)
}
