//go:build linux || darwin

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// OwnerOf returns the uid of a file's owner, or -1.
func OwnerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// Cause strips the path from an error of a file operation, for a reader who knows it.
func Cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
