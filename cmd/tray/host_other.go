//go:build !windows

package main

import (
	"log/slog"
	"os"

	"sidetone/internal/platform/system"
)

// host does nothing: only Windows starts the agent by this program.
func host(string, []string) (code int, is bool) { return 0, false }

// start replaces this process with the agent's program.
func start(agent string, args []string) error { return system.Exec(agent, args) }

// openLog logs to standard error, which whoever starts the tray keeps.
func openLog(string) *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

// logFailure does nothing: what was written to standard error is kept.
func logFailure([]string, string) {}
