package files

import (
	"os"

	"golang.org/x/sys/windows"

	"sidetone/internal/platform/windows/acl"
)

// OwnerOf returns the SID of the owner of an open file or folder.
func OwnerOf(file *os.File) (sid string, err error) {
	return acl.Owner(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT)
}
