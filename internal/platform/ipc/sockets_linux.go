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

// peerOf returns the process that listened on the other end of the connected unix socket fd when it began to listen.
func peerOf(fd int) local.Process {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return local.Process{}
	}
	return local.Process{
		PID:  int(peer.Pid), // 0 if it is in a namespace that is invisible here
		UID:  strconv.FormatUint(uint64(peer.Uid), 10),
		Name: comm("/proc", int(peer.Pid)),
	}
}

// comm returns the short name of a process, or "". There is no process 0.
func comm(proc string, pid int) string {
	name, err := os.ReadFile(filepath.Join(proc, strconv.Itoa(pid), "comm"))
	if err != nil {
		return ""
	}
	return programName(string(name))
}

// fileID distinguishes a file from a later one of the same name.
func fileID(info fs.FileInfo) string {
	stat := info.Sys().(*syscall.Stat_t)
	return fmt.Sprintf("%d:%d:%d", stat.Dev, stat.Ino, stat.Ctim.Nano())
}

// watchLimit adds the remedy to an fsnotify error about a limit, and returns nil for any other error.
func watchLimit(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return linux.InotifyLimit(err)
	}
	return nil
}

// maxSocketPath is the kernel's limit in bytes, without the final zero.
const maxSocketPath = 107
