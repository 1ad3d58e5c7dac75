//go:build linux || windows

// Command bench measures the agent, each figure beside a bare baseline of the same run, and
// writes bench/RESULTS.md. The machine's noise affects both alike, so the ratios are the claim.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const measurementLimit = 20 * time.Minute

type measurement struct {
	name, what string
	measure    func(context.Context, *bench) []row
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, terminated)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == bareArgument {
		err = runBare(ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:])
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// bench is what all measurements share.
type bench struct {
	quick   bool
	self    string            // path of this binary
	dir     string            // for temporary files
	servers map[string]string // versions of the sound servers that were measured with, by kind

	// Of the measurement that runs.
	failed   error
	cleanups []func() error // what ends it, last first
}

// check ends the measurement if err is not nil, as FailNow of package testing ends a test: what was deferred still happens.
func (b *bench) check(err error) {
	if err != nil {
		b.fail(err)
		runtime.Goexit()
	}
}

// fail makes the measurement fail if err is not nil, and lets it go on.
func (b *bench) fail(err error) { b.failed = errors.Join(b.failed, err) }

func (b *bench) cleanup(f func() error) { b.cleanups = append(b.cleanups, f) }

func (b *bench) runCleanups() {
	for _, f := range slices.Backward(b.cleanups) {
		b.fail(f())
	}
}

func pick[T any](b *bench, full, quick T) T {
	if b.quick {
		return quick
	}
	return full
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "shorter rounds, for development")
	only := flags.String("only", "", "run one measurement: "+strings.Join(names(), ", "))
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if _, err := os.Stat(agentPath); err != nil {
		return fmt.Errorf("find the agent: %w (run 'make build' first, and the bench from the repository's root)", err)
	}
	b := &bench{quick: *quick, servers: make(map[string]string)}
	if b.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if b.dir, err = os.MkdirTemp("", "sidetone-bench"); err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer os.RemoveAll(b.dir)

	before := loadAverage()
	rows, err := b.measureAll(ctx, chosen)
	if err != nil {
		return err
	}
	text := report(rows, machine(b.servers, before, loadAverage()))
	if *quick || *only != "" {
		fmt.Print(text)
		return nil
	}
	if err := os.WriteFile(resultsPath, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	fmt.Fprintln(os.Stderr, "wrote", resultsPath)
	return nil
}

func (b *bench) measureAll(ctx context.Context, chosen []measurement) ([]row, error) {
	var all []row
	for _, m := range chosen {
		start := time.Now()
		fmt.Fprintf(os.Stderr, "%-8s %s\n", m.name, m.what)
		rows, err := b.measureOne(ctx, m)
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

// measureOne measures, and ends what the measurement has started.
func (b *bench) measureOne(ctx context.Context, m measurement) (rows []row, err error) {
	ctx, cancel := context.WithTimeout(ctx, measurementLimit)
	defer cancel()
	b.failed, b.cleanups = nil, nil
	var measuring sync.WaitGroup
	measuring.Go(func() { // check ends this goroutine
		defer b.runCleanups()
		rows = m.measure(ctx, b)
	})
	measuring.Wait()
	return rows, b.failed
}

func names() []string {
	var list []string
	for _, m := range measurements {
		list = append(list, m.name)
	}
	return list
}

func choose(only string) ([]measurement, error) {
	if only == "" {
		return measurements, nil
	}
	i := slices.Index(names(), only)
	if i < 0 {
		return nil, fmt.Errorf("no measurement is called %q, use one of %s", only, strings.Join(names(), ", "))
	}
	return measurements[i : i+1], nil
}
