package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"sidetone/internal/brand"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/supervise"
)

// hosts finds the processes that look after this agent in this session and restart it after a failure. A Windows service is none of them.
func (m *manager) hosts() (list []broadcast.Marked, err error) {
	all, err := broadcast.Find(supervise.HostMark)
	if err != nil {
		return nil, err
	}
	own, err := os.Stat(brand.TrayOf(m.Executable))
	if err != nil {
		return nil, nil // so it cannot have started anything
	}
	for _, h := range all {
		if program, err := os.Stat(programOf(h.PID)); err == nil && os.SameFile(program, own) {
			list = append(list, h)
		}
	}
	return list, nil
}

// programOf returns the path of a process's program, or "".
func programOf(pid uint32) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, pid)
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(process)
	path := make([]uint16, windows.MAX_LONG_PATH)
	n := uint32(len(path))
	if windows.QueryFullProcessImageName(process, 0, &path[0], &n) != nil {
		return ""
	}
	return windows.UTF16ToString(path[:n])
}

// Stop ends the running agent. If none runs, it ends what is about to start one again.
func (m *manager) Stop(ctx context.Context) (Plan, error) {
	p, err := m.stopping(ctx)
	if err != nil || len(p) > 0 {
		return p, err
	}
	hosts, err := m.hosts()
	for _, h := range hosts {
		p = append(p, Step{
			fmt.Sprintf("end what is about to start it again, process %d, %s", h.PID, filepath.Base(brand.TrayOf(m.Executable))),
			func(context.Context) error { return endHost(h) },
		})
	}
	return p, err
}

func endHost(h broadcast.Marked) error {
	process, err := openProcess(int(h.PID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer process.close()
	if err := h.Close(); err != nil {
		if ended, _ := process.wait(0); ended {
			return nil
		}
		return err
	}
	ended, err := process.wait(endTimeout)
	if err == nil && !ended {
		err = fmt.Errorf("process %d has not ended after %s: end it with %s %d", h.PID, endTimeout, killCommand, h.PID)
	}
	return err
}
