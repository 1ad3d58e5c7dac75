package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/service"
)

func serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Have the agent start at log-in, and look after it",
		Long: `Registers the agent with the user's service manager (systemd), which starts it at log-in and again if it
fails. Where there is none the desktop starts it at log-in, and nothing restarts it (docs/service.md).
It belongs to one user; nothing here needs root.`,
		Args: knownVerb,
		RunE: needsVerb,
	}
	cmd.AddCommand(
		serviceInstallCommand(),
		serviceVerb("uninstall", "Stop the agent, and have it not start at log-in any more",
			[2]string{"uninstalled", "not installed, and it does not run"}, service.Manager.Uninstall),
		serviceVerb("start", "Start the installed agent", [2]string{"started", "it runs already"}, service.Manager.Start),
		serviceVerb("stop", "Stop the agent until the next log-in; clients' lists are emptied first",
			[2]string{"stopped", "it does not run"}, service.Manager.Stop),
		serviceVerb("restart", "Stop the agent and start it anew", [2]string{"started anew"}, service.Manager.Restart),
		serviceStatusCommand(), serviceLogsCommand(),
	)
	return cmd
}

// printFlag adds --print.
func printFlag(cmd *cobra.Command, v *bool) {
	cmd.Flags().BoolVar(v, "print", false, "only print what would be done")
}

func serviceInstallCommand() *cobra.Command {
	var in settingsFlags
	var dry bool
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Have the agent start at log-in",
		Long: `Has the agent start at each log-in, with the settings that are given as flags here and those of the settings
files; those of this shell's environment are not there then. Settings and catalogue are checked first.
It does not start the agent: 'sidetone service start' does. Installing again changes what has changed;
an agent that runs takes it over when it is started anew.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := forThisUser(); err != nil {
				return err
			}
			args, err := in.runArguments(cmd)
			if err != nil {
				return err
			}
			m, err := serviceManager(args)
			if err != nil {
				return err
			}
			return carryOut(cmd, dry, [2]string{
				"installed: it starts at the next log-in, and now with 'sidetone service start'", "already installed",
			}, m.Install)
		},
	}
	in.add(cmd)
	printFlag(cmd, &dry)
	return cmd
}

// forThisUser refuses what would register the agent for root, who has no session.
func forThisUser() error {
	if os.Geteuid() == 0 && host.Getenv("SUDO_UID") != "" {
		return badInput(errors.New("sudo: the agent belongs to one user's session: run this as that user, without sudo"))
	}
	return nil
}

// runArguments are those of an agent with the settings that are given as flags. They are checked with what it will find: not the
// environment of this shell.
func (f *settingsFlags) runArguments(cmd *cobra.Command) ([]string, error) {
	o := f.options(cmd)
	o.Env = []string{"HOME=" + host.Getenv("HOME")}
	set, err := app.Load(o, host)
	if err != nil {
		return nil, err
	}
	if set.Catalogue == nil {
		return nil, badInput(errors.New("no catalogue: the agent would not start. Say which devices are yours with --catalogue FILE, " +
			"or 'catalogue:' in the settings file"))
	}
	args := []string{"run"}
	if f.file != "" {
		file, err := filepath.Abs(f.file)
		if err != nil {
			return nil, badInput(err)
		}
		args = append(args, "--config="+file)
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
	return args, nil
}

// serviceManager is what starts the agent that this program is, with these arguments; nil: those with which it is installed do not matter.
func serviceManager(args []string) (service.Manager, error) {
	self, err := host.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, which is to be started at log-in: %w", err)
	}
	name := brand.ProgramName(self)
	return service.New(service.Agent{Name: name, Executable: self, Arguments: args, Running: runningAgent}, host.Getenv)
}

// runningAgent finds the agent of this user and this program's brand.
func runningAgent(ctx context.Context) (service.Process, error) {
	st, err := ownStatus(ctx)
	if errors.Is(err, control.ErrNotRunning) {
		err = fs.ErrNotExist
	}
	return service.Process{PID: st.PID, Started: st.Started}, err
}

// ownStatus asks the agent of this user, where the settings files say that it is.
func ownStatus(ctx context.Context) (control.Status, error) {
	var in settingsFlags
	cmd := &cobra.Command{}
	in.add(cmd)
	c, _, problems := config.Load(in.options(cmd))
	if len(problems) > 0 {
		c = config.Default()
	}
	client, err := app.FindAgent(ctx, c, host)
	if err != nil {
		return control.Status{}, err
	}
	return client.Status(ctx)
}

// serviceVerb makes a verb that plans, and then does or prints it. says is what it answers when all is done, and when nothing had to be.
func serviceVerb(
	name, short string, says [2]string, plan func(service.Manager, context.Context) (service.Plan, error),
) *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager(nil)
			if err != nil {
				return err
			}
			return carryOut(cmd, dry, says, func(ctx context.Context) (service.Plan, error) { return plan(m, ctx) })
		},
	}
	printFlag(cmd, &dry)
	return cmd
}

// carryOut does what is planned, or only prints it.
func carryOut(cmd *cobra.Command, dry bool, says [2]string, plan func(context.Context) (service.Plan, error)) error {
	p, err := plan(cmd.Context())
	if err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	switch {
	case len(p) == 0:
		fmt.Fprintln(w, says[1])
	case dry:
		fmt.Fprint(w, p)
	default:
		if err := p.Do(cmd.Context()); err != nil {
			return err
		}
		fmt.Fprintln(w, says[0])
	}
	return nil
}

func serviceStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the agent starts at log-in, whether it runs, and since when",
		Long: `Shows what starts the agent, whether it does so at log-in, whether it runs, since when and how often it had to
be started again.

Exit code 1 if it does not run.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager(nil)
			if err != nil {
				return err
			}
			st, err := m.State(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), st)
			} else {
				err = printService(cmd.OutOrStdout(), st, time.Now())
			}
			if err == nil && !st.Running {
				return exitCode(exitFailed)
			}
			return err
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// starters are what people call the kinds.
var starters = map[service.Kind]string{
	service.Systemd:   "systemd, the user's service manager, which restarts it after a failure",
	service.Autostart: "the desktop, at log-in; nothing restarts it",
}

func printService(w io.Writer, st service.State, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, "started by", starters[st.Kind])
	row(t, "definition", st.Path+map[bool]string{true: "", false: " (not there)"}[st.Installed])
	row(t, "at log-in", map[bool]string{true: "it starts", false: "it does not start"}[st.Enabled])
	switch {
	case st.Running:
		row(t, "runs", fmt.Sprintf("as process %d, for %s", st.PID, age(st.Since, now)))
	case st.Waiting:
		row(t, "runs", "not yet, or not again: it is about to be started")
	case st.Misconfigured():
		row(t, "runs", "no: it finds its settings wrong, and is not started again ('sidetone service logs' says what is wrong)")
	case st.Result != "":
		row(t, "runs", fmt.Sprintf("no: %s, %d", st.Result, st.Exit))
	default:
		row(t, "runs", "no")
	}
	if st.Kind == service.Systemd {
		row(t, "restarts", fmt.Sprint(st.Restarts))
	}
	return t.Flush()
}

func serviceLogsCommand() *cobra.Command {
	var lines int
	var follow bool
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the log of the installed agent",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager(nil)
			if err != nil {
				return err
			}
			err = m.Logs(cmd.Context(), cmd.OutOrStdout(), lines, follow)
			if errors.Is(err, context.Canceled) {
				return nil // the user has ended it
			}
			return err
		},
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many of the last lines")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes")
	return cmd
}
