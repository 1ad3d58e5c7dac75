package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/health"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check the settings, or show those in force",
	}
	cmd.AddCommand(configCheckCommand(), configShowCommand())
	return cmd
}

// requireVerb refuses a group, such as "config", without one of its verbs.
func requireVerb(cmd *cobra.Command, _ []string) error {
	return badInput(errors.New("say what to do (see '" + cmd.CommandPath() + " --help')"))
}

// checkedConfig is the JSON of 'sidetone config check' for valid settings.
type checkedConfig struct {
	OK        bool   `json:"ok"`
	Catalogue string `json:"catalogue"` // "" if none is set
}

func configCheckCommand() *cobra.Command {
	return withJSON(withSettings(&cobra.Command{
		Use:   "check",
		Short: "Read the settings and the catalogue as 'run' would",
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			warnIgnored(cmd, set.Ignored)
			return respond(cmd, checkedConfig{OK: true, Catalogue: set.Config.Catalogue}, func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "settings are in order; catalogue: %s\n", cmp.Or(set.Config.Catalogue, "none"))
				return err
			})
		},
	}))
}

// warnIgnored warns that the administrator's settings are ignored, why, and what to do.
func warnIgnored(cmd *cobra.Command, ignored *health.Condition) {
	if ignored != nil {
		line(cmd.ErrOrStderr(), "%s %s", health.English.Message(*ignored), health.English.Remedy(*ignored))
	}
}

// origin describes where a setting comes from. It names the layer if the file's name does not show that.
func origin(s config.Setting) string {
	if s.Layer == config.LayerPolicy || s.Layer == config.LayerVendor {
		return string(s.Layer) + " " + s.Origin
	}
	return s.Origin
}

func configShowCommand() *cobra.Command {
	return withJSON(withSettings(&cobra.Command{
		Use:   "show",
		Short: "Show every setting, its value and where that comes from",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from := settingsSources(cmd)
			_, list, problems := config.Load(from)
			if err := app.Input(problems, nil); err != nil {
				return err
			}
			warnIgnored(cmd, app.Ignored(from))
			return respond(cmd, list, func(w io.Writer) error {
				t := newTable(w)
				for _, s := range list {
					fmt.Fprintf(t, "%s\t%s\t%s\n", s.Path, cmp.Or(s.Value, "none"), origin(s))
				}
				return t.Flush()
			})
		},
	}))
}
