package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"sidetone/fakeserver/internal/host"
	"sidetone/fakeserver/scenario"
)

// maxScenario is the largest scenario file, in bytes.
const maxScenario = 1 << 20

const runLong = `Starts the fake clients that a scenario names, does its steps in order and checks what the
clients are told. docs/scenarios.md describes the file. Each step is one line on stderr, the
result one line on stdout. SIGINT and SIGTERM end the run in order; the reports are written.

Exit codes:
  0  all steps passed
  1  an expectation failed, a step could not be done, the run ended early, or a report or the
     result could not be written
  2  the scenario or the command line is wrong`

type runFlags struct {
	junit, markdown   string
	check, unattended bool
	repeat            int
	timeout           time.Duration
}

func newRunCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO",
		Short: "Run a scenario for certification",
		Long:  runLong,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("want one scenario file, found %d, see run --help", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], stdin, stdout, stderr)
		},
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.BoolVar(&f.check, "check", false, "only check the file")
	set.StringVar(&f.junit, "junit", "", "write a report as JUnit XML to `file`")
	set.StringVar(&f.markdown, "markdown", "", "write a report as Markdown to `file`")
	set.IntVar(&f.repeat, "repeat", 1, "run the steps `n` times")
	set.DurationVar(&f.timeout, "timeout", 0, "end the run after this `time`, such as 10m (default none)")
	set.BoolVar(&f.unattended, "unattended", false, "do not wait for prompts to be confirmed")
	return cmd
}

func (f runFlags) run(ctx context.Context, file string, stdin io.Reader, stdout, stderr io.Writer) error {
	if f.repeat < 1 {
		return usageError{fmt.Errorf("--repeat: cannot run the steps %d times", f.repeat)}
	}
	if f.timeout < 0 {
		return usageError{fmt.Errorf("--timeout: %v is below zero", f.timeout)}
	}
	sc, err := load(file, stderr)
	if err != nil {
		return usageError{err}
	}
	if f.check {
		_, err := fmt.Fprintf(stdout, "%s: no problems\n", file)
		return cannotPrint(err)
	}
	junit, err := newReportFile("--junit", f.junit)
	if err != nil {
		return usageError{err}
	}
	defer junit.discard()
	markdown, err := newReportFile("--markdown", f.markdown)
	if err != nil {
		return usageError{err}
	}
	defer markdown.discard()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	opts := scenario.Options{Progress: stderr, Repeat: f.repeat, Timeout: f.timeout, Version: version}
	if !f.unattended {
		opts.Confirm = confirm(ctx, stdin, stderr)
	}
	report, ended := sc.Run(ctx, opts)
	_, err = fmt.Fprintln(stdout, report)
	err = errors.Join(cannotPrint(err), junit.write(report.JUnit), markdown.write(report.Markdown))
	switch {
	case ended != nil:
		err = errors.Join(ended, err)
	case report.Failed():
		err = errors.Join(errors.New("the scenario failed"), err)
	}
	return err
}

// load reads a scenario and prints its problems.
func load(file string, stderr io.Writer) (*scenario.Scenario, error) {
	text, err := host.ReadFile(file, maxScenario)
	if err != nil {
		return nil, fmt.Errorf("cannot read the scenario: %w", err)
	}
	sc, problems := scenario.Load(file, text)
	for _, p := range problems {
		fmt.Fprintln(stderr, p)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("the scenario has problems (%d)", len(problems))
	}
	return sc, nil
}

// confirm returns a function that waits for Enter. Once stdin has ended, it does not wait.
func confirm(ctx context.Context, stdin io.Reader, stderr io.Writer) func(context.Context) error {
	var enter <-chan string
	return func(step context.Context) error {
		fmt.Fprintln(stderr, "    Press Enter when it is done.")
		if enter == nil {
			enter = readLines(ctx, stdin)
		}
		select {
		case <-enter: // pressed before the prompt was there
		default:
		}
		select {
		case <-enter:
			return nil
		case <-step.Done():
			return fmt.Errorf("the prompt was not confirmed: %w", context.Cause(step))
		}
	}
}

// A reportFile replaces a report once the new one is complete. nil is none.
type reportFile struct {
	flag, path string
	temporary  *os.File
}

// newReportFile makes sure, before the run, that the report can be written.
func newReportFile(flag, path string) (*reportFile, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s: cannot write the report: %s is a folder", flag, path)
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot write the report: %w", flag, err)
	}
	return &reportFile{flag, path, temporary}, nil
}

func (f *reportFile) write(report func(io.Writer) error) error {
	if f == nil {
		return nil
	}
	err := report(f.temporary)
	if err == nil {
		err = f.temporary.Sync()
	}
	// A temporary file is for its owner alone, a report is for the lab.
	err = errors.Join(err, f.temporary.Chmod(0o644), f.temporary.Close())
	if err == nil {
		err = os.Rename(f.temporary.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("%s: cannot write %s: %w", f.flag, f.path, err)
	}
	return nil
}

// discard removes a report that was not completed.
func (f *reportFile) discard() {
	if f != nil {
		_ = f.temporary.Close()
		_ = os.Remove(f.temporary.Name())
	}
}
