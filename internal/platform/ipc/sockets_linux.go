package ipc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sidetone/internal/local"
	"sidetone/internal/platform/linux"
)

// peerOf says who listened on the other end of the connected unix socket fd, at the time of
// its listen.
func peerOf(fd int) local.Process {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return local.Process{}
	}
	return local.Process{
		PID:  int(peer.Pid), // 0 if it lives in a namespace that this process cannot see
		UID:  strconv.FormatUint(uint64(peer.Uid), 10),
		Name: comm("/proc", int(peer.Pid)),
	}
}

// comm returns the short name of a process, "" if it cannot be read. There is no process 0.
func comm(proc string, pid int) string {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return programName(string(name))
}

// fileID tells a file from its successor of the same name.
func fileID(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d:%d", stat.Dev, stat.Ino, stat.Ctim.Nano())
}

// watchLimit adds a remedy to an error of fsnotify that means that a limit is reached, and
// returns nil for any other.
func watchLimit(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return linux.InotifyLimit(err)
	}
	return nil
}

// maxSocketPath is how many bytes the kernel takes, less the one that ends them.
const maxSocketPath = 107
