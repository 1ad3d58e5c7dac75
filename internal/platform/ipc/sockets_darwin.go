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

// peerOf says who listens on the other end of the connected unix socket fd.
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

// fileID tells a file from its successor of the same name.
func fileID(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d", stat.Dev, stat.Ino, stat.Ctimespec.Nano())
}

// watchLimit adds a remedy to an error of fsnotify that means that a limit is reached, and
// returns nil for any other.
func watchLimit(err error) error {
	if errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("%w: a watched folder needs one open file for each of its entries; raise the limit of open files (ulimit -n)", err)
	}
	return nil
}

// maxSocketPath is how many bytes the kernel takes, less the one that ends them.
const maxSocketPath = 103

// Listeners tells which of the ports have a listener now. On this OS it cannot, and returns
// errors.ErrUnsupported.
func (Machine) Listeners([]int) ([]local.Listener, error) {
	return nil, fmt.Errorf("who listens on TCP ports: %w on this OS", errors.ErrUnsupported)
}

// Identify leaves every process unknown: this OS is not asked for it.
func (Machine) Identify([]local.Listener) {}

// LineageOf is the zero Lineage, in which all is unknown: this OS is not asked for it.
func (Machine) LineageOf(int) local.Lineage { return local.Lineage{} }
