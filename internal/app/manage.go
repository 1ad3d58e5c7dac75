package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"sidetone/internal/config"
	"sidetone/internal/control"
	"sidetone/internal/rpcclient"
)

// Stop ends Run in order, and returns when clients have been told or ctx ends. An agent that another one is to replace goes on if ctx ends
// before its end has begun: then that one waits no more, and nobody would follow.
func (a *App) Stop(ctx context.Context, list control.StopList) {
	a.log.Info("told to stop", "list", list)
	var leave rpcclient.ExitPolicy
	switch list {
	case control.ListEmpty:
		leave = rpcclient.ExitClear
	case control.ListUnmuted:
		if a.awaitRoom(ctx); ctx.Err() != nil {
			a.log.Warn("nobody waits for the end any more: this agent goes on")
			return
		}
		leave = rpcclient.ExitUnmute
	}
	a.endAs(EndsByItself, leave)
	select {
	case <-a.farewell:
	case <-ctx.Done():
	}
}

// logLevel is the setting that SetLogLevel overrides.
const logLevel = "log.level"

// SetLogLevel changes the lowest level that is logged, until the agent ends, unless policy has decided it.
func (a *App) SetLogLevel(level string) error {
	known := config.LogLevel("").Enum()
	if !slices.Contains(known, level) {
		return fmt.Errorf("no level %.40q: want one of %s", level, strings.Join(known, ", "))
	}
	a.reloading.Lock() // policy may come with a reload
	defer a.reloading.Unlock()
	if where := a.current().Policy(logLevel); where != "" {
		return &control.Refusal{Kind: control.ErrConflict, Message: "the log level is decided by policy: " + logLevel + " at " + where}
	}
	a.opts.LogLevel.Set(config.LogLevel(level).Slog())
	a.log.Info("log level changed", "level", level)
	a.announce()
	return nil
}

// levelName returns the setting's word for a level.
func levelName(l slog.Level) string { return strings.ToLower(l.String()) }
