package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/control"
	"sidetone/internal/platform/desktop"
	"sidetone/internal/texts"
	"sidetone/internal/tray"
	"sidetone/internal/tray/icon"
)

func trayCommand() *cobra.Command {
	var in askFlags
	var lang, shade string
	cmd := &cobra.Command{
		Use:   "tray",
		Short: "Show an icon on the desktop that tells how the agent is",
		Long: `Shows an icon with a menu in the tray of the desktop: devices and their flags, clients, and what to look at. It is a
process of its own and works while the agent does not (docs/tray.md). It ends by its menu, by an interrupt, or with the session.

Exit codes: 0 done; 1 this session has an icon already, or its bus has ended; 2 the input is wrong.`,
		Args: noArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		say, err := printerFor(lang)
		if err != nil {
			return err
		}
		if shade != string(icon.Light) && shade != string(icon.Dark) {
			return badInput(fmt.Errorf("--icon: want light or dark, not %q", shade))
		}
		o, err := trayOptions(cmd, &in)
		if err != nil {
			return err
		}
		o.Say, o.Shade = say, icon.Shade(shade)
		debug.SetGCPercent(app.GCPercent) // it runs all day, too
		return tray.Run(cmd.Context(), o)
	}
	in.add(cmd)
	cmd.Flags().StringVar(&lang, "lang", "",
		"language of the menu: "+strings.Join(texts.Shipped.Languages(), ", ")+" (default: the desktop's)")
	cmd.Flags().StringVar(&shade, "icon", string(icon.Light), "light for a dark panel, or dark")
	return cmd
}

// trayOptions are those that follow from whose agent it is.
func trayOptions(cmd *cobra.Command, in *askFlags) (o tray.Options, err error) {
	c, err := in.settings(cmd)
	if err != nil {
		return o, err
	}
	address, err := app.AgentAddress(cmd.Context(), c, host)
	if errors.Is(err, fs.ErrNotExist) {
		return o, badInput(fmt.Errorf("whose agent is meant is not known while none runs: say it with --vendor"))
	}
	if err != nil {
		return o, err
	}
	self, err := host.Executable()
	if err != nil {
		return o, fmt.Errorf("find this program: %w", err)
	}
	client, program := app.ClientOf(address), nameOfProgram(self)
	return tray.Options{
		Address: address, Client: client, Program: program, Version: version, Vendor: filepath.Base(filepath.Dir(address)),
		Getenv: host.Getenv, Start: append([]string{self, "run"}, in.flags()...),
		Autostart:   desktop.Entry{ID: program + "-tray", Name: program, Command: append([]string{self, "tray"}, in.flags()...)},
		Diagnostics: func(ctx context.Context) ([]byte, error) { return diagnostics(ctx, client) },
		Log:         slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)),
	}, nil
}

// nameOfProgram is what users call this program.
func nameOfProgram(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// flags are those that were given, for a process that means the same agent, wherever it is started.
func (f *askFlags) flags() (args []string) {
	file := f.file
	if whole, err := filepath.Abs(file); err == nil && file != "" {
		file = whole
	}
	for _, flag := range []struct{ name, value string }{{"config", file}, {"control-socket", f.socket}, {"vendor", f.vendor}} {
		if flag.value != "" {
			args = append(args, "--"+flag.name, flag.value)
		}
	}
	return args
}

// diagnostics is what 'sidetone status' prints.
func diagnostics(ctx context.Context, c *control.Client) ([]byte, error) {
	st, list, err := askBoth(ctx, c)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = printStatus(&text, st, list, time.Now())
	return text.Bytes(), err
}
