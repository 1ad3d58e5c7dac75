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
func measureStatus(ctx context.Context, b *bench, l *lab) (rows []row, err error) {
	s := overIPC
	s.clients = 3
	c, err := b.startAgent(ctx, l, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	verb := func(args ...string) ([]byte, time.Duration, error) {
		return b.verb(ctx, append(clean(l.server.Env()), append(s.settings(c.place), "XDG_CONFIG_HOME="+l.config)...), args...)
	}
	var status, noop sample
	for range warmUp + pick(b, 30, 10) {
		_, none, err := verb("version")
		if err != nil {
			return nil, err
		}
		said, took, err := verb("status", "--json")
		if err != nil {
			return nil, err
		}
		if err := complete(said, s.clients); err != nil {
			return nil, err
		}
		noop, status = append(noop, none), append(status, took)
	}
	noop, status = noop[warmUp:], status[warmUp:]
	const limit = 20 * time.Millisecond
	a, z := status.percentile(50), noop.percentile(50)
	return []row{{
		figure:   fmt.Sprintf("'sidetone status --json' with %d clients and a headset, the whole process, p50 of %d", s.clients, len(status)),
		measured: fmt.Sprintf("%s, %s (max %s)", ms(a), more(a-z), ms(status.max())),
		baseline: fmt.Sprintf("%s (max %s), 'sidetone version'", ms(z), ms(noop.max())),
		ratio:    times(ratioOf(a, z)), target: "≤ " + ms(limit), met: a <= limit,
		excuse: "The maxima tell how busy the machine was.",
	}}, nil
}

// verb runs the agent's program to its end and returns what it prints and how long that took.
func (b *bench) verb(ctx context.Context, env []string, args ...string) ([]byte, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.agent, args...)
	cmd.Env, cmd.WaitDelay = env, time.Second
	start := time.Now()
	said, err := cmd.Output()
	took := time.Since(start)
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		return nil, 0, fmt.Errorf("sidetone %s: %w", args[0], err)
	}
	return said, took, nil
}

// complete returns an error unless an answer has the headset and that many clients which are
// served: anything less would be cheaper.
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
