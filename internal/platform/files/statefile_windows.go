package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/session"
	"sidetone/internal/platform/windows/acl"
)

// openState opens a state file for reading if it is a regular file, no link, and belongs to this user or an administrator. Who else may
// write to it is up to the access list that it inherits from its folder: in the user's profile, nobody.
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
	if info, err = regular(file); err == nil {
		err = checkOwner(file)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// checkOwner refuses an open file of another user.
func checkOwner(file *os.File) error {
	owner, err := OwnerOf(file)
	if err == nil && owner != session.User() && !acl.IsAdministrators(owner) {
		err = fmt.Errorf("it belongs to another user (%s): have the vendor's software write it as the user who runs the agent", owner)
	}
	return err
}

// OwnerOf returns the SID of the owner of an open file or folder.
func OwnerOf(file *os.File) (sid string, err error) {
	return acl.Owner(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT)
}
