package main

import (
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/service"
)

func runCommand() *cobra.Command {
	var in settingsFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Report devices to the client until told to stop",
		Long: `Watches the endpoints of this machine and keeps the client's list of certified devices up to
date. One line is logged for each change: what changed, to whom it was sent, how long after the
OS event the client had answered.

--state-file is short for --push-state-file: states that the vendor's software writes into a file
(docs/api.md).

SIGHUP reads settings and catalogue again; if they are wrong, the old ones stay in force.
SIGTERM and SIGINT empty the client's list and end with exit code 0. Under systemd, which it tells
that it is ready and still answers, wrong input is exit code 78 (docs/service.md).`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// First of all, and never taken back: a SIGHUP that comes while the agent starts or ends would kill it.
			hup := reloadRequests()
			set, err := in.load(cmd)
			if err != nil {
				return err
			}
			debug.SetGCPercent(app.GCPercent)
			level := new(slog.LevelVar)
			level.Set(set.Config.Log.Level.Slog())
			log, logFile := runLog(cmd.ErrOrStderr(), set, level)
			agent, err := app.New(app.Options{
				Settings: set, Load: func() (*app.Settings, error) { return in.load(cmd) },
				Host: host, Version: version, Log: log, LogLevel: level, LogFile: logFile, OwnProcess: true,
			})
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			var beside sync.WaitGroup
			defer beside.Wait()
			defer cancel()
			beside.Go(func() { reloadAt(ctx, hup, agent) })
			if n := service.NewNotifier(host.Getenv); n != nil {
				beside.Go(func() { n.Run(ctx, agent.Ping, log) })
			}
			agent.Run(ctx)
			return nil
		},
	}
	in.add(cmd)
	cmd.Flags().SetNormalizeFunc(stateFileFlag)
	return cmd
}

// reloadAt has the agent read its configuration again at each signal; its log says what comes of it.
func reloadAt(ctx context.Context, hup <-chan os.Signal, agent *app.App) {
	for {
		select {
		case <-hup:
			_ = agent.Reload()
		case <-ctx.Done():
			return
		}
	}
}
