package main

import (
	"errors"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/control"
)

func stopCommand() *cobra.Command {
	var empty bool
	cmd := askAnyway(&cobra.Command{
		Use:   "stop",
		Short: "Stop the running agent cleanly",
		Long: `Makes the agent tell clients that it ends, as rpc.on_exit defines, and end.

Exit code 1 if no agent runs.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error {
		if empty {
			return c.StopEmpty(cmd.Context())
		}
		return c.Stop(cmd.Context())
	})
	cmd.Flags().BoolVar(&empty, "empty", false, "leave no list in clients, whatever rpc.on_exit says, for example before an uninstallation")
	return cmd
}

func upgradeCommand() *cobra.Command {
	return askAnyway(&cobra.Command{
		Use:   "upgrade",
		Short: "Replace the running agent with its program as it is on disk now",
		Long: `Use it after a package has installed a newer program. The agent has that program show that it starts
('run --try'). Then this command returns, and the agent makes way: as soon as each client has room for another
connection, and after 30 s at most, it tells clients its devices without their mutes, and the new program takes
its place with the same arguments. Pushed states end; a pause stays in force (docs/service.md).

Exit code 1 if no agent runs, or the new program does not start: then the agent continues.`,
	}, func(cmd *cobra.Command, _ []string, c *control.Client) error { return c.Upgrade(cmd.Context()) })
}

func emptyCommand() *cobra.Command {
	return withSettings(&cobra.Command{
		Use:   "empty",
		Short: "Leave no list in any client, where no agent runs",
		Long: `Sends an empty list to every client, within 5 s, in place of an agent that cannot start any more. systemd
runs it after the last failed start. Where an agent runs, 'stop --empty' does the same.

Exit code 1 if an agent runs, or a client does not take the list; 2 if settings or catalogue are wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			return app.Empty(cmd.Context(), set, host, logger(cmd.ErrOrStderr(), set.Config.Log, set.Config.Log.Level.Slog()))
		},
	})
}

func logLevelCommand() *cobra.Command {
	return askCommand(&cobra.Command{
		Use:   "log-level LEVEL",
		Short: "Change what the running agent logs, until it ends",
		Long: `LEVEL is debug, info, warn or error. The next start of the agent uses the setting log.level again.

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
