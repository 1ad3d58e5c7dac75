package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"sidetone/fakeserver/conform"
)

const conformLong = `conform asks a local RPC server how it behaves, and compares that with the platform's written
specification and with what is known of the real client. Any server can be asked: the client
itself, a re-implementation, or fakeserver.

A quick run costs two tokens of the server's rate limit at most. With --all, everything is
tried, at the pace the server allows: about 35 minutes for the real client with IPC.
The device list of the client id is empty afterwards.

Exit codes:
  0  the run was complete, whatever the server does
  1  no server there, the run broke off, the report cannot be written, or the server differs
     from what --require names
  2  wrong flag or argument`

type conformFlags struct {
	target             conform.Target
	opts               conform.Options
	quick, json        bool
	markdown, required string
}

func newConformCommand(stdout, stderr io.Writer) *cobra.Command {
	var f conformFlags
	cmd := &cobra.Command{
		Use:   "conform",
		Short: "Ask a server how it behaves, and compare it with the specification and the real client",
		Long:  conformLong,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return usageError{err}
			}
			if !cmd.Flags().Changed("client-id") {
				fmt.Fprintf(stderr, "warning: asking with the example client id %s, which a real client refuses; give yours with --client-id\n",
					conform.ExampleClientID)
			}
			f.opts.Version = version
			f.opts.Progress = func(p conform.Progress) {
				fmt.Fprintf(stderr, "[%d/%d] %s, up to %s left\n", p.Done+1, p.Total, p.Check, p.Remaining.Round(time.Second))
			}
			report, err := conform.Run(cmd.Context(), f.target, f.opts)
			if wrong := new(conform.TargetError); errors.As(err, &wrong) {
				return usageError{err}
			}
			if errors.Is(err, context.Canceled) {
				err = errors.New("the run was interrupted")
			}
			return errors.Join(err, f.print(report, stdout))
		},
	}
	f.register(cmd)
	return cmd
}

func (f *conformFlags) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.target.URL, "url", "", "`address` of the server, such as http://127.0.0.1:6463; loopback only")
	set.StringVar(&f.target.IPC, "ipc", "", "`path` of its IPC socket, or name of its pipe")
	set.StringVar(&f.target.ClientID, "client-id", conform.ExampleClientID, "application `id` to ask with; its device list is emptied")
	set.StringVar(&f.target.Origin, "origin", "", "`origin` registered for the application, to try WebSockets with")
	set.BoolVar(&f.quick, "quick", false, "try what costs two tokens of the rate limit at most (the default)")
	set.BoolVar(&f.opts.All, "all", false, "try everything, and wait for the rate limit")
	set.DurationVar(&f.opts.Refill, "refill", conform.DefaultRefill, "`time` after which the server lets one more request through")
	set.DurationVar(&f.opts.Patience, "patience", conform.DefaultPatience, "`time` an answer may take that has no reason to be queued")
	set.BoolVar(&f.json, "json", false, "print JSON instead of a table")
	set.StringVar(&f.markdown, "markdown", "", "also write the report to this `file`")
	set.StringVar(&f.required, "require", "", "exit 1 when the server differs from this `model`: spec or client")
}

func (f *conformFlags) check() error {
	switch {
	case f.target.URL == "" && f.target.IPC == "":
		return errors.New("no server to ask: name --url, --ipc or both")
	case f.quick && f.opts.All:
		return errors.New("--quick and --all exclude each other")
	case f.required != "" && f.required != "spec" && f.required != "client":
		return fmt.Errorf("--require %q: want spec or client", f.required)
	}
	return nil
}

// print writes the report, if there is one, in the requested forms, each even if the other
// cannot be written. The error says what could not be written, or how the server differs from
// the required model.
func (f *conformFlags) print(report *conform.Report, stdout io.Writer) error {
	if report == nil {
		return nil
	}
	text := []byte(report.Text())
	if f.json {
		text = report.JSON()
	}
	_, err := stdout.Write(text)
	err = cannotPrint(err)
	if f.markdown != "" {
		if failed := os.WriteFile(f.markdown, []byte(report.Markdown()), 0o644); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot write the report: %w", failed))
		}
	}
	return errors.Join(err, f.checkRequired(report))
}

func (f *conformFlags) checkRequired(report *conform.Report) error {
	count, model := report.Client(), "real client"
	switch f.required {
	case "":
		return nil
	case "spec":
		count, model = report.Spec(), "specification"
	}
	if count.Same < count.Said {
		return fmt.Errorf("the server differs from the %s in %d of %d checks", model, count.Said-count.Same, count.Said)
	}
	return nil
}
