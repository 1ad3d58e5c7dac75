package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sidetone/internal/app"
	"sidetone/internal/config"
	"sidetone/internal/platform/paths"
)

// host is the machine that the agent runs on. Tests replace it.
var host = app.Host{Getenv: os.Getenv, Executable: os.Executable}

// settingsFlags are the flags of every verb that reads settings: one for each of them, and
// --config.
type settingsFlags struct{ file string }

func (f *settingsFlags) add(cmd *cobra.Command) {
	configFlag(cmd, &f.file)
	for _, k := range config.Keys() {
		cmd.Flags().String(k.Flag, "", fmt.Sprintf("%s (default %s; env %s)", k.Help, cmp.Or(k.Default, "none"), k.Env))
		if k.Values != nil {
			_ = cmd.RegisterFlagCompletionFunc(k.Flag, completeWords(k.Values)) // fails only for an unknown flag
		}
	}
}

// configFlag adds --config.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().Var((*fileName)(file), "config", "settings file, instead of the user's and the system's")
}

// fileName is the value of a flag that names a file, which must not be empty.
type fileName string

func (f *fileName) String() string { return string(*f) }
func (f *fileName) Type() string   { return "string" }

func (f *fileName) Set(name string) error {
	if name == "" {
		return errors.New("names no file")
	}
	*f = fileName(name)
	return nil
}

// options collects the flags, environment and files to load settings from.
func (f *settingsFlags) options(cmd *cobra.Command) config.Options {
	o := config.Options{
		Flags:      make(map[string]string),
		Env:        os.Environ(),
		UserFile:   paths.UserSettings(runtime.GOOS, host.Getenv),
		SystemFile: paths.SystemSettings(runtime.GOOS, host.Getenv),
		Explicit:   f.file,
	}
	o.Refused = paths.RefuseSystemSettings(o.SystemFile)
	paths := make(map[string]string)
	for _, k := range config.Keys() {
		paths[k.Flag] = k.Path
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if path, ok := paths[flag.Name]; ok {
			o.Flags[path] = flag.Value.String()
		}
	})
	return o
}

// load reads settings and, if one is set, the catalogue.
func (f *settingsFlags) load(cmd *cobra.Command) (*app.Settings, error) {
	return app.Load(f.options(cmd), host)
}

func logger(w io.Writer, l config.Log, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if l.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// stateFileFlag lets 'run' take --state-file for the flag of the setting push.state_file.
func stateFileFlag(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "state-file" {
		name = "push-state-file"
	}
	return pflag.NormalizedName(name)
}
