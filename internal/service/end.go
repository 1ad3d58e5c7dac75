//go:build linux || windows

package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// startTimeout is how long an agent may take until it is ready or has ended.
const startTimeout = 30 * time.Second

// endTimeout is how long an agent may take to empty the clients' lists and end: ten times what it needs.
const endTimeout = 5 * time.Second

// stopping ends the running agent by its local API, whoever started it.
func (a Agent) stopping(ctx context.Context) (Plan, error) {
	p, err := a.Running(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Plan{{fmt.Sprintf("%s stop, and wait for the end of process %d", a.Name, p.PID), func(ctx context.Context) error {
		return end(ctx, p)
	}}}, nil
}

// end ends an agent and waits for it.
func end(ctx context.Context, p Process) error {
	process, err := openProcess(p.PID) // before it ends: its pid may be reused after that
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer process.close()
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("process %d does not take it: %w: end it with %s %d", p.PID, err, endCommand, p.PID)
	}
	deadline, _ := ctx.Deadline()
	ended, err := process.wait(time.Until(deadline))
	if err == nil && !ended {
		err = fmt.Errorf("process %d has not ended after %s: end it with %s %d", p.PID, endTimeout, killCommand, p.PID)
	}
	return err
}
