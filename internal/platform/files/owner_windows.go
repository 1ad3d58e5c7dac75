package files

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// Those who administer a machine, by SID. What belongs to one of them was put there by nobody else.
const (
	administrators   = "S-1-5-32-544"
	localSystem      = "S-1-5-18"
	trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
)

// IsAdministrators reports whether the SID is that of those who administer the machine, or of the system.
func IsAdministrators(sid string) bool {
	return sid == administrators || sid == localSystem || sid == trustedInstaller
}

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
