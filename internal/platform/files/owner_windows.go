package files

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// OwnerOf is the SID of who owns an opened file or folder.
func OwnerOf(file *os.File) (sid string, err error) {
	security, err := windows.GetSecurityInfo(windows.Handle(file.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", fmt.Errorf("whose it is cannot be told: %w", err)
	}
	owner, _, err := security.Owner()
	if err != nil {
		return "", fmt.Errorf("whose it is cannot be told: %w", err)
	}
	return owner.String(), nil
}
