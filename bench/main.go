//go:build linux

// Command bench measures the agent, each figure beside a bare baseline of the same run, and
// writes bench/RESULTS.md. The machine's noise meets both alike, so the ratios are the claim.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// measure is one step of the bench.
type measure struct {
	name  string
	what  string
	limit time.Duration // after which it has failed
	run   func(context.Context, *bench) ([]row, error)
}

var measures = []measure{
	{"mute", "mute to payload, against the bare path", 10 * time.Minute, measureMute},
	{"clients", "mute to three clients at once", 5 * time.Minute, inLab(measureClients)},
	{"start", "start to first payload", 3 * time.Minute, inLab(measureStart)},
	{"appear", "a client appears", 5 * time.Minute, inLab(measureAppear)},
	{"tokens", "HTTP only, within the client's rate limit", 5 * time.Minute, inLab(measureTokens)},
	{"idle", "what doing nothing costs", 15 * time.Minute, measureIdle},
	{"memory", "memory after many toggles", 10 * time.Minute, measureMemory},
	{"storm", "1,000 toggles per second", 5 * time.Minute, inLab(measureStorm)},
	{"hid", "HID report to payload, against the bare path", 5 * time.Minute, measureHID},
	{"push", "push to payload, against a bare server", 5 * time.Minute, inLab(measurePush)},
	{"flood", "10,000 pushes per second", 5 * time.Minute, inLab(measureFlood)},
	{"status", "what 'sidetone status' takes", 3 * time.Minute, inLab(measureStatus)},
	{"size", "size of the binary", 3 * time.Minute, measureSize},
}

// programs are what this one is instead of the bench, by its first argument.
var programs = map[string]func(context.Context, []string) error{
	soundBare:        bareProgram(followSound),
	hidBare:          bareProgram(followHID),
	pushBare:         bareProgram(servePushes),
	hidAgentArgument: runHIDAgent,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		err = programs[os.Args[1]](ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bench is what all measures share.
type bench struct {
	quick   bool
	agent   string            // path of the sidetone binary
	self    string            // path of this binary
	dir     string            // for temporary files
	servers map[string]string // versions of the sound servers that were measured with, by kind
}

// pick returns full, or quick in a quick run.
func pick[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "shorter rounds, for development")
	only := flags.String("only", "", "run one measure: "+strings.Join(names(), ", "))
	agent := flags.String("agent", "bin/sidetone", "the agent, as 'make build' makes it")
	out := flags.String("o", "bench/RESULTS.md", "where a full run writes its results")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b, err := newBench(*agent, *quick)
	if err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)

	before := loadAverage()
	rows, err := b.perform(ctx, chosen)
	if err != nil {
		return err
	}
	text := report(rows, machine(b.servers, before, loadAverage()))
	if *quick || *only != "" {
		fmt.Print(text)
		return nil
	}
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	fmt.Fprintln(os.Stderr, "wrote", *out)
	return nil
}

func newBench(agent string, quick bool) (*bench, error) {
	if _, err := os.Stat(agent); err != nil {
		return nil, fmt.Errorf("find the agent: %w (run 'make build' first, and the bench from the repository's root)", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "sidetone-bench")
	if err != nil {
		return nil, fmt.Errorf("make a temporary folder: %w", err)
	}
	return &bench{quick: quick, agent: agent, self: self, dir: dir, servers: make(map[string]string)}, nil
}

func (b *bench) perform(ctx context.Context, chosen []measure) ([]row, error) {
	var all []row
	for _, m := range chosen {
		start := time.Now()
		fmt.Fprintf(os.Stderr, "%-8s %s\n", m.name, m.what)
		limited, cancel := context.WithTimeout(ctx, m.limit)
		rows, err := m.run(limited, b)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("%s (%s): %w", m.name, m.what, err)
		}
		for _, r := range rows {
			fmt.Fprintf(os.Stderr, "         %s: %s, %s\n", r.figure, r.measured, r.verdict())
		}
		fmt.Fprintf(os.Stderr, "         in %s\n", time.Since(start).Round(100*time.Millisecond))
		all = append(all, rows...)
	}
	return all, nil
}

func names() []string {
	var list []string
	for _, m := range measures {
		list = append(list, m.name)
	}
	return list
}

func choose(only string) ([]measure, error) {
	if only == "" {
		return measures, nil
	}
	i := slices.IndexFunc(measures, func(m measure) bool { return m.name == only })
	if i < 0 {
		return nil, fmt.Errorf("no measure is called %q, use one of %s", only, strings.Join(names(), ", "))
	}
	return measures[i : i+1], nil
}
