package ipc

import (
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/local"
	"sidetone/internal/platform/session"
)

// process is an open process. Its pid is not reused before it is closed.
type process struct {
	local.Process
	exe     string // path of the executable; "": unknown
	started uint64 // start time in units of 100 ns; 0: unknown
	handle  windows.Handle
}

// openProcess reads what Windows lets this user know of a process.
func openProcess(pid uint32) *process {
	p := &process{Process: local.Process{PID: int(pid), Denied: true}}
	if there, err := sessionOf(pid); err == nil {
		here, err := sessionOf(windows.GetCurrentProcessId())
		p.OtherSession = err == nil && there != here
	}
	var err error
	if p.handle, err = windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid); err != nil {
		p.handle = 0
		return p
	}
	var path [windows.MAX_LONG_PATH]uint16
	size := uint32(len(path))
	if err := windows.QueryFullProcessImageName(p.handle, 0, &path[0], &size); err == nil {
		p.exe = windows.UTF16ToString(path[:size])
		p.Name = programName(filepath.Base(p.exe))
	}
	var start, end, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(p.handle, &start, &end, &kernel, &user); err == nil {
		p.started = uint64(start.HighDateTime)<<32 | uint64(start.LowDateTime)
	}
	var token windows.Token
	if err := windows.OpenProcessToken(p.handle, windows.TOKEN_QUERY, &token); err != nil {
		return p
	}
	defer token.Close()
	p.UID = session.UserOf(token)
	p.Denied = p.UID == ""
	return p
}

func (p *process) close() {
	if p.handle != 0 {
		_ = windows.CloseHandle(p.handle)
	}
}

func sessionOf(pid uint32) (id uint32, err error) {
	err = windows.ProcessIdToSessionId(pid, &id)
	return id, err
}

// LineageOf reads the lineage of a process. It takes a few milliseconds.
func (Machine) LineageOf(pid int) local.Lineage {
	p := openProcess(uint32(pid))
	defer p.close()
	return local.Lineage{Started: p.started, Exe: p.exe, Parents: parentsOf(p)}
}

// parentsOf returns nil if nothing is known of p. A parent may have ended long ago and its pid been reused: then the process with that
// pid is younger than its child.
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

// parents returns the parents of all processes by pid, or nil if they are unknown.
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
