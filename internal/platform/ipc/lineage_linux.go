package ipc

import (
	"bytes"
	"fmt"
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
	return local.Lineage{
		Exe:     strings.TrimSuffix(exe, " (deleted)"), // an update replaces the files of a running client
		Parents: parentsOf(proc, pid),
	}
}

// parentsOf returns nil if an ancestor cannot be read: an incomplete list might be mistaken for another.
func parentsOf(proc string, pid int) []int {
	var parents []int
	for {
		parent, ok := parentOf(proc, pid)
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

func parentOf(proc string, pid int) (parent int, ok bool) {
	stat, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "stat"))
	// PID (NAME) STATE PARENT ...; the name may hold anything, brackets too.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return 0, false
	}
	_, err = fmt.Sscan(string(stat[end+1:]), new(string), &parent) // state, then parent
	return parent, err == nil
}
