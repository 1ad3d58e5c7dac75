package ipc

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/local"
)

// LineageOf looks at a process and its ancestors, a few milliseconds.
func (Machine) LineageOf(pid int) local.Lineage {
	p := openProcess(uint32(pid))
	defer p.close()
	return local.Lineage{Exe: p.exe, Parents: parentsOf(p)}
}

// parentsOf is nil if nothing is known of p. A parent may have ended long ago, and its id be another's: that one is younger than its
// child.
func parentsOf(p *process) []int {
	above := parents()
	if p.started == 0 || above == nil {
		return nil
	}
	list := []int{}
	for pid, started := uint32(p.PID), p.started; ; {
		parent := above[pid]
		if parent == 0 || slices.Contains(list, int(parent)) {
			return list
		}
		q := openProcess(parent)
		q.close()
		if q.started == 0 || q.started > started {
			return list
		}
		list = append(list, int(parent))
		pid, started = parent, q.started
	}
}

// parents are those of all processes, by pid; nil: unknown.
func parents() map[uint32]uint32 {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(snapshot)
	found := make(map[uint32]uint32)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		found[entry.ProcessID] = entry.ParentProcessID
	}
	return found
}
