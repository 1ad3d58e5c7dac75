package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/paths"
	"sidetone/internal/service"
)

func serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Start the agent at log-in, and manage it",
		Long: `Registers the agent with the user's service manager (systemd), which starts it at log-in and restarts it
after a failure. Without one, the desktop starts it at log-in, and nothing restarts it. Windows starts it at log-in with a
program that restarts it after a failure (docs/service.md).
It belongs to one user; only --global needs root or an administrator.`,
	}
	cmd.AddCommand(
		serviceInstallCommand(),
		serviceUninstallCommand(),
		serviceVerb("start", "Start the installed agent", [2]string{"started", "it runs already"}, service.Manager.Start),
		serviceVerb("stop", "Stop the agent until the next log-in; clients' lists are emptied first",
			[2]string{"stopped", "it does not run"}, service.Manager.Stop),
		serviceVerb("restart", "Stop the agent and start it anew", [2]string{"started anew"}, service.Manager.Restart),
		serviceStatusCommand(), serviceLogsCommand(),
	)
	return cmd
}

// printFlag adds --print.
func printFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().Bool("print", false, "only print what would be done")
	return cmd
}

func serviceInstallCommand() *cobra.Command {
	var forAll bool
	var as string
	cmd := withSettings(&cobra.Command{
		Use:   "install",
		Short: "Start the agent at each log-in",
		Long: `Starts the agent at each log-in, with the settings given as flags here and those of the settings files,
but not those of this shell's environment. Settings and catalogue are checked first. It does not start
the agent now; 'sidetone service start' does. Installing again updates what has changed; a running agent
uses it after its next start. One program starts the agent of one vendor: for another vendor's, uninstall
the first, or use a program with a brand and a name of its own.

With --global, as root or administrator, it starts for every user of this machine, as that user.

--as selects what starts it. On Windows: run, a value of the Run key; task, a task of the Task Scheduler; service, a service with
an agent in each session, which is --global. On Linux: systemd, which is preferred, or autostart (docs/service.md).

Exit codes: 0 done; 1 it did not work; 2 the input is wrong, or another vendor's agent is installed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			forAll = forAll || service.Kind(as) == service.Service
			if os.Geteuid() == 0 && host.Getenv("SUDO_UID") != "" && !forAll { // root has no session
				return badInput(errors.New("sudo: the agent belongs to one user's session: run this as that user, without sudo"))
			}
			args, trayFlags, err := runArguments(cmd)
			if err != nil {
				return err
			}
			says := "installed: it starts at the next log-in, and now with 'sidetone service start'"
			if forAll {
				says = "installed for all users: it starts at their next log-in"
			}
			i, err := installer(forAll, service.Kind(as), args, trayFlags)
			if err == nil {
				err = refuseOtherVendor(cmd.Context(), i, args)
			}
			if err != nil {
				return err
			}
			return executePlan(cmd, [2]string{says, "already installed"}, i.Install)
		},
	})
	installFlags(cmd, &forAll)
	cmd.Flags().StringVar(&as, "as", "", "what starts it (default: as installed, else the first available)")
	_ = cmd.RegisterFlagCompletionFunc("as", completeWords(service.Kinds())) // fails only for an unknown flag
	return cmd
}

func serviceUninstallCommand() *cobra.Command {
	var forAll bool
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Stop the agent, and no longer start it at log-in",
		Long: `Stops the agent and removes what 'install' wrote. With --global, as root, it undoes
'install --global'; running agents continue until their users log out.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := installer(forAll, "", nil, nil)
			if err != nil {
				return err
			}
			says := [2]string{"uninstalled", "not installed, and it does not run"}
			if forAll {
				says[1] = "not installed for all users"
			}
			return executePlan(cmd, says, i.Uninstall)
		},
	}
	installFlags(cmd, &forAll)
	return cmd
}

func installFlags(cmd *cobra.Command, forAll *bool) {
	printFlag(cmd)
	cmd.Flags().BoolVar(forAll, "global", false, "for all users of this machine; needs root or an administrator")
}

// installer registers the agent for this user, or for all.
func installer(forAll bool, as service.Kind, args, trayFlags []string) (service.Installer, error) {
	if !forAll {
		return managerAs(as, args, trayFlags)
	}
	a, err := thisAgent(args, trayFlags)
	if err != nil {
		return nil, err
	}
	return service.NewGlobal(a, as)
}

// refuseOtherVendor refuses to replace the registered agent of another vendor, which would no longer start.
func refuseOtherVendor(ctx context.Context, i service.Installer, args []string) error {
	installed, err := i.Arguments(ctx)
	if err != nil {
		return err
	}
	was, is := settingsOf(installed).Vendor, settingsOf(args).Vendor
	if installed == nil || was == "" || was == is {
		return nil
	}
	return badInput(fmt.Errorf("the agent of vendor %s is installed, and that of %s would take its place: "+
		"'sidetone service uninstall' first, or give each vendor a program with a brand file and a name of its own", was, is))
}

// runArguments returns the arguments of an agent with the settings that are given as flags, and the flags of its tray. The settings are
// checked as the agent will find them, without the environment of this shell.
func runArguments(cmd *cobra.Command) (args, trayFlags []string, err error) {
	o := settingsSources(cmd)
	o.Env = loginEnv()
	set, err := app.Load(o, host)
	if err != nil {
		return nil, nil, err
	}
	if set.Catalogue == nil {
		return nil, nil, badInput(errors.New("no catalogue: the agent would not start. Say which devices are yours with --catalogue FILE, " +
			"or 'catalogue:' in the settings file"))
	}
	args = []string{"run"}
	if o.Explicit != "" {
		if o.Explicit, err = filepath.Abs(o.Explicit); err != nil {
			return nil, nil, badInput(err)
		}
		args = append(args, "--config="+o.Explicit)
	}
	flags := make(map[string]string)
	for _, k := range config.Keys() {
		flags[k.Path] = k.Flag
	}
	for _, s := range set.Origins {
		if _, given := o.Flags[s.Path]; given {
			args = append(args, "--"+flags[s.Path]+"="+s.Value) // with absolute paths
		}
	}
	if _, given := o.Flags["vendor"]; !given {
		args = append(args, "--vendor="+set.Identity.ID) // keep this vendor even if the catalogue is replaced
	}
	// The tray may start before the agent, so its flags say which vendor's agent it belongs to.
	return args, agentFlags(o.Explicit, set.Config.Control.Socket, set.Identity.ID), nil
}

// loginEnv returns the part of this shell's environment that an agent also has if a service manager or a desktop starts it.
func loginEnv() []string { return []string{"HOME=" + host.Getenv("HOME")} }

// serviceManager returns the manager that starts this program as an agent.
func serviceManager() (m service.Manager, err error) { return managerAs("", nil, nil) }

// managerAs returns a manager that would register the agent with these arguments, and its tray with these flags. The running agent that it
// means is the registered one: one of another vendor may run as well.
func managerAs(as service.Kind, args, trayFlags []string) (m service.Manager, err error) {
	a, err := thisAgent(args, trayFlags)
	if err != nil {
		return nil, err
	}
	a.Running = func(ctx context.Context) (p service.Process, err error) {
		client, err := app.FindAgent(ctx, registeredSettings(ctx, m), host)
		if err != nil {
			return p, err
		}
		st, err := client.Status(ctx)
		if errors.Is(err, control.ErrNotRunning) {
			err = fs.ErrNotExist
		}
		return service.Process{PID: st.PID, Started: st.Started, Stop: client.Stop}, err
	}
	a.LogFile = func(ctx context.Context) (string, error) { return lastLog(registeredSettings(ctx, m)) }
	m, err = service.New(a, as, host.Getenv)
	return m, err
}

// registeredSettings are those of the agent that is registered; where none is, or not by us, those that this shell's environment says.
func registeredSettings(ctx context.Context, i service.Installer) *config.Config {
	args, err := i.Arguments(ctx)
	if err != nil {
		args = nil
	}
	return settingsOf(args)
}

// settingsOf returns the settings of an agent that is started at log-in with these arguments; nil: of one that is started here.
func settingsOf(args []string) *config.Config {
	cmd := withSettings(&cobra.Command{})
	_ = cmd.ParseFlags(args) // flags unknown to this version are ignored
	o := settingsSources(cmd)
	if args != nil {
		o.Env = loginEnv()
	}
	c, _, problems := config.Load(o)
	if len(problems) > 0 {
		c = config.Default()
		c.Vendor = o.Flags["vendor"]
	}
	return c
}

// thisAgent describes this program as an agent with these arguments, and its tray with these flags. Both may be nil for what does not
// install anything.
func thisAgent(args, trayFlags []string) (a service.Agent, err error) {
	self, err := host.Executable()
	if err != nil {
		return a, fmt.Errorf("find this program, which is to be started at log-in: %w", err)
	}
	program := service.LastingName(self, os.Args[0], host.Getenv)
	tray := desktop.TrayEntry(brand.ProgramName(self), brand.TrayCommand(program), trayFlags)
	if _, err := os.Stat(brand.TrayOf(self)); err != nil {
		tray.Command = nil
	}
	return service.Agent{
		Name: brand.ProgramName(self), Executable: program, Arguments: args, Tray: tray,
	}, nil
}

// lastLog returns the newest log file of the agent that the settings mean.
func lastLog(c *config.Config) (string, error) {
	folders, err := app.StateFolders(c, host)
	if err != nil {
		return "", err
	}
	var newest string
	var at time.Time
	for _, folder := range folders {
		path := filepath.Join(folder, paths.LogName)
		if info, err := os.Stat(path); err == nil && info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no agent has kept a log in %s", strings.Join(folders, ", "))
	}
	return newest, nil
}

// serviceVerb makes a verb that executes or prints a plan. says is its answer when the plan is done, and when there was nothing to do.
func serviceVerb(
	name, short string, says [2]string, plan func(service.Manager, context.Context) (service.Plan, error),
) *cobra.Command {
	return printFlag(&cobra.Command{
		Use:   name,
		Short: short,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager()
			if err != nil {
				return err
			}
			return executePlan(cmd, says, func(ctx context.Context) (service.Plan, error) { return plan(m, ctx) })
		},
	})
}

// executePlan executes a plan or, with --print, only prints it.
func executePlan(cmd *cobra.Command, says [2]string, plan func(context.Context) (service.Plan, error)) error {
	p, err := plan(cmd.Context())
	if err != nil {
		return err
	}
	w, left, answer := cmd.OutOrStdout(), p.Left(), says[0]
	switch {
	case len(p) == len(left):
		answer = says[1]
	case valueOf(cmd, "print") == "true":
		fmt.Fprint(w, p)
		return nil
	default:
		if err := p.Do(cmd.Context()); err != nil {
			return err
		}
	}
	fmt.Fprint(w, left)
	fmt.Fprintln(w, answer)
	return nil
}

func serviceLogsCommand() *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the log of the installed agent",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 0 {
				return badInput(fmt.Errorf("--lines %d: want 0 or more", lines))
			}
			m, err := serviceManager()
			if err != nil {
				return err
			}
			err = m.Logs(cmd.Context(), cmd.OutOrStdout(), lines, follow)
			if errors.Is(err, context.Canceled) {
				return nil // interrupted by the user
			}
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many of the last lines to print")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new lines")
	return cmd
}
