package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sidetone/internal/platform/session"
)

// New finds what can start the agent on this machine: the user's service manager, else the desktop.
func New(a Agent, getenv func(string) string) (Manager, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return nil, fmt.Errorf("where the agent is registered: HOME is not set to an absolute path")
	}
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) { // the XDG base directory specification says to ignore a relative path
		config = filepath.Join(home, ".config")
	}
	desktop := newAutostart(a, config)
	runtime := getenv("XDG_RUNTIME_DIR")
	if runtime == "" {
		runtime = filepath.Join("/run/user", session.User())
	}
	if !managerIn(runtime) {
		return desktop, nil
	}
	// Who has come by su or cron has no such variable, and systemctl needs it.
	if err := os.Setenv("XDG_RUNTIME_DIR", runtime); err != nil {
		return nil, err
	}
	unit, err := newSystemd(a, home)
	if err != nil {
		return nil, err
	}
	return &withManager{unit, desktop}, nil
}

// managerIn reports whether the user's service manager has its socket in a runtime folder, which goes with it. Nobody connects: it
// would log that.
func managerIn(runtime string) bool {
	info, err := os.Stat(filepath.Join(runtime, "systemd/private"))
	return err == nil && info.Mode().Type() == os.ModeSocket
}

// withManager is a unit where there may be an autostart entry from a time without a service manager: both would start the agent.
type withManager struct {
	*systemd
	desktop *autostart
}

func (m *withManager) Install(ctx context.Context) (Plan, error) {
	p, err := m.systemd.Install(ctx)
	return append(p, m.desktop.removal()...), err
}

func (m *withManager) Uninstall(ctx context.Context) (Plan, error) {
	p, err := m.systemd.Uninstall(ctx)
	return append(p, m.desktop.removal()...), err
}
