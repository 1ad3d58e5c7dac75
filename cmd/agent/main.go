// Command agent is the sidetone binary: one file for each verb, and nothing but wiring.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidetone/internal/app"
	"sidetone/internal/asynclog"
	"sidetone/internal/brand"
	"sidetone/internal/platform/system"
)

func main() {
	system.LoadDLLsOfSystemOnly()
	serveProcess(context.Background())
}

// serveProcess executes the command line of this process, until it is done, ctx ends or the user interrupts it, and exits.
func serveProcess(ctx context.Context) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	handleBrokenPipes()
	useBrandEnglish()
	os.Exit(execute(ctx, os.Args[1:]))
}

func execute(ctx context.Context, args []string) int {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := &answer{Writer: os.Stdout, stop: stop}
	root := rootCommand(out)
	root.SetArgs(args)
	err := out.failure(root.ExecuteContext(ctx))
	code, said := exitCodeOf(err, args)
	if !said {
		stderr := root.ErrOrStderr()
		printError(stderr, err)
		if later, ok := stderr.(*asynclog.Handler); ok {
			later.Flush(lastWords)
		}
		logFailure(args, err)
	}
	return code
}

// printError prints an error, each problem on its own line.
func printError(w io.Writer, err error) {
	lines := []string{err.Error()}
	var problems app.Problems
	if errors.As(err, &problems) {
		lines = problems.Lines()
	}
	for _, line := range lines {
		fmt.Fprintln(w, programName()+":", printable(brand.RenameCommands(line, programName())))
	}
}

func rootCommand(out io.Writer) *cobra.Command {
	var asVersion bool
	name := programName()
	root := &cobra.Command{
		Use:   name,
		Short: "Tells the chat client which certified devices are plugged in, and whether they are muted",
		Long: `The agent knows which of its vendor's headsets, microphones and cameras are plugged in, whether the
microphone is muted on the hardware, and which processing the device itself does. It reports this to
the chat client on this machine.

Answers go to standard output, everything else to standard error.
Exit codes: 0 done; 1 it did not work, or the answer is no; 2 the input is wrong.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asVersion {
				return printVersion(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&asVersion, "version", false, "print the version, as the verb does")
	root.SetOut(out)
	root.SetFlagErrorFunc(flagError)
	langFlag(root)
	root.AddCommand(
		runCommand(), statusCommand(), watchCommand(), explainCommand(), pushCommand(), pauseCommand(), resumeCommand(), stopCommand(),
		emptyCommand(), upgradeCommand(), logLevelCommand(), recordCommand(), replayCommand(), reportCommand(), bundleCommand(), doctorCommand(),
		devicesCommand(), learnCommand(), catalogueCommand(), configCommand(), serviceCommand(), trayCommand(), versionCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range all(root) {
		c.Short, c.Long = brand.RenameCommands(c.Short, name), brand.RenameCommands(c.Long, name)
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = brand.RenameCommands(f.Usage, name) })
		switch {
		case c.Name() == "help":
			c.Args = checkHelpTopic
		case c.HasSubCommands():
			c.Args = argsAsInput(checkVerb)
		default:
			c.Args = argsAsInput(argsAsUsed)
		}
		if c != root && c.HasSubCommands() {
			c.RunE = requireVerb
		}
	}
	return root
}

// all returns c and all commands below it.
func all(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, all(sub)...)
	}
	return list
}
