//go:build !linux && !darwin

package files

import (
	"errors"
	"io/fs"
	"os"
)

// openState opens a state file for reading if it is a regular file and no link. Who may write
// to it is left to the access list that its folder passes on: in the user's profile, that is
// this user and the administrators.
func openState(path string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, nil, errors.New("it is a link: name the file that it leads to")
	case !info.Mode().IsRegular() && !info.IsDir():
		return nil, nil, errNoFile // opening a device could wait for ever
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	if info, err = regular(file); err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}
