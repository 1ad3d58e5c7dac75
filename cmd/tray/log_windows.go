package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"gopkg.in/natefinch/lumberjack.v2"

	"sidetone/internal/platform/paths"
)

// Nobody sees what a program without a console prints, so it is kept in files beside the agent's log: what the tray logs, and what the
// runtime says of a crash.
const (
	logName, logFileMB       = "tray.log", 1 // and one file before that
	crashName, maxCrashBytes = "tray-crash.log", 64 << 10
)

// start has the agent's program start the tray, and waits until that has been done: who has started this program sees no error of that.
func start(agent string, args []string) error {
	_, err := output(exec.Command(agent, args...)) //nolint:noctx // it ends by itself
	return err
}

// openLog is the log of the tray of a vendor's agent. Without a folder for it, it is standard error alone.
func openLog(vendor string) *slog.Logger {
	said := slog.NewTextHandler(os.Stderr, nil)
	folder, err := paths.StateFolder(os.Getenv, name(), filepath.Base(vendor)) // of an unusual address it is the whole pipe
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return slog.New(said)
	}
	keepCrashes(filepath.Join(folder, crashName))
	file := &lumberjack.Logger{Filename: filepath.Join(folder, logName), MaxSize: logFileMB, MaxBackups: 1}
	return slog.New(slog.NewMultiHandler(said, slog.NewTextHandler(file, nil)))
}

// keepCrashes has the runtime add to a file what it says of a crash.
func keepCrashes(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxCrashBytes {
		_ = os.Remove(path)
	}
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		_ = debug.SetCrashOutput(file, debug.CrashOptions{}) // which has a handle of its own
		_ = file.Close()
	}
}

// keepFailure logs why the tray ends. Where it is not known yet whose tray it is, the log is in the folder of all agents.
func keepFailure(args []string, reason string) {
	vendor := ""
	if len(args) > 0 && strings.HasPrefix(args[0], addressFlag) {
		vendor = paths.VendorOf(strings.TrimPrefix(args[0], addressFlag))
	}
	openLog(vendor).Error("the tray ends", "reason", reason)
}
