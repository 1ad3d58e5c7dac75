// Package crash keeps what the Go runtime writes when the program crashes, and detects that this happens again and again.
package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/platform/files"
)

const (
	// Limit crashes within a minute are a loop.
	Limit  = 3
	within = time.Minute

	kept     = 5        // reports
	maxBytes = 64 << 10 // of a report, and of the space reserved for one
	minBytes = 4 << 10  // of the space that stays reserved while a report is written
)

// Guard records the crashes of this process. A process that is killed (by kill -9, for lack of memory, or when the machine stops) writes
// nothing and does not count as crashed: nothing that safe mode leaves out is to blame for it.
type Guard struct {
	folder, header string
	file           *os.File
	noted          []string
	reports        []string // names
}

// Open makes a report from what the previous process has left, and has the runtime write down a crash of this one. The folder must be this
// user's alone, and this the only process that uses it; header says what runs. code is the exit code with which the previous process
// crashed, or 0 if nobody knows it: a fault in foreign code may leave nothing else.
func Open(folder, header string, code int) (*Guard, error) {
	g := &Guard{folder: folder, header: header}
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = g.report(code)
	}
	if err == nil {
		g.reports, err = reports(folder)
	}
	if err == nil {
		g.file, err = os.OpenFile(g.path(output), os.O_WRONLY|os.O_CREATE, 0o600)
	}
	if err == nil {
		err = g.reserve()
	}
	if err == nil {
		err = debug.SetCrashOutput(g.file, debug.CrashOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("keep crash reports: %w", err)
	}
	g.Note(nil)
	return g, nil
}

// The files beside the reports: what the runtime writes; what was not in order before that; and, between an orderly end and the next start,
// the first of them under another name.
const (
	output     = "crash-output.txt"
	conditions = "crash-conditions.txt"
	reserved   = "crash-reserved"
)

// reserve fills the output with zeros, so that a crash can be written even if the disk is full by then. If it is full already, it reserves
// as much as there is, besides what was reserved before. It writes in small steps, because a file system may refuse a large write as a
// whole.
func (g *Guard) reserve() error {
	var n int64
	for zeros := make([]byte, minBytes); n < maxBytes; n += minBytes {
		if _, err := g.file.WriteAt(zeros, n); err != nil {
			break
		}
	}
	return g.file.Truncate(n)
}

func (g *Guard) path(name string) string { return filepath.Join(g.folder, name) }

// Note keeps the codes of what is not in order, for the report.
func (g *Guard) Note(codes []string) {
	if g.noted != nil && slices.Equal(g.noted, codes) {
		return
	}
	g.noted = append([]string{}, codes...)
	_ = files.Replace(g.path(conditions), []byte(g.header+"\nconditions: "+strings.Join(codes, ", ")+"\n"), 0o600)
}

// Looping reports whether there were Limit crashes in the last minute before now.
func (g *Guard) Looping(now time.Time) bool {
	n := 0
	for _, name := range g.reports {
		if at := timeOf(name); !at.After(now) && now.Sub(at) <= within {
			n++
		}
	}
	return n >= Limit
}

// Close marks an orderly end. The reports stay.
func (g *Guard) Close() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = g.file.Close()
	_ = os.Rename(g.path(output), g.path(reserved))
	_ = os.Remove(g.path(conditions))
}

// Reports returns the reports of all crashes, the newest last.
func (g *Guard) Reports() (all []Report) {
	for _, name := range g.reports {
		if text, err := os.ReadFile(g.path(name)); err == nil {
			all = append(all, Report{name, string(text)})
		}
	}
	return all
}

// Last returns the newest report in several folders, and the time of that crash; "": there is none.
func Last(folders []string) (path string, at time.Time) {
	for _, folder := range folders {
		all, _ := reports(folder)
		for _, name := range all {
			if t := timeOf(name); t.After(at) {
				path, at = filepath.Join(folder, name), t
			}
		}
	}
	return path, at
}

// Report is the report of one crash.
type Report struct{ Name, Text string }

// report makes a report from what the previous process has left, or from the code with which it crashed.
func (g *Guard) report(code int) error {
	said, at, err := g.said()
	if err != nil {
		return err
	}
	if said == "" && code != 0 { // it wrote nothing, so the time of its output is of no use
		said, at = fmt.Sprintf("Exception 0x%x, of which nothing else is known\n", uint32(code)), time.Now()
	}
	if said == "" || strings.HasPrefix(said, "SIGQUIT") {
		return nil // it was killed, or somebody asked for this, for example with Ctrl-\
	}
	before, _ := os.ReadFile(g.path(conditions)) // it may be missing
	text := string(before) + anonymous(said)
	path := g.path(fmt.Sprintf("crash-%d.txt", at.UnixMilli()))
	_ = os.Truncate(g.path(output), minBytes) // which frees the reserved space for the report
	if files.Replace(path, []byte(text[:min(len(text), maxBytes)]), 0o600) != nil {
		if err := os.WriteFile(path, nil, 0o600); err != nil { // a report without text counts, too
			return err
		}
	}
	return g.dropOld(at)
}

// said returns what the runtime wrote when the previous process crashed, and when that was.
func (g *Guard) said() (text string, at time.Time, err error) {
	info, err := os.Stat(g.path(output))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it ended in order, or there was none
		_ = os.Rename(g.path(reserved), g.path(output)) // which does not exist the first time
		return "", at, nil
	case err != nil:
		return "", at, err
	case !info.Mode().IsRegular():
		return "", at, fmt.Errorf("%s is no regular file: remove it", g.path(output)) // opening a pipe would block
	}
	all, err := os.ReadFile(g.path(output))
	return strings.TrimRight(string(all), "\x00"), info.ModTime(), err
}

// dropOld removes reports if there are too many, after that of a crash at the given time was added.
func (g *Guard) dropOld(added time.Time) error {
	all, err := reports(g.folder)
	for len(all) > kept {
		drop := 0
		if last := len(all) - 1; timeOf(all[last]).After(added) {
			drop = last // from a clock that was ahead: beside it the new report might be the oldest for years
		}
		_ = os.Remove(g.path(all[drop]))
		all = slices.Delete(all, drop, drop+1)
	}
	return err
}

// runtimeReason matches the beginning of a line in which the runtime itself says why the program ends.
var runtimeReason = regexp.MustCompile(`^(SIG[A-Z]+: |Exception 0x|PC=|\[signal |fatal error: |runtime: |panic: runtime error: )`)

// anonymous leaves out the text of a panic, which may name a device, a path or a person. Stacks name nobody.
func anonymous(said string) string {
	var out []string
	stack := false
	for line := range strings.Lines(said) {
		stack = stack || strings.HasPrefix(line, "goroutine ")
		switch {
		case stack || runtimeReason.MatchString(line):
			out = append(out, line)
		case strings.HasPrefix(line, "panic: "):
			out = append(out, "panic: (its words are left out)\n")
		}
	}
	return strings.Join(out, "")
}

// reports returns the names of reports, the oldest first.
func reports(folder string) (names []string, err error) {
	all, err := os.ReadDir(folder)
	for _, entry := range all {
		if !timeOf(entry.Name()).IsZero() {
			names = append(names, entry.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return timeOf(a).Compare(timeOf(b)) })
	return names, err
}

// timeOf returns the time of a report's crash; zero: the name is not that of a report.
func timeOf(name string) time.Time {
	middle, is := strings.CutPrefix(name, "crash-")
	ms, err := strconv.ParseInt(strings.TrimSuffix(middle, ".txt"), 10, 64)
	if !is || err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
