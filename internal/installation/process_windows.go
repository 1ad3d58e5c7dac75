package installation

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// process is a Process by its handle.
type process struct {
	handle  windows.Handle
	pid     uint32
	started int64
}

// Running lists all users' processes of these programs of a folder, except this process.
func Running(folder string, names []string) (list []Process, err error) {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(snapshot, &entry); err == nil; err = windows.Process32Next(snapshot, &entry) {
		if entry.ProcessID == windows.GetCurrentProcessId() {
			continue
		}
		if p := open(entry.ProcessID, folder, names); p != nil {
			list = append(list, p)
		}
	}
	if !errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return list, fmt.Errorf("list processes: %w", err)
	}
	return list, nil
}

// open opens a process if it is one of the programs. It returns nil if it is not, has ended, or not even the system may touch it.
func open(pid uint32, folder string, names []string) Process {
	const rights = windows.PROCESS_QUERY_LIMITED_INFORMATION | windows.SYNCHRONIZE | windows.PROCESS_TERMINATE
	handle, err := windows.OpenProcess(rights, false, pid)
	if err != nil {
		return nil
	}
	path := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(path))
	err = windows.QueryFullProcessImageName(handle, 0, &path[0], &n)
	if err == nil && isOf(windows.UTF16ToString(path[:n]), folder, names) {
		if started, err := startOf(handle); err == nil {
			return &process{handle, pid, started}
		}
	}
	_ = windows.CloseHandle(handle)
	return nil
}

// Ask sets the event that the process has made. It must belong to the process's user: somebody else may have taken its name to keep
// requests from it.
func (p *process) Ask(r Request) (heard bool) {
	user, err := userOf(p.handle)
	if err != nil {
		return false
	}
	for n := range names {
		event, err := acl.OpenEvent(eventName(r, p.pid, p.started, n), user, windows.EVENT_MODIFY_STATE)
		if err != nil {
			continue
		}
		heard = windows.SetEvent(event) == nil || heard
		_ = windows.CloseHandle(event)
	}
	return heard
}

// userOf returns the SID of a process's user.
func userOf(process windows.Handle) (string, error) {
	var token windows.Token
	if err := windows.OpenProcessToken(process, windows.TOKEN_QUERY, &token); err != nil {
		return "", err
	}
	defer token.Close()
	user, err := token.GetTokenUser()
	if err != nil {
		return "", err
	}
	return user.User.Sid.String(), nil
}

func (p *process) Wait(limit time.Duration) (ended bool) {
	event, err := windows.WaitForSingleObject(p.handle, uint32(limit.Milliseconds()))
	return err == nil && event == windows.WAIT_OBJECT_0
}

func (p *process) Kill() error {
	if err := windows.TerminateProcess(p.handle, 1); err != nil && !p.Wait(0) {
		return fmt.Errorf("end process %d: %w", p.pid, err)
	}
	return nil
}

func (p *process) Close() { _ = windows.CloseHandle(p.handle) }
