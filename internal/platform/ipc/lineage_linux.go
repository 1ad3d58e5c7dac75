package ipc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sidetone/internal/local"
)

// LineageOf reads the lineage of a process. It takes some microseconds for each ancestor.
func (Machine) LineageOf(pid int) local.Lineage { return lineageOf("/proc", pid) }

func lineageOf(proc string, pid int) local.Lineage {
	exe, _ := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe")) // what cannot be read is unknown
	stat, _ := statOf(proc, pid)
	return local.Lineage{
		Started: stat.started,
		Exe:     strings.TrimSuffix(exe, " (deleted)"), // an update replaces the files of a running client
		Parents: parentsOf(proc, pid),
	}
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

// processStat is what the kernel shows everybody of a process.
type processStat struct {
	parent  int
	started uint64 // ticks since the machine has booted; 0: unknown
}

func statOf(proc string, pid int) (s processStat, ok bool) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	// PID (NAME) STATE PARENT ...; the name may hold anything, brackets too.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return processStat{}, false
	}
	const parent, started = 1, 19
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) <= parent {
		return processStat{}, false
	}
	if len(fields) > started {
		s.started, _ = strconv.ParseUint(fields[started], 10, 64)
	}
	s.parent, err = strconv.Atoi(fields[parent])
	return s, err == nil
}
