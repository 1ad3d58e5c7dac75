//go:build !windows

package main

import (
	"log/slog"
	"os"

	"sidetone/internal/platform/system"
)

// host is for Windows.
func host(string, []string) (code int, is bool) { return 0, false }

// start lets the agent's program take the place of this one.
func start(agent string, args []string) error { return system.Exec(agent, args) }

// openLog is standard error: who starts the tray keeps that.
func openLog(string) *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

// keepFailure is for Windows.
func keepFailure([]string, string) {}
