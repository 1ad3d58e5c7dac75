package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sidetone/internal/platform/session"
)

// New picks what starts the agent on this machine: what is asked for, else the user's service manager, else the desktop.
func New(a Agent, as Kind, getenv func(string) string) (Manager, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if as != "" && as != Systemd && as != Autostart {
		return nil, fmt.Errorf("--as %s: want systemd or autostart", as)
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("where the agent is registered: HOME is not set to an absolute path")
	}
	desktop := newAutostart(a, getenv)
	runtime := getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = filepath.Join("/run/user", session.User())
	}
	there := managerIn(runtime)
	if as == Systemd && !there {
		return nil, fmt.Errorf("--as systemd: no service manager of this user runs")
	}
	if as == Autostart || !there {
		return desktop, nil
	}
	// su and cron do not set the variable, which systemctl needs.
	if err := os.Setenv("XDG_RUNTIME_DIR", runtime); err != nil {
		return nil, err
	}
	unit, err := newSystemd(a, home)
	if err != nil {
		return nil, err
	}
	return &withManager{unit, desktop}, nil
}

// managerIn reports whether the user's service manager has its socket in a runtime folder. The socket goes with the manager. It does not
// connect, since the manager would log that.
func managerIn(runtime string) bool {
	info, err := os.Stat(filepath.Join(runtime, "systemd/private"))
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// withManager is a unit with the tray's autostart entry beside it. There may also be an autostart entry of the agent from a time without
// a service manager: both would start it.
type withManager struct {
	*systemd
	desktop *autostart
}

func (m *withManager) Install(ctx context.Context) (Plan, error) {
	p, err := m.systemd.Install(ctx)
	return slices.Concat(p, m.desktop.removing(m.desktop.entry()), m.desktop.addingTray()), err
}

func (m *withManager) Uninstall(ctx context.Context) (Plan, error) {
	p, err := m.systemd.Uninstall(ctx)
	return append(p, m.desktop.removing(m.desktop.entry(), m.Tray)...), err
}

func (m *withManager) Arguments(ctx context.Context) ([]string, error) {
	args, err := m.systemd.Arguments(ctx)
	if err == nil && args == nil {
		args, err = m.desktop.Arguments(ctx)
	}
	return args, err
}

func (m *withManager) State(ctx context.Context) (State, error) {
	st, err := m.systemd.State(ctx)
	st.Tray = m.desktop.desktop.Autostarts(m.Tray)
	return st, err
}
