// Package crash keeps what the Go runtime says when the program crashes, and tells when that happens again and again.
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
	"sidetone/internal/stable"
)

const (
	// Limit crashes in no more time than within are a loop.
	Limit = 3
	// within is how far apart the first and the last of them may be.
	within = time.Minute

	kept     = 5        // reports
	maxBytes = 64 << 10 // of a report, and of what is reserved for one
	minBytes = 4 << 10  // of what stays reserved while a report is written
)

// Guard records the crashes of this process. A process that is killed (kill -9, for want of memory, or as the machine
// stops) leaves no word of its own, and has not crashed: nothing that safe mode leaves out is to blame for it.
type Guard struct {
	folder, header string
	file           *os.File
	noted          []string
	reports        []string // names
}

// Open makes a report of what the process before has left, and has the runtime write what this one may leave. The folder
// must be this user's alone, and this the only process that does so; header says what runs. code is that with which the process before has
// crashed, if somebody knows, else 0: a fault in foreign code may leave no other word.
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

// The files beside the reports: what the runtime writes, what was not in order before that, and the first of them from an end in order
// to the next start.
const (
	output     = "crash-output.txt"
	conditions = "crash-conditions.txt"
	reserved   = "crash-reserved"
)

// reserve fills the output with zeros, so that a crash finds room for its words also on a disk that is full by then. On one that is
// full already it is as much as there is, and what was reserved before: a file system may refuse a large write as a whole.
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

// Note says by code what is not in order, for the report.
func (g *Guard) Note(codes []string) {
	if g.noted != nil && slices.Equal(g.noted, codes) {
		return
	}
	g.noted = append([]string{}, codes...)
	_ = files.Replace(g.path(conditions), []byte(g.header+"\nconditions: "+strings.Join(codes, ", ")+"\n"), 0o600)
}

// Looping reports whether there were Limit crashes in the time within before now.
func (g *Guard) Looping(now time.Time) bool {
	n := 0
	for _, name := range g.reports {
		if at := timeOf(name); !at.After(now) && now.Sub(at) <= within {
			n++
		}
	}
	return n >= Limit
}

// Close is for an orderly end. The reports stay.
func (g *Guard) Close() {
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	_ = g.file.Close()
	_ = os.Rename(g.path(output), g.path(reserved))
	_ = os.Remove(g.path(conditions))
}

// Reports are what crashes have left, by file name, the newest last.
func (g *Guard) Reports() (all []Report) {
	for _, name := range g.reports {
		if text, err := os.ReadFile(g.path(name)); err == nil {
			all = append(all, Report{name, string(text)})
		}
	}
	return all
}

// Last is the newest report in several folders, and when that crash was; "": there is none.
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

// Report is that of one crash.
type Report struct{ Name, Text string }

// report makes one of what the process before has left, or of the code with which it has crashed.
func (g *Guard) report(code int) error {
	said, at, err := g.said()
	if err != nil {
		return err
	}
	if said == "" && code != 0 { // it has written nothing since it started: the time of its output is of no use
		said, at = fmt.Sprintf("Exception 0x%x, of which nothing else is known\n", uint32(code)), time.Now()
	}
	if said == "" || strings.HasPrefix(said, "SIGQUIT") {
		return nil // it was killed, or somebody asked for this, as with Ctrl-\
	}
	before, _ := os.ReadFile(g.path(conditions)) // it may be missing
	text := string(before) + anonymous(said)
	path := g.path(fmt.Sprintf("crash-%d.txt", at.UnixMilli()))
	_ = os.Truncate(g.path(output), minBytes) // what was reserved is for the report
	if files.Replace(path, []byte(text[:min(len(text), maxBytes)]), 0o600) != nil {
		if err := os.WriteFile(path, nil, 0o600); err != nil { // a report without text counts, too
			return err
		}
	}
	return g.dropOld(at)
}

// said is what the runtime has written as the process before crashed, and when.
func (g *Guard) said() (text string, at time.Time, err error) {
	info, err := os.Stat(g.path(output))
	switch {
	case errors.Is(err, fs.ErrNotExist): // that has ended in order, or there was none
		_ = os.Rename(g.path(reserved), g.path(output)) // there is none the first time
		return "", at, nil
	case err != nil:
		return "", at, err
	case !info.Mode().IsRegular():
		return "", at, fmt.Errorf("%s is no regular file: remove it", g.path(output)) // a pipe would be waited for
	}
	all, err := os.ReadFile(g.path(output))
	return strings.TrimRight(string(all), "\x00"), info.ModTime(), err
}

// dropOld removes reports of which there are too many, after one of a crash at that time was added.
func (g *Guard) dropOld(added time.Time) error {
	all, err := reports(g.folder)
	for len(all) > kept {
		drop := 0
		if last := len(all) - 1; timeOf(all[last]).After(added) {
			drop = last // of a clock that was ahead: beside it this report would be the oldest for years
		}
		_ = os.Remove(g.path(all[drop]))
		all = slices.Delete(all, drop, drop+1)
	}
	return err
}

// runtimeReason begins a line in which the runtime says why the program ends, in words of its own.
var runtimeReason = regexp.MustCompile(`^(SIG[A-Z]+: |Exception 0x|PC=|\[signal |fatal error: |runtime: |panic: runtime error: )`)

// anonymous leaves out the words of a panic: they may be of a device, a path or a person. The stacks name nobody.
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

// reports are their names, the oldest first.
func reports(folder string) (names []string, err error) {
	all, err := os.ReadDir(folder)
	for _, entry := range all {
		if !timeOf(entry.Name()).IsZero() {
			names = append(names, entry.Name())
		}
	}
	return stable.Sort(names, func(a, b string) int { return timeOf(a).Compare(timeOf(b)) }), err
}

// timeOf is when the crash of a report was; zero: it is no report.
func timeOf(name string) time.Time {
	middle, is := strings.CutPrefix(name, "crash-")
	ms, err := strconv.ParseInt(strings.TrimSuffix(middle, ".txt"), 10, 64)
	if !is || err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
