package main

import (
	"errors"

	"github.com/spf13/cobra"

	"sidetone/internal/config"
	"sidetone/internal/control"
)

func stopCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "stop",
		Short: "End the running agent in order",
		Long: `Has the agent tell clients that it ends, as rpc.on_exit has it, and end.

Exit code 1 if no agent runs.`,
		Args: noArgs,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error { return c.Stop(cmd.Context()) })
}

func logLevelCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "log-level LEVEL",
		Short: "Change what the running agent logs, until it ends",
		Long: `LEVEL is debug, info, warn or error. The next start of the agent goes by the setting log.level again.

Exit code 1 if no agent runs.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeWords(config.LogLevel("").Enum()),
	}, func(cmd *cobra.Command, args []string, c *control.Client) error {
		err := c.SetLogLevel(cmd.Context(), args[0])
		if errors.Is(err, control.ErrInvalid) {
			return badInput(err)
		}
		return err
	})
}
