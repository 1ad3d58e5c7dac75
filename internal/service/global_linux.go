package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/files"
)

// global has systemd and the desktops start agent and tray for every user at the next log-in. It needs root.
type global struct{ Agent }

// NewGlobal registers the agent for all users of this machine. It neither starts nor stops any agent.
func NewGlobal(a Agent, as Kind) (Installer, error) {
	if as != "" && as != Systemd {
		return nil, fmt.Errorf("--as %s: for all users only systemd starts it", as)
	}
	return &global{a}, a.check()
}

// unitsOfAll is the folder of the units that an administrator adds to all users' service managers.
const unitsOfAll = "/etc/systemd/user"

func (g *global) unitPath() string { return filepath.Join(unitsOfAll, g.Name+".service") }

// emptyPath returns the path of the unit of EmptyUnit, beside the agent's.
func emptyPath(unit string) string { return strings.TrimSuffix(unit, ".service") + "-empty.service" }

func (g *global) trayPath() string {
	return filepath.Join(desktop.SystemAutostart, g.Tray.ID+".desktop")
}

func (g *global) linkPath() string {
	return filepath.Join(unitsOfAll, wantedBy+".wants", g.Name+".service")
}

func (g *global) Install(context.Context) (p Plan, err error) {
	p = placing(placing(p, emptyPath(g.unitPath()), g.EmptyUnit()), g.unitPath(), g.Unit())
	if len(g.Tray.Command) > 0 {
		p = placing(p, g.trayPath(), g.Tray.File())
	}
	if _, err := os.Lstat(g.linkPath()); err != nil {
		p = append(p, g.systemctl("enable"))
	}
	return p, nil
}

func (g *global) Uninstall(context.Context) (p Plan, err error) {
	if _, err := os.Lstat(g.linkPath()); err == nil {
		p = append(p, g.systemctl("disable"))
	}
	return append(p, removingFiles(g.unitPath(), emptyPath(g.unitPath()), g.trayPath())...), nil
}

func (g *global) Arguments(context.Context) ([]string, error) {
	return argumentsIn(g.unitPath(), commandIn)
}

// placing adds a step that writes a world-readable file, unless it is already there as it should be.
func placing(p Plan, path, text string) Plan {
	if old, err := os.ReadFile(path); err == nil && string(old) == text {
		return p
	}
	return append(p, Step{writing(path, text), func(context.Context) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return files.Replace(path, []byte(text), 0o644)
	}})
}

func (g *global) systemctl(action string) Step {
	unit := g.Name + ".service"
	return Step{"systemctl --global " + action + " " + unit, func(ctx context.Context) error {
		_, err := command(ctx, nil, "systemctl", "--global", action, unit)
		return err
	}}
}
