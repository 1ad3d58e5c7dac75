package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
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
	var replace bool
	var inPlaceOf string
	cmd := withSettings(&cobra.Command{
		Use:   "run",
		Short: "Report devices to the client until stopped",
		Long: `Watches the endpoints of this machine and keeps the client's list of certified devices up to
date. Logs one line for each change: what changed, to whom it was sent, and how long after the OS
event the client answered.

--replace takes over from the running agent once this one is ready: clients keep their lists, pushed
states and the pause stay in force, and the old agent ends with exit code 0. If that fails, this one
ends with exit code 1, and the old one continues (docs/service.md).

SIGHUP reads settings and catalogue again; if they are wrong, the old ones stay in force.
SIGTERM and SIGINT empty the client's list and end with exit code 0. Under systemd, to which it
signals that it is ready and still answers, wrong input is exit code 78 (docs/service.md).`,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd, replace, inPlaceOf) },
	})
	cmd.Flags().BoolVar(&replace, "replace", false, "take over from the running agent")
	cmd.Flags().StringVar(&inPlaceOf, "in-place-of", "", "the identity of the agent that has started this one")
	_ = cmd.Flags().MarkHidden("in-place-of") // for successor
	return cmd
}

// run runs an agent until it is told to end, or a successor takes over.
func run(cmd *cobra.Command, replace bool, inPlaceOf string) error {
	// These come first and are never undone: a SIGHUP that comes while the agent starts or ends would kill it, and whoever takes the names
	// of the installer's events first owns them.
	hup := reloadRequests()
	requests, listenErr := installation.Listen()
	set, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	if own := identityOf(set); inPlaceOf != "" && inPlaceOf != own {
		return fmt.Errorf("this program and its catalogue are for %s, and the agent that has started it is for %s, and goes on", own, inPlaceOf)
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
	exit := func(err error) {
		code, _ := exitCodeOf(exitOf(agent.Ending(), err, supervised), []string{cmd.Name()})
		log.flush()
		os.Exit(code)
	}
	options := app.Options{
		AwaitLocks: supervised,
		Settings:   set, Load: func() (*app.Settings, error) { return loadSettings(cmd) },
		Host: host, Version: version, Log: log.Logger, LogLevel: level, LogFile: log.file, OwnProcess: true, LastCrash: lastCrash,
		EndProcess: func() { exit(nil) }, Overdue: exit,
		Replace: replace, Successor: func() (*exec.Cmd, error) { return successor(program, identityOf(set)), unknown },
	}
	if manager != nil {
		options.Succeeded = manager.HandOver
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
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { reloadAt(ctx, hup, agent) })
	if manager != nil {
		beside.Go(func() { manager.Run(ctx, func() { agent.Ping(ctx) }, log.Logger) })
	}
	err = agent.Run(ctx)
	return exitOf(agent.Ending(), err, supervised)
}

// serveInstaller does what the package of this program asks, until the process ends. Requests run at the same time: an upgrade may take
// minutes, during which the package may be removed.
func serveInstaller(requests <-chan installation.Request, agent *app.App, log *slog.Logger) {
	for r := range requests {
		log.Info("the installer asks", "request", r)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), control.MaxUpgrade)
			defer cancel()
			switch r {
			case installation.End:
				agent.Stop(ctx, true)
			case installation.Upgrade:
				_ = agent.Upgrade(ctx) // which logs what is wrong
			}
		}()
	}
}

func identityOf(set *app.Settings) string { return set.Identity.ID + "/" + set.Identity.ClientID }

// successor returns the command that runs the program on disk with the arguments of this process, to take over from it. It names this
// agent's identity, because a program of another vendor would find no agent to replace, and run beside this one.
func successor(program, identity string) *exec.Cmd {
	args := slices.Clone(os.Args[1:])
	for _, further := range []string{"--replace", "--in-place-of=" + identity} {
		if !slices.Contains(args, further) {
			args = append(args, further)
		}
	}
	cmd := exec.Command(program, args...) //nolint:noctx // it has to outlive this process
	cmd.Env = service.SuccessorEnv(os.Environ())
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

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
