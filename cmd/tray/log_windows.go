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

// Nobody sees what a program without a console prints, so the tray's log and the runtime's report of a crash go to files beside the
// agent's log.
const (
	logName, logFileMB       = "tray.log", 1 // and one older file
	crashName, maxCrashBytes = "tray-crash.log", 64 << 10
)

// start has the agent's program start the tray, and waits for that: whoever started this program would not see an error.
func start(agent string, args []string) error {
	_, err := output(exec.Command(agent, args...)) //nolint:noctx // it ends by itself
	return err
}

// openLog returns the log of the tray of a vendor's agent, or standard error alone if there is no folder for it.
func openLog(vendor string) *slog.Logger {
	said := slog.NewTextHandler(os.Stderr, nil)
	folder, err := paths.StateFolder(os.Getenv, name(), filepath.Base(vendor)) // of an unusual address, VendorOf returns the whole pipe
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return slog.New(said)
	}
	logCrashes(filepath.Join(folder, crashName))
	file := &lumberjack.Logger{Filename: filepath.Join(folder, logName), MaxSize: logFileMB, MaxBackups: 1}
	return slog.New(slog.NewMultiHandler(said, slog.NewTextHandler(file, nil)))
}

// logCrashes has the runtime append its crash reports to a file.
func logCrashes(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > maxCrashBytes {
		_ = os.Remove(path)
	}
	if file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		_ = debug.SetCrashOutput(file, debug.CrashOptions{}) // it duplicates the handle
		_ = file.Close()
	}
}

// logFailure logs why the tray ends. If it is not known yet which agent's tray it is, it logs to the folder of all agents.
func logFailure(args []string, reason string) {
	vendor := ""
	if len(args) > 0 && strings.HasPrefix(args[0], addressFlag) {
		vendor = paths.VendorOf(strings.TrimPrefix(args[0], addressFlag))
	}
	openLog(vendor).Error("the tray ends", "reason", reason)
}
