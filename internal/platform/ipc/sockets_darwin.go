package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sidetone/internal/local"
)

// peerOf returns the process that listens on the other end of the connected unix socket fd.
func peerOf(fd int) local.Process {
	var p local.Process
	if peer, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
		p.UID = strconv.FormatUint(uint64(peer.Uid), 10)
	}
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return p
	}
	p.PID = pid
	if info, err := unix.SysctlKinfoProc("kern.proc.pid", pid); err == nil {
		p.Name = programName(unix.ByteSliceToString(info.Proc.P_comm[:]))
	}
	return p
}

// fileID distinguishes a file from a later one of the same name.
func fileID(info fs.FileInfo) string {
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d:%d", stat.Dev, stat.Ino, stat.Ctimespec.Nano())
}

// watchLimit adds the remedy to an fsnotify error about a limit, and returns nil for any other error.
func watchLimit(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("%w: a watched folder needs one open file for each of its entries; raise the limit of open files (ulimit -n)", err)
	}
	return nil
}

// maxSocketPath is the kernel's limit in bytes, without the final zero.
const maxSocketPath = 103

// Listeners returns errors.ErrUnsupported.
func (Machine) Listeners([]int) ([]local.Listener, error) {
	return nil, fmt.Errorf("who listens on TCP ports: %w on this OS", errors.ErrUnsupported)
}

// Identify does nothing: processes stay unknown on this OS.
func (Machine) Identify([]local.Listener) {}

// LineageOf returns the zero Lineage: lineages are unknown on this OS.
func (Machine) LineageOf(int) local.Lineage { return local.Lineage{} }
