package main

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/control"
)

// findAgent returns a client of this user's agent.
func findAgent(cmd *cobra.Command, anyway bool) (*control.Client, error) {
	c, err := agentSettings(cmd, anyway)
	if err != nil {
		return nil, err
	}
	return app.FindAgent(cmd.Context(), c, host)
}

// agentSettings returns the settings that say which agent is asked. With anyway, mistakes in other settings are only warned of.
func agentSettings(cmd *cobra.Command, anyway bool) (*config.Config, error) {
	options := settingsSources(cmd)
	options.Flags = map[string]string{"control.socket": valueOf(cmd, "control-socket"), "vendor": valueOf(cmd, "vendor")}
	maps.DeleteFunc(options.Flags, func(_, value string) bool { return value == "" })
	if !anyway {
		c, _, problems := config.Load(options)
		return c, app.Input(problems, nil)
	}
	c, others, problems := config.LoadAddress(options)
	if len(problems) == 0 && len(others) > 0 && !app.NamesAgent(c, host) { // one of the mistakes may be in what was to name it
		return nil, app.Input(others, nil)
	}
	for _, p := range others {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: settings are wrong, and the agent is looked for without them: %s\n", programName(), p)
	}
	return c, app.Input(problems, nil)
}

// askCommand makes a verb that asks the agent.
func askCommand(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	return askFor(cmd, false, run)
}

// askAnyway makes a verb that has to reach the agent even if the settings are wrong: a running agent keeps those that it had.
func askAnyway(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	return askFor(cmd, true, run)
}

func askFor(cmd *cobra.Command, anyway bool, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := findAgent(cmd, anyway)
		if err != nil {
			return err
		}
		if err = run(cmd, args, c); errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
			return nil // interrupted by the user
		}
		return err
	}
	return withAgent(cmd)
}

// withAgent adds the flags of every verb that asks the running agent.
func withAgent(cmd *cobra.Command) *cobra.Command {
	configFlag(cmd)
	cmd.Flags().String("control-socket", "",
		"path of the agent's socket, instead of the user's default (env "+envPrefix()+"CONTROL_SOCKET)")
	cmd.Flags().String("vendor", "", "id of the vendor whose agent is meant, where several run (env "+envPrefix()+"VENDOR)")
	return cmd
}
