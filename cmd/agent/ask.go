package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/control"
)

// askFlags are the flags of every verb that asks the running agent.
type askFlags struct {
	file, socket, vendor string

	anyway bool // what is wrong with settings that do not say which agent is asked is warned of, and ignored
}

func (f *askFlags) add(cmd *cobra.Command) {
	configFlag(cmd, &f.file)
	cmd.Flags().StringVar(&f.socket, "control-socket", "",
		"path of the agent's socket, instead of the user's default (env "+envPrefix()+"CONTROL_SOCKET)")
	cmd.Flags().StringVar(&f.vendor, "vendor", "", "id of the vendor whose agent is meant, where several run (env "+envPrefix()+"VENDOR)")
}

// client returns a client of this user's agent.
func (f *askFlags) client(cmd *cobra.Command) (*control.Client, error) {
	c, err := f.settings(cmd)
	if err != nil {
		return nil, err
	}
	return app.FindAgent(cmd.Context(), c, host)
}

// settings returns the settings that determine which agent is asked.
func (f *askFlags) settings(cmd *cobra.Command) (*config.Config, error) {
	options := (&settingsFlags{file: f.file}).options(cmd)
	options.Flags = map[string]string{}
	for setting, value := range map[string]string{"control.socket": f.socket, "vendor": f.vendor} {
		if value != "" {
			options.Flags[setting] = value
		}
	}
	if !f.anyway {
		c, _, problems := config.Load(options)
		return c, app.Input(problems, nil)
	}
	c, others, problems := config.LoadAddress(options)
	if len(problems) == 0 && len(others) > 0 && !app.NamesAgent(c, host) { // what is wrong may be what was to name it
		return nil, app.Input(others, nil)
	}
	for _, p := range others {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: warning: settings are wrong, and the agent is looked for without them: %s\n", programName(), p)
	}
	return c, app.Input(problems, nil)
}

// askCommand makes a verb that asks the agent.
func askCommand(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	return askFor(cmd, &askFlags{}, run)
}

// askAnyway makes one that has to reach the agent whatever is wrong with the settings: one that runs keeps those it had.
func askAnyway(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	return askFor(cmd, &askFlags{anyway: true}, run)
}

func askFor(cmd *cobra.Command, in *askFlags, run func(cmd *cobra.Command, args []string, c *control.Client) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := in.client(cmd)
		if err != nil {
			return err
		}
		if err = run(cmd, args, c); errors.Is(err, context.Canceled) && cmd.Context().Err() != nil {
			return nil // interrupted by the user
		}
		return err
	}
	in.add(cmd)
	return cmd
}
