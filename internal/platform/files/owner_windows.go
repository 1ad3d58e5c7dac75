package files

import (
	"os"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// OwnerOf is the SID of who owns an opened file or folder.
func OwnerOf(file *os.File) (sid string, err error) {
	return acl.Owner(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT)
}
