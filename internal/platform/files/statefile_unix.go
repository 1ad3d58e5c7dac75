//go:build linux || darwin

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// openState opens a state file for reading if nobody but this user and root can have written it:
//
//   - The file is no link: otherwise whoever may create a link in the folder could have any file of the user read as states. Links among
//     the folders on the way are the user's own affair.
//   - It is a regular file, according to the opened file and not to its name. Opening never blocks, as it would at a pipe without a writer.
//   - It belongs to this user or to root, and neither its group nor others may write to it.
//   - Others may not write to its folder, unless that has the sticky bit, as /tmp does: they could remove the file, and a mute with it, or
//     put another one in its place.
func openState(path string) (*os.File, fs.FileInfo, error) {
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, nil, Cause(err)
	}
	if mode := folder.Mode(); mode&0o002 != 0 && mode&fs.ModeSticky == 0 {
		return nil, nil, fmt.Errorf("everybody may write to its folder: forbid it (chmod o-w %s)", filepath.Dir(path))
	}
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, nil, errors.New("it is a link: name the file that it leads to")
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.EOPNOTSUPP):
		return nil, nil, errNoFile // a socket
	case errors.Is(err, fs.ErrPermission):
		return nil, nil, fmt.Errorf("%w: let this user read it", Cause(err))
	case err != nil:
		return nil, nil, Cause(err)
	}
	info, err := checkOwnership(path, file)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// checkOwnership refuses an open file that another user may have written.
func checkOwnership(path string, file *os.File) (fs.FileInfo, error) {
	info, err := regular(file)
	if err != nil {
		return nil, err
	}
	if owner := OwnerOf(info); owner != os.Geteuid() && owner != 0 {
		return nil, fmt.Errorf("it belongs to another user (uid %d): have the vendor's software write it as the user who runs the agent", owner)
	}
	if info.Mode()&0o022 != 0 {
		return nil, fmt.Errorf("others than its owner may write to it (mode %04o): forbid it (chmod go-w %s)", info.Mode().Perm(), path)
	}
	return info, nil
}

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
