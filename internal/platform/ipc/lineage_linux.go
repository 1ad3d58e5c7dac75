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

// LineageOf reads the lineage of a process, some microseconds for each of its ancestors.
func (Machine) LineageOf(pid int) local.Lineage { return lineageOf("/proc", pid) }

func lineageOf(proc string, pid int) local.Lineage {
	exe, _ := os.Readlink(filepath.Join(proc, strconv.Itoa(pid), "exe")) // what cannot be read is unknown
	return local.Lineage{
		Exe:     strings.TrimSuffix(exe, " (deleted)"), // an update replaces the files of a client that runs
		Parents: parentsOf(proc, pid),
	}
}

// parentsOf is nil if one of the ancestors cannot be read: half of them might look like others.
func parentsOf(proc string, pid int) []int {
	var parents []int
	for {
		parent, ok := parentOf(proc, pid)
		switch {
		case !ok, slices.Contains(parents, parent): // a circle: ids were used anew meanwhile
			return nil
		case parent == 0: // init, or the first process that this one's namespace shows
			return parents
		}
		parents = append(parents, parent)
		pid = parent
	}
}

func parentOf(proc string, pid int) (parent int, ok bool) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	// PID (NAME) STATE PARENT ...; the name may hold anything, brackets too.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return 0, false
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil
}
