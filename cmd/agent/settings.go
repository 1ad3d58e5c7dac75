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
	"sidetone/internal/brand"
	"sidetone/internal/config"
	"sidetone/internal/platform/paths"
)

// host is the machine that the agent runs on. Tests replace it.
var host = app.Host{Getenv: os.Getenv, Executable: os.Executable, Etc: paths.Etc, Run: paths.Run}

// programName returns the name of this program, after which its files on this machine are named.
func programName() string { return app.ProgramName(host) }

func envPrefix() string { return brand.EnvPrefix(programName()) }

// withSettings adds the flags of every verb that reads settings: one for each of them, and --config.
func withSettings(cmd *cobra.Command) *cobra.Command {
	configFlag(cmd)
	for _, k := range config.Keys() {
		cmd.Flags().String(k.Flag, "", fmt.Sprintf("%s (default %s; env %s)", k.Help, cmp.Or(k.Default, "none"), envPrefix()+k.Env))
		if k.Values != nil {
			_ = cmd.RegisterFlagCompletionFunc(k.Flag, completeWords(k.Values)) // fails only for an unknown flag
		}
	}
	return cmd
}

// configFlag adds --config.
func configFlag(cmd *cobra.Command) {
	cmd.Flags().Var(new(fileName), "config", "settings file, instead of the user's and the system's")
}

// valueOf returns the value of a flag; "" if the verb has no such flag.
func valueOf(cmd *cobra.Command, flag string) string {
	if f := cmd.Flag(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

// fileName is the value of a flag that names a file. It must not be empty.
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

// settingsSources returns the flags, environment and files that settings are loaded from.
func settingsSources(cmd *cobra.Command) config.Options {
	name := programName()
	o := config.Options{
		Flags:      make(map[string]string),
		Env:        os.Environ(),
		EnvPrefix:  brand.EnvPrefix(name),
		UserFile:   paths.UserSettings(runtime.GOOS, name, host.Getenv),
		SystemFile: paths.SystemSettings(runtime.GOOS, name, host.Getenv),
		Explicit:   valueOf(cmd, "config"),
	}
	o.VendorFile, o.Policy = settingsOfOthers(name)
	for _, path := range []string{paths.PackageKey(name), paths.PolicyKey(name)} {
		key, values, err := paths.PolicyValues(path)
		o.Registry = append(o.Registry, config.Registry{Key: key, Values: values, Err: err})
	}
	o.Refused = paths.CheckSystemSettings(o.SystemFile)
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

// settingsOfOthers returns the files of the vendor's defaults, and those of what vendor and administrator have decided.
func settingsOfOthers(name string) (defaults string, policy []string) {
	if self, err := host.Executable(); err == nil && name != brand.Unbranded {
		var own string
		defaults, own = brand.SettingsFiles(self)
		if _, err := os.Stat(own); err == nil {
			policy = append(policy, own)
		}
	}
	folder := paths.Policy(runtime.GOOS, name)
	files, err := paths.PolicyFiles(folder)
	if err != nil {
		files = []string{folder} // reading it as a file says why it cannot be read
	}
	return defaults, append(policy, files...)
}

// loadSettings reads settings and, if one is set, the catalogue.
func loadSettings(cmd *cobra.Command) (*app.Settings, error) {
	return app.Load(settingsSources(cmd), host)
}

func logger(w io.Writer, l config.Log, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if l.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
