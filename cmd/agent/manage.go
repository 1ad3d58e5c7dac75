package main

import (
	"errors"

	"github.com/spf13/cobra"

	"sidetone/internal/config"
	"sidetone/internal/control"
)

func stopCommand() *cobra.Command {
	var empty bool
	cmd := askAnyway(&cobra.Command{
		Use:   "stop",
		Short: "End the running agent in order",
		Long: `Has the agent tell clients that it ends, as rpc.on_exit has it, and end.

Exit code 1 if no agent runs.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		if empty {
			return c.StopEmpty(cmd.Context())
		}
		return c.Stop(cmd.Context())
	})
	cmd.Flags().BoolVar(&empty, "empty", false, "leave no list in clients, whatever rpc.on_exit says, as for an uninstallation")
	return cmd
}

func upgradeCommand() *cobra.Command {
	return askAnyway(&cobra.Command{
		Use:   "upgrade",
		Short: "Have the running agent's program, as it is on disk now, go on in its place",
		Long: `For when a package has put a newer program in the place of the one that runs. The agent starts it with its own
arguments, and hands over to it once it is ready: clients keep their lists, pushed states and the pause stay in
force, and to a service manager it is the same unit. If the new program does not get ready the agent goes on.
That may take a minute, until each client takes a new connection (docs/service.md).

Exit code 1 if no agent runs, or the new program does not get ready.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error { return c.Upgrade(cmd.Context()) })
}

func logLevelCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "log-level LEVEL",
		Short: "Change what the running agent logs, until it ends",
		Long: `LEVEL is debug, info, warn or error. The next start of the agent goes by the setting log.level again.

Exit code 1 if no agent runs.`,
		ValidArgsFunction: completeWords(config.LogLevel("").Enum()),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		err := c.SetLogLevel(cmd.Context(), args[0])
		if errors.Is(err, control.ErrInvalid) {
			return badInput(err)
		}
		return err
	})
}
