// Command agent is the sidetone binary: one file for each verb, wiring only.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes, as every verb's help documents them.
const (
	exitOK       = 0
	exitFailed   = 1 // it was tried and did not work, or the answer is no
	exitBadInput = 2 // flags, settings or a file are wrong; nothing was done
)

// badInput marks an error that the user's input caused.
type badInput struct{ error }

func (b badInput) Unwrap() error { return b.error }

// silent ends with a code when everything has been said already.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:]))
}

func execute(ctx context.Context, args []string) int {
	root := rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code silent
	var bad badInput
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &bad):
		fmt.Fprintln(root.ErrOrStderr(), "sidetone:", err)
		return exitBadInput
	default:
		fmt.Fprintln(root.ErrOrStderr(), "sidetone:", err)
		return exitFailed
	}
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "sidetone",
		Short: "Tells the chat client which certified devices are plugged in, and whether they are muted",
		Long: `Sidetone knows which of a vendor's headsets, microphones and cameras are plugged in, whether the
microphone is muted on the hardware and which processing of its own is active, and reports it to
the chat client on this machine.

Answers go to standard output, everything else to standard error.
Exit codes: 0 done; 1 it did not work, or the answer is no; 2 the input is wrong.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          knownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return badInput{fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath())}
	})
	root.AddCommand(runCommand(), statusCommand(), watchCommand(), explainCommand(), pushCommand(), recordCommand(), replayCommand(), bundleCommand(),
		doctorCommand(), devicesCommand(), learnCommand(), catalogueCommand(), configCommand(), demoCommand(), versionCommand())
	for _, c := range all(root) {
		if c.Args != nil {
			c.Args = argsAsInput(c.Args)
		}
	}
	return root
}

func all(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, all(sub)...)
	}
	return list
}

// knownVerb refuses a verb that does not exist, and names the nearest.
func knownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("unknown verb %q, did you mean %q?", args[0], near[0])
	}
	return fmt.Errorf("unknown verb %q", args[0])
}

// noArgs refuses arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: this verb takes flags only", args[0])
	}
	return nil
}

// argsAsInput makes a wrong number of arguments bad input.
func argsAsInput(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return badInput{fmt.Errorf("%w (see '%s --help')", err, cmd.CommandPath())}
		}
		return nil
	}
}
