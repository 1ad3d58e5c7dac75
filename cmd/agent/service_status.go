package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/control"
	"sidetone/internal/crash"
	"sidetone/internal/health"
	"sidetone/internal/service"
)

// serviceStatus is what 'service status' says: how the registered agent is, and whether it has crashed.
type serviceStatus struct {
	service.State
	SafeMode  bool       `json:"safe_mode"`
	LastCrash *lastCrash `json:"last_crash,omitempty"`
}

type lastCrash struct {
	Time   time.Time `json:"time"`
	Report string    `json:"report"` // path
}

func serviceStatusCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether the agent starts at log-in, whether it runs, and since when",
		Long: `Shows what starts the agent, whether it does so at log-in, whether it runs, since when, how often it had to be
started again, whether it is in safe mode, and when it crashed last.

Exit code 1 if it does not run.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager(nil, nil)
			if err != nil {
				return err
			}
			var st serviceStatus
			if st.State, err = m.State(cmd.Context()); err != nil {
				return err
			}
			st.addCrashes(cmd.Context())
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

// addCrashes adds what can be told of crashes. An agent that does not answer leaves no report unread.
func (st *serviceStatus) addCrashes(ctx context.Context) {
	settings := ownSettings()
	if folders, err := app.StateFolders(settings, host); err == nil {
		if report, at := crash.Last(folders); report != "" {
			st.LastCrash = &lastCrash{at, report}
		}
	}
	if !st.Running {
		return
	}
	client, err := app.FindAgent(ctx, settings, host)
	if err != nil {
		return
	}
	if agent, err := client.Status(ctx); err == nil {
		st.SafeMode = slices.ContainsFunc(agent.Conditions, func(c control.Condition) bool { return c.Code == health.AgentSafeMode })
	}
}

// starters are what people call the kinds.
var starters = map[service.Kind]string{
	service.Systemd:   "systemd, the user's service manager, which restarts it after a failure",
	service.Autostart: "the desktop, at log-in; nothing restarts it",
}

// starts says whether something starts at log-in.
var starts = map[bool]string{true: "it starts", false: "it does not start"}

func printService(w io.Writer, st serviceStatus, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row(t, "started by", starters[st.Kind])
	row(t, "definition", st.Path+map[bool]string{true: "", false: " (not there)"}[st.Installed])
	row(t, "at log-in", starts[st.Enabled])
	row(t, "its tray", starts[st.Tray])
	row(t, "runs", runs(st, now))
	if st.Kind == service.Systemd {
		row(t, "restarts", fmt.Sprint(st.Restarts))
	}
	if st.LastCrash != nil {
		row(t, "last crash", fmt.Sprintf("%s ago: %s", age(st.LastCrash.Time, now), st.LastCrash.Report))
	}
	return t.Flush()
}

func runs(st serviceStatus, now time.Time) string {
	switch {
	case st.Running && st.SafeMode:
		return fmt.Sprintf("as process %d, for %s, in safe mode: it has crashed again and again", st.PID, age(st.Since, now))
	case st.Running:
		return fmt.Sprintf("as process %d, for %s", st.PID, age(st.Since, now))
	case st.Waiting:
		return "not yet, or not again: it is about to be started"
	case st.EndedWith(service.ExitConfig):
		return "no: it finds its settings wrong, and is not started again ('sidetone service logs' says what is wrong)"
	case st.EndedWith(service.ExitRunning):
		return "no: another agent ran already, and it is not started again ('sidetone service logs' says which)"
	case st.Result != "":
		return fmt.Sprintf("no: %s, %d", st.Result, st.Exit)
	default:
		return "no"
	}
}
