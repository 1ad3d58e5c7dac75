package main

import (
	"context"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/crash"
	"sidetone/internal/health"
	"sidetone/internal/service"
	"sidetone/internal/supervise"
	"sidetone/internal/texts"
)

// serviceStatus is the JSON of 'service status': the state of the registered agent, and whether it has crashed.
type serviceStatus struct {
	service.State
	Vendor    string     `json:"vendor,omitempty"`  // whose agent is registered, if it says so
	Address   string     `json:"address,omitempty"` // of its local API, while it is registered
	SafeMode  bool       `json:"safe_mode"`
	LastCrash *lastCrash `json:"last_crash,omitempty"`
}

type lastCrash struct {
	Time   time.Time `json:"time"`
	Report string    `json:"report"` // path
}

func serviceStatusCommand() *cobra.Command {
	return withJSON(&cobra.Command{
		Use:   "status",
		Short: "Show whether the agent starts at log-in, whether it runs, and since when",
		Long: `Shows what starts the agent, whether it does so at log-in, whether it runs, since when, how often it had to be
restarted, whether it is in safe mode, and when it last crashed. It covers the installed agent; another
vendor's agent may run next to it ('sidetone status').

Exit code 1 if it does not run.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := serviceManager()
			if err != nil {
				return err
			}
			var st serviceStatus
			if st.State, err = m.State(cmd.Context()); err != nil {
				return err
			}
			settings := registeredSettings(cmd.Context(), m)
			st.addAddress(cmd.Context(), settings)
			st.addCrashes(cmd.Context(), settings)
			return failedIf(!st.Running, respond(cmd, st, func(w io.Writer) error {
				return printService(w, words{wordsFor(cmd), time.Now()}, st)
			}))
		},
	})
}

// addAddress adds which agent is registered.
func (st *serviceStatus) addAddress(ctx context.Context, c *config.Config) {
	if !st.Installed || c.Vendor == "" && c.Control.Socket == "" {
		return
	}
	st.Vendor = c.Vendor
	st.Address, _ = app.AgentAddress(ctx, c, host) // a program of another brand has none
}

// addCrashes adds the last crash, whether or not the agent answers, and whether it is in safe mode.
func (st *serviceStatus) addCrashes(ctx context.Context, settings *config.Config) {
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

func printService(out io.Writer, w words, st serviceStatus) error {
	t := newTable(out)
	say := func(label, key string, args texts.Args) {
		row(t, w.Text("cli.service."+label, nil), w.Text("cli.service."+key, args))
	}
	starts := map[bool]string{true: "enabled", false: "enabled.not"}
	say("starter", "starter."+string(st.Kind), nil)
	say("definition", map[bool]string{true: "path", false: "path.not"}[st.Installed], texts.Args{"path": st.Path})
	if st.Missing == "" {
		say("login", starts[st.Enabled], nil)
	} else {
		broken := health.Condition{Code: health.ServiceBroken, Args: health.Args{"path": st.Path, "program": st.Missing}}
		row(t, w.Text("cli.service.login", nil), w.Message(broken)+" "+w.Remedy(broken))
	}
	say("tray", starts[st.Tray], nil)
	say("runs", st.runs(), texts.Args{
		"pid": strconv.Itoa(st.PID), "age": age(st.Since, w.now), "result": st.Result, "exit": strconv.Itoa(st.Exit),
	})
	if st.Kind == service.Systemd {
		row(t, w.Text("cli.service.restarts", nil), strconv.Itoa(st.Restarts))
	}
	if st.LastCrash != nil {
		say("crash", "crashed", texts.Args{"age": age(st.LastCrash.Time, w.now), "path": st.LastCrash.Report})
	}
	return t.Flush()
}

// runs returns the key of the message that says whether it runs, and if not, why.
func (st *serviceStatus) runs() string {
	switch {
	case st.Running && st.SafeMode:
		return "running.safe"
	case st.Running:
		return "running"
	case st.Waiting:
		return "waiting"
	case st.EndedWith(supervise.ExitConfig):
		return "misconfigured"
	case st.EndedWith(supervise.ExitRunning):
		return "other"
	case st.Result != "":
		return "failed"
	default:
		return "stopped"
	}
}
