package main

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"sidetone/fakeserver"
	"sidetone/fakeserver/internal/host"
)

// version is set by the build.
var version = "dev"

const long = `fakeserver stands in for the local RPC server of the Discord client, on 127.0.0.1
and on its IPC socket. It prints one line for every device list it is sent, and
misbehaves on demand.

Lines on stdin change it at run time; "help" lists them.

Profiles, the programs it can play, written [N*]NAME (N: how many of them):
%s
Faults, written [N*][websocket/|http/|ipc/]NAME[=ARGUMENT], such as
3*http/answer-late=2s (N: how often before the fault clears itself):
%s
Exit codes:
  0  ended by quit or by a signal
  1  cannot open the port or the IPC socket, cannot use the state file, or cannot write to stdout
  2  wrong flag or argument`

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q, did you mean %q?", args[0], near[0])}
	}
	return usageError{fmt.Errorf("unexpected argument %q, see --help", args[0])}
}

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	var f flags
	root := &cobra.Command{
		Use:           "fakeserver",
		Short:         "A stand-in for the local RPC server of the Discord client",
		Long:          fmt.Sprintf(long, fakeserver.ProfileHelp(), fakeserver.FaultHelp()),
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,

		SuggestionsMinimumDistance: 2,

		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.common.Logger = slog.New(slog.NewTextHandler(stderr, nil))
			clients, err := f.clients()
			if err != nil {
				return usageError{err}
			}
			return serve(cmd.Context(), clients, f.page, f.format(), stdin, stdout, stderr)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{wrongFlag(err)} })
	root.SetVersionTemplate(versionLine())
	root.CompletionOptions.DisableDefaultCmd = true
	f.register(root.Flags())

	// The verbs. Without one, fakeserver serves.
	root.AddCommand(newConformCommand(stdout, stderr), newRunCommand(stdin, stdout, stderr), newVersionCommand(stdout))
	return root
}

func versionLine() string {
	return "fakeserver " + version + " (" + runtime.Version() + ", " + host.System() + ")\n"
}

func newVersionCommand(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(stdout, versionLine())
			return cannotPrint(err)
		},
	}
}
