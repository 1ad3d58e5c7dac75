//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/rpcclient"
)

// measureStatus runs 'sidetone status' beside an agent with three clients, in turns with a verb
// that does nothing.
func measureStatus(ctx context.Context, b *bench, labs []*lab) []row {
	three := overIPC
	three.clients = 3
	c := labs[0].start(ctx, labs[0].agent, three)
	defer c.stop()
	status := func(ctx context.Context) sample {
		said, took, err := runVerb(ctx, c.cmd.Env, "status", "--json")
		b.check(err)
		b.check(complete(said, three.clients))
		return sample{took}
	}
	version := func(ctx context.Context) sample {
		_, took, err := runVerb(ctx, c.cmd.Env, "version")
		b.check(err)
		return sample{took}
	}
	took := inTurns(ctx, pick(b, 30, 10), status, version)
	what := fmt.Sprintf("'sidetone status --json' with %d clients and a headset, the whole process", three.clients)
	return []row{took.row(what, 50, "'sidetone version'", limit{inAll: 20 * time.Millisecond})}
}

// runVerb runs the agent's program to its end and returns what it prints and how long that took.
func runVerb(ctx context.Context, env []string, args ...string) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, agentPath, args...)
	cmd.Env, cmd.WaitDelay = env, time.Second
	start := time.Now()
	said, err := cmd.Output()
	took := time.Since(start)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("sidetone %s: %w", args[0], err)
	}
	return said, took, nil
}

// complete fails unless an answer has the headset and that many connected clients: anything less would be
// cheaper.
func complete(said []byte, clients int) error {
	var st control.Status
	if err := json.Unmarshal(said, &st); err != nil {
		return fmt.Errorf("read the status: %w", err)
	}
	ready := 0
	for _, s := range st.Clients.Sessions {
		if s.State == string(rpcclient.Ready) {
			ready++
		}
	}
	if ready != clients || len(st.Products) != 1 {
		return fmt.Errorf("the status has %d clients that are served and %d products, want %d and 1", ready, len(st.Products), clients)
	}
	return nil
}
