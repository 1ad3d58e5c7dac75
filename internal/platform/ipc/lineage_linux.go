package ipc

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/local"
)

// LineageOf reads the lineage of a process. It takes some microseconds for each ancestor, and up to a millisecond for each one that may
// have started the application.
func (Machine) LineageOf(pid int) local.Lineage { return lineageOf("/proc", pid) }

func lineageOf(proc string, pid int) local.Lineage {
	exe, _ := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe")) // what cannot be read is unknown
	stat, _ := statOf(proc, pid)
	parents := parentsOf(proc, pid)
	return local.Lineage{
		Started:  stat.started,
		Exe:      strings.TrimSuffix(exe, " (deleted)"), // an update replaces the files of a running client
		Parents:  parents,
		Starters: startersOf(proc, stat, parents),
		Bundle:   bundleOf(proc, stat),
	}
}

// startersOf returns the nearest ancestors that have started nothing but the application of the process.
func startersOf(proc string, of processStat, parents []int) []int {
	me := os.Getpid()
	mine := append(parentsOf(proc, me), me)
	var starters []int
	for _, pid := range parents {
		stat, _ := statOf(proc, pid)
		if slices.Contains(mine, pid) || !stat.mayStart(of) || !hasNoWindows(proc, pid) {
			break
		}
		starters = append(starters, pid)
	}
	return starters
}

// bundleOf returns the Bundle of a process: the namespaces of its sandbox, else its application's scope. Several programs share the
// scope of a terminal or of a dock: there the programs of one job (a process group) belong together, unless the job is the dock's own.
func bundleOf(proc string, of processStat) string {
	if box := sandboxOf(proc, of.pid); box != "" {
		return box
	}
	scope := scopeOf(proc, of.pid)
	if scope == "" || of.session == 0 {
		return ""
	}
	for _, pid := range []int{of.parent, of.group} {
		if pid != of.pid && pid != 0 && scopeOf(proc, pid) == scope && !hasNoWindows(proc, pid) {
			return ""
		}
	}
	bundle := fmt.Sprintf("%s session %d", scope, of.session)
	if of.terminal != 0 {
		bundle += fmt.Sprintf(" job %d", of.group)
	}
	return bundle
}

// sandboxOf returns the namespaces of a process whose PIDs are not those of this process, as in a sandbox; "": it has none of its own, or
// they cannot be read. A mount namespace alone is none: whole containers of programs, and services, have one.
func sandboxOf(proc string, pid int) string {
	namespace := func(pid, kind string) string {
		name, _ := os.Readlink(filepath.Join(proc, pid, "ns", kind))
		return name
	}
	its, mine := namespace(strconv.Itoa(pid), "pid"), namespace(strconv.Itoa(os.Getpid()), "pid")
	if its == "" || mine == "" || its == mine {
		return ""
	}
	return strings.Join([]string{its, namespace(strconv.Itoa(pid), "mnt"), namespace(strconv.Itoa(pid), "user")}, " ")
}

// scopeOf returns the control group that the session manager, Flatpak or Snap has made for one application; "": none. The scope of a
// log-in session, and the services of the session, hold unrelated programs.
func scopeOf(proc string, pid int) string {
	table, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "cgroup"))
	for line := range strings.Lines(string(table)) { // ID:CONTROLLERS:PATH
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) < 3 || fields[1] != "" && fields[1] != "name=systemd" {
			continue
		}
		for at := path.Clean(fields[2]); at != "/" && at != "."; at = path.Dir(at) {
			if isApplicationScope(path.Base(at)) {
				return at
			}
		}
	}
	return ""
}

func isApplicationScope(name string) bool {
	own := strings.HasPrefix(name, "app-") || strings.HasPrefix(name, "snap.")
	return own && strings.HasSuffix(name, ".scope") || strings.HasPrefix(name, "app-flatpak-")
}

// windowLibraries are parts of the names of libraries of which every program with windows loads one, and what manages windows, too.
var windowLibraries = [][]byte{[]byte("/libX11.so"), []byte("/libxcb.so"), []byte("/libwayland-")}

// hasNoWindows reports whether a program, as a script's shell, certainly shows nothing on the desktop.
func hasNoWindows(proc string, pid int) bool {
	maps, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "maps"))
	return err == nil && len(maps) > 0 &&
		!slices.ContainsFunc(windowLibraries, func(name []byte) bool { return bytes.Contains(maps, name) })
}

// parentsOf returns nil if an ancestor cannot be read: an incomplete list might be mistaken for another.
func parentsOf(proc string, pid int) []int {
	var parents []int
	for {
		stat, ok := statOf(proc, pid)
		parent := stat.parent
		switch {
		case !ok, slices.Contains(parents, parent): // a cycle: pids were reused meanwhile
			return nil
		case parent == 0: // init, or the first process of this namespace
			return parents
		}
		parents = append(parents, parent)
		pid = parent
	}
}

// processStat is what the kernel shows everybody of a process. An id of 0 is unknown, or that of a process out of sight.
type processStat struct {
	pid      int
	name     string // short, as the program chose it
	parent   int
	group    int    // of processes, a shell's job: the pid of its leader
	session  int    // the pid of its leader
	terminal int    // the controlling one; 0: none
	started  uint64 // ticks since the machine has booted; 0: unknown
}

// mayStart reports whether the ancestor s of a process may be a script that has started only its application: it runs in the same
// job, which interactive shells, session managers and whoever adopts orphans do not.
func (s processStat) mayStart(of processStat) bool {
	const first = 1
	return s.group != 0 && s.group == of.group && s.session == of.session && s.pid != s.session && s.pid != first && s.parent != 0 &&
		s.name != "systemd"
}

func statOf(proc string, pid int) (s processStat, ok bool) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	// PID (NAME) STATE PARENT GROUP SESSION TERMINAL ...; the name may hold anything, brackets too.
	begin, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if err != nil || begin < 0 || end < begin {
		return processStat{}, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 2 {
		return processStat{}, false
	}
	s = processStat{pid: pid, name: string(stat[begin+1 : end])}
	for i, field := range []*int{1: &s.parent, 2: &s.group, 3: &s.session, 4: &s.terminal} {
		if field != nil && i < len(fields) && err == nil {
			*field, err = strconv.Atoi(fields[i])
		}
	}
	const started = 19
	if len(fields) > started {
		s.started, _ = strconv.ParseUint(fields[started], 10, 64)
	}
	return s, err == nil
}
