package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"gopkg.in/natefinch/lumberjack.v2"

	"sidetone/internal/app"
	"sidetone/internal/platform/paths"
	"sidetone/internal/supervise"
)

// logFileMB is the size at which the log file is rotated. One older file is kept: 10 MB in total.
const logFileMB = 5

// runLog returns the log of 'run', on standard error, with priorities if that is the journal. If neither a journal nor a terminal shows it,
// and always on Windows, it is also kept in a file, whose path is returned.
func runLog(stderr io.Writer, set *app.Settings, level slog.Leveler) (log *slog.Logger, file string) {
	if isJournal(os.Stderr, host.Getenv("JOURNAL_STREAM")) {
		out := &prioritized{Writer: stderr}
		return slog.New(journal{logger(out, set.Config.Log, level).Handler(), out}), ""
	}
	log = logger(stderr, set.Config.Log, level)
	if runtime.GOOS != "windows" && isTerminal(os.Stderr) { // on Windows, nobody sees the console that an agent usually has
		return log, ""
	}
	file, err := paths.LogFile(host.Getenv, programName(), set.Identity.ID)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		log.Warn("the log is not kept in a file", "reason", err)
		return log, ""
	}
	return slog.New(slog.NewMultiHandler(log.Handler(), logger(rotated(file), set.Config.Log, level).Handler())), file
}

// logFailure logs to the file why an agent that was started at log-in on Windows ends: nobody sees its standard error.
func logFailure(args []string, err error) {
	if len(args) == 0 || args[0] != "run" || host.Getenv(supervise.StopEventVariable) == "" {
		return
	}
	set := settingsOf(args[1:])
	file, unknown := paths.LogFile(host.Getenv, programName(), set.Vendor)
	if unknown != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	out := rotated(file)
	defer out.Close()
	logger(out, set.Log, slog.LevelInfo).Error("the agent ends", "reason", err)
}

// rotated writes to the log file, and rotates it when it is full.
func rotated(file string) *lumberjack.Logger {
	return &lumberjack.Logger{Filename: file, MaxSize: logFileMB, MaxBackups: 1}
}

// isTerminal reports whether f may be a terminal: a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// journal is a Handler that prefixes each line with its priority for journald (sd-daemon(3)).
type journal struct {
	slog.Handler
	out *prioritized
}

func (j journal) Handle(ctx context.Context, r slog.Record) error {
	j.out.mu.Lock()
	defer j.out.mu.Unlock()
	j.out.priority = priorityOf(r.Level)
	return j.Handler.Handle(ctx, r)
}

func (j journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return journal{j.Handler.WithAttrs(attrs), j.out}
}

func (j journal) WithGroup(name string) slog.Handler {
	return journal{j.Handler.WithGroup(name), j.out}
}

// prioritized writes each line with its priority.
type prioritized struct {
	io.Writer
	mu       sync.Mutex
	priority string
}

func (p *prioritized) Write(line []byte) (int, error) {
	n, err := p.Writer.Write(append([]byte(p.priority), line...))
	return max(0, n-len(p.priority)), err
}

func priorityOf(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "<3>"
	case l >= slog.LevelWarn:
		return "<4>"
	case l >= slog.LevelInfo:
		return "<6>"
	default:
		return "<7>"
	}
}
