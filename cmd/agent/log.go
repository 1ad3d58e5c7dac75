package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"sidetone/internal/app"
	"sidetone/internal/asynclog"
	"sidetone/internal/platform/paths"
	"sidetone/internal/supervise"
)

// logFileMB is the size at which the log file is rotated. One older file is kept: 10 MB in total.
const logFileMB = 5

// runLog is the log of 'run'.
type runLog struct {
	*slog.Logger
	stderr *asynclog.Handler
	kept   *asynclog.Handler // in file; nil: in none
	file   string
}

// newRunLog returns the log of 'run', on standard error, with priorities if that is the journal. If neither a journal nor a terminal shows
// it, and always on Windows, it is also kept in a file. Each of the two may take nothing for a while, or for ever: nobody waits for that.
func newRunLog(stderr io.Writer, set *app.Settings, level slog.Leveler) *runLog {
	format := func(w io.Writer) slog.Handler { return logger(w, set.Config.Log, level).Handler() }
	if isJournal(os.Stderr, host.Getenv("JOURNAL_STREAM")) {
		shown := asynclog.NewHandler(stderr, func(w io.Writer) slog.Handler {
			out := &prioritized{Writer: w}
			return journal{format(out), out}
		})
		return &runLog{Logger: slog.New(shown), stderr: shown}
	}
	shown := asynclog.NewHandler(stderr, format)
	l := &runLog{Logger: slog.New(shown), stderr: shown}
	if runtime.GOOS != "windows" && isTerminal(os.Stderr) { // on Windows, nobody sees the console that an agent usually has
		return l
	}
	file, err := paths.LogFile(host.Getenv, programName(), set.Identity.ID)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		l.Warn("the log is not kept in a file", "reason", err)
		return l
	}
	l.file, l.kept = file, asynclog.NewHandler(rotated(file), format)
	l.Logger = slog.New(slog.NewMultiHandler(l.stderr, l.kept))
	return l
}

// lastWords is how long the process waits at its end until its last lines are written.
const lastWords = 500 * time.Millisecond

// flush has the last lines written, if that takes not too long.
func (l *runLog) flush() {
	l.stderr.Flush(lastWords)
	if l.kept != nil {
		l.kept.Flush(lastWords)
	}
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
