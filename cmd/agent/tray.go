package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sidetone/internal/app"
	"sidetone/internal/brand"
	"sidetone/internal/platform/paths"
	"sidetone/internal/platform/system"
)

func trayCommand() *cobra.Command {
	var shade string
	var detach bool
	cmd := withAgent(&cobra.Command{
		Use:   "tray",
		Short: "Show the agent's state as an icon on the desktop",
		Long: `Shows an icon with a menu in the tray of the desktop: devices and their flags, clients, and problems. It is a
separate program next to this one, and works while the agent does not run (docs/tray.md). It ends by its menu, by an interrupt,
or with the session.

Exit codes: 0 done; 1 this session already has an icon, or its bus has ended; 2 the input is wrong.`,
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if _, err := printerFor(cmd, brand.DesktopLanguage); err != nil {
			return err
		}
		if shade != "" && shade != "light" && shade != "dark" {
			return badInput(fmt.Errorf("--icon: want light or dark, not %q", shade))
		}
		address, vendor, err := addressOfAgent(cmd)
		if err != nil {
			return err
		}
		lang := cmd.Flag("lang").Value.String()
		start := system.Exec
		if detach {
			start = system.Spawn
		}
		own := agentFlags(valueOf(cmd, "config"), valueOf(cmd, "control-socket"), vendor)
		return startTray(start, append([]string{"--address=" + address, "--lang=" + lang, "--icon=" + shade, "--"}, own...))
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the tray to end")
	_ = cmd.Flags().MarkHidden("detach") // for the tray's program
	cmd.Flags().StringVar(&shade, "icon", "", "light for a dark panel, or dark (default: by the colours that the desktop prefers)")
	return cmd
}

// addressOfAgent returns where the agent that the tray shows is or would be, and its vendor as far as the flags or the address name it.
func addressOfAgent(cmd *cobra.Command) (address, vendor string, err error) {
	c, err := agentSettings(cmd, false)
	if err != nil {
		return "", "", err
	}
	address, err = app.AgentAddress(cmd.Context(), c, host)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", badInput(fmt.Errorf("whose agent is meant is not known while none runs: say it with --vendor"))
	}
	vendor = valueOf(cmd, "vendor")
	if who := paths.VendorOf(address); err == nil && vendor == "" && valueOf(cmd, "control-socket") == "" {
		if usual, err := paths.ControlAddress(host.Getenv, who); err == nil && usual == address {
			vendor = who // so that the flags identify this agent even if another one runs
		}
	}
	return address, vendor, err
}

// startTray starts the tray's program, which lies beside this one.
func startTray(start func(string, []string) error, args []string) error {
	self, err := host.Executable()
	if err != nil {
		return fmt.Errorf("find this program, and the tray's beside it: %w", err)
	}
	program := brand.TrayOf(self)
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("the tray is a program of its own, and is not there: %s: install it beside %s; 'make build' builds both",
			program, filepath.Base(self))
	}
	return start(program, args)
}

// agentFlags returns the flags by which another process finds the same agent, whatever its working directory.
func agentFlags(file, socket, vendor string) (args []string) {
	if whole, err := filepath.Abs(file); err == nil && file != "" {
		file = whole
	}
	for _, flag := range []struct{ name, value string }{{"config", file}, {"control-socket", socket}, {"vendor", vendor}} {
		if flag.value != "" {
			args = append(args, "--"+flag.name+"="+flag.value)
		}
	}
	return args
}
