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
var host = app.Host{Getenv: os.Getenv, Executable: os.Executable}

// programName is what this program is called, and what is its own on this machine is named after.
func programName() string { return app.ProgramName(host) }

func envPrefix() string { return brand.EnvPrefix(programName()) }

// settingsFlags are the flags of every verb that reads settings: one for each of them, and
// --config.
type settingsFlags struct{ file string }

func (f *settingsFlags) add(cmd *cobra.Command) {
	configFlag(cmd, &f.file)
	for _, k := range config.Keys() {
		cmd.Flags().String(k.Flag, "", fmt.Sprintf("%s (default %s; env %s)", k.Help, cmp.Or(k.Default, "none"), envPrefix()+k.Env))
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
	name := programName()
	o := config.Options{
		Flags:      make(map[string]string),
		Env:        os.Environ(),
		EnvPrefix:  brand.EnvPrefix(name),
		UserFile:   paths.UserSettings(runtime.GOOS, name, host.Getenv),
		SystemFile: paths.SystemSettings(runtime.GOOS, name, host.Getenv),
		Explicit:   f.file,
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

// settingsOfOthers are the files of the vendor's defaults, and of what vendor and administrator have decided.
func settingsOfOthers(name string) (defaults string, policy []string) {
	if self, err := host.Executable(); err == nil && name != brand.Unbranded {
		var own string
		if defaults, own = brand.SettingsBeside(self); exists(own) {
			policy = append(policy, own)
		}
	}
	folder := paths.Policy(runtime.GOOS, name)
	files, err := paths.PolicyFiles(folder)
	if err != nil {
		files = []string{folder} // that it cannot be read is said of each file
	}
	return defaults, append(policy, files...)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
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
