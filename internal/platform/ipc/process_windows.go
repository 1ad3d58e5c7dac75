package ipc

import (
	"path/filepath"

	"golang.org/x/sys/windows"

	"sidetone/internal/local"
	"sidetone/internal/platform/session"
)

// process is one that is looked at. Until it is closed no other process gets its id.
type process struct {
	local.Process
	exe     string // path of the executable; "": unknown
	started uint64 // when, in units of 100 ns; 0: unknown
	handle  windows.Handle
}

// openProcess looks at a process, as far as Windows lets this user.
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
