package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sidetone/fakeserver"
)

const long = `fakeserver stands in for the local RPC server of the Discord client on 127.0.0.1.
It prints one line for every device list it is sent, and misbehaves on demand.

Lines on stdin change it at run time; "help" lists them.

Faults, written [N*][websocket/|http/]NAME[=ARGUMENT], such as 3*http/answer-late=2s
(N: how often before the fault clears itself):
%s
Exit codes:
  0  ended by quit or by a signal
  1  cannot open the port, or cannot write to stdout
  2  wrong flag or argument`

type flags struct {
	port, fault                        string
	clientIDs, origins                 []string
	pretty, json                       bool
	noFingerprint, noWebSocket, noHTTP bool
}

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "fakeserver",
		Short:         "A stand-in for the local RPC server of the Discord client",
		Long:          fmt.Sprintf(long, fakeserver.FaultHelp()),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unexpected argument %q, see --help", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := f.options()
			if err != nil {
				return usageError{err}
			}
			opts.Logger = slog.New(slog.NewTextHandler(stderr, nil))
			return serve(cmd.Context(), opts, f.style(), stdin, stdout, stderr)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	f.register(cmd)
	return cmd
}

func (f *flags) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.port, "port", "6463-6473", "`port`, or range of which the first free one is taken; 0 is any free port")
	set.StringSliceVar(&f.clientIDs, "client-id", nil, "known application `id`, may be repeated (default any)")
	set.StringVar(&f.fault, "fault", "none", "`fault` to begin with, see above")
	set.BoolVar(&f.pretty, "pretty", false, "print the JSON of each payload below its line")
	set.BoolVar(&f.json, "json", false, "print one JSON object for each payload instead of a line of text")
	set.StringArrayVar(&f.origins, "origin", nil, "registered `origin`, may be repeated; a WebSocket then needs one (default none needed)")
	set.BoolVar(&f.noFingerprint, "no-fingerprint", false, "follow the written specification only: 404 answers do not bear the client's body")
	set.BoolVar(&f.noWebSocket, "no-websocket", false, "switch WebSocket off")
	set.BoolVar(&f.noHTTP, "no-http", false, "switch HTTP off")
}

func (f *flags) options() (opts fakeserver.Options, err error) {
	if f.pretty && f.json {
		return opts, errors.New("--pretty and --json exclude each other")
	}
	opts = fakeserver.Options{
		ClientIDs:     f.clientIDs,
		NoFingerprint: f.noFingerprint,
		NoWebSocket:   f.noWebSocket,
		NoHTTP:        f.noHTTP,
		Origins:       f.origins,
	}
	if opts.Ports, err = parsePorts(f.port); err != nil {
		return opts, fmt.Errorf("--port: %w", err)
	}
	if opts.Fault, err = fakeserver.ParseFault(f.fault); err != nil {
		return opts, fmt.Errorf("--fault: %w", err)
	}
	return opts, opts.Check()
}

func (f *flags) style() style {
	switch {
	case f.json:
		return jsonLines
	case f.pretty:
		return prettyText
	}
	return plainText
}

// parsePorts reads a port, or a range of ports such as 6463-6473.
func parsePorts(s string) ([]int, error) {
	low, high, isRange := strings.Cut(s, "-")
	first, err := parsePort(low)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []int{first}, nil
	}
	last, err := parsePort(high)
	switch {
	case err != nil:
		return nil, err
	case first == 0:
		return nil, fmt.Errorf("range %s: 0 means any free port and cannot begin a range", s)
	case first > last:
		return nil, fmt.Errorf("range %s is reversed, write %d-%d", s, last, first)
	}
	ports := make([]int, 0, last-first+1)
	for p := first; p <= last; p++ {
		ports = append(ports, p)
	}
	return ports, nil
}

func parsePort(s string) (int, error) {
	port, err := strconv.Atoi(s)
	if err != nil || port < 0 || port > 65535 {
		return 0, fmt.Errorf("%q is not a port between 0 and 65535", s)
	}
	return port, nil
}
