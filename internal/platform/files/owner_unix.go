//go:build linux || darwin

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// OwnerOf is the uid of a file's owner, -1 if unknown.
func OwnerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// Cause is an error of a file operation without the path, which the reader knows already.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
