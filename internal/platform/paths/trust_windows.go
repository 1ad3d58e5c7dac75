package paths

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/files"
	"sidetone/internal/platform/windows/acl"
)

// RefuseSystemSettings says why the administrator's settings at path do not count; nil: they do, or there are none. Every user may make
// folders in %PROGRAMDATA%, and files in most that are there: so both must belong to those who administer the machine. What leads to a
// folder or file of theirs is whose the link is.
func RefuseSystemSettings(path string) error {
	if path == "" {
		return nil
	}
	for _, path := range []string{filepath.Dir(path), path} {
		switch owner, err := ownerAt(path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", path, err)
		case !acl.IsAdministrators(owner):
			return fmt.Errorf("%s belongs to user %s, who is none of the administrators", path, owner)
		}
	}
	return nil
}

// ownerAt is the owner of a file or folder, of a link that of the link: whoever has made it can have it lead elsewhere a moment later.
func ownerAt(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return files.OwnerOf(file)
}
