package main

import (
	"context"
	"log/slog"
	"os"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/control"
	"sidetone/internal/installation"
	"sidetone/internal/service"
	"sidetone/internal/supervise"
)

func runCommand() *cobra.Command {
	var replace, try bool
	cmd := withSettings(&cobra.Command{
		Use:   "run",
		Short: "Report devices to the client until stopped",
		Long: `Watches the endpoints of this machine and keeps the client's list of certified devices up to
date. Logs one line for each change: what changed, to whom it was sent, and how long after the OS
event the client answered.

--replace has the running agent end as for an update: clients keep its devices and no mute, until
this agent tells them more. It waits 10 s for that agent's lock (docs/service.md).

--try shows that this program would start, as an agent does with its newer program before an update:
it reads settings and catalogue, lists sound and camera endpoints, prints for whom it would run, and
ends within 10 s. It opens no HID device, takes no lock, contacts no client and writes no file.

SIGHUP reads settings and catalogue again; if they are wrong, the old ones stay in force.
SIGTERM and SIGINT empty the client's list and end with exit code 0. Under systemd, to which it
signals that it is ready and still answers, wrong input is exit code 78 (docs/service.md).`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if try {
				return tryRun(cmd)
			}
			return run(cmd, replace)
		},
	})
	cmd.Flags().BoolVar(&replace, "replace", false, "have the running agent make way")
	cmd.Flags().BoolVar(&try, "try", false, "show that the agent would start, and end")
	return cmd
}

// run runs an agent until it is told to end, or makes way for a newer program.
func run(cmd *cobra.Command, replace bool) error {
	// These come first and are never undone: a SIGHUP that comes while the agent starts or ends would kill it, and whoever takes the names
	// of the installer's events first owns them.
	hup := reloadRequests()
	requests, listenErr := installation.Listen()
	set, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	app.TuneRuntime(host.Getenv)
	level := new(slog.LevelVar)
	level.Set(set.Config.Log.Level.Slog())
	log := newRunLog(cmd.ErrOrStderr(), set, level)
	defer log.flush()
	cmd.Root().SetErr(log.stderr) // why the process ends must not keep it from ending, either
	manager := service.NewNotifier(host.Getenv)
	program, unknown := os.Executable() // now: once the program is moved, the system tells its new place
	program = service.LastingName(program, os.Args[0], host.Getenv)
	lastCrash, _ := strconv.Atoi(host.Getenv(supervise.LastExitVariable)) // 0 if it is not set
	var agent *app.App
	supervised := host.Getenv(supervise.StopEventVariable) != ""
	updates := func() bool { return agent.Ending() == app.EndsForUpdate }
	end := func(err error) error {
		if updates() && !supervised {
			log.flush()
			return restart(cmd.Context(), program)
		}
		return exitOf(agent.Ending(), err, supervised)
	}
	exit := func(err error) {
		code, _ := exitCodeOf(end(err), []string{cmd.Name()})
		log.flush()
		os.Exit(code)
	}
	options := app.Options{
		Settings: set, Load: func() (*app.Settings, error) { return loadSettings(cmd) },
		Host: host, Version: version, Log: log.Logger, LogLevel: level, LogFile: log.file, OwnProcess: true, LastCrash: lastCrash,
		EndProcess: func() { exit(nil) }, Overdue: exit,
		Try: func(ctx context.Context) error {
			if unknown != nil {
				return unknown
			}
			return tryProgram(ctx, program, identityOf(set))
		},
	}
	switch {
	case replace:
		options.AwaitLocks = app.ReplaceTimeout
		if err := app.MakeWay(cmd.Context(), set, host); err != nil {
			return err
		}
	case supervised:
		options.AwaitLocks = app.EndTimeout
	}
	agent, err = app.New(options)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	if err := service.ServeSupervisor(host.Getenv, cancel, func() { agent.Ping(ctx) }); err != nil {
		log.Warn("the program that started the agent cannot ask it everything", "reason", err)
	}
	if listenErr != nil {
		log.Warn("an installer cannot have the agent end in order", "reason", listenErr)
	} else {
		go serveInstaller(requests, agent, log.Logger)
	}
	defer cancel()
	var beside sync.WaitGroup
	beside.Go(func() { reloadAt(ctx, hup, agent) })
	if manager != nil {
		beside.Go(func() { manager.Run(ctx, func() { agent.Ping(ctx) }, updates, log.Logger) })
	}
	err = agent.Run(ctx)
	cancel()
	beside.Wait() // a program that takes the place of this one would cut them off
	return end(err)
}

// serveInstaller does what the package of this program asks, until the process ends. Requests run at the same time: the package may be
// removed during an upgrade.
func serveInstaller(requests <-chan installation.Request, agent *app.App, log *slog.Logger) {
	for r := range requests {
		log.Info("the installer asks", "request", r)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), control.MaxUpdate)
			defer cancel()
			switch r {
			case installation.End:
				agent.Stop(ctx, control.ListEmpty)
			case installation.Upgrade:
				_ = agent.Upgrade(ctx) // which logs what is wrong
			}
		}()
	}
}

func identityOf(set *app.Settings) string { return set.Identity.ID + "/" + set.Identity.ClientID }

// reloadAt makes the agent reload its configuration, which it logs, at each signal.
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
