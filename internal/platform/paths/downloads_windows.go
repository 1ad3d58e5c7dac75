package paths

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// Downloads is the user's folder of downloads, where a page may be put that a browser is to show.
func Downloads(func(string) string) (string, error) {
	folder, err := windows.KnownFolderPath(windows.FOLDERID_Downloads, 0)
	if err != nil {
		return "", fmt.Errorf("folder of downloads: %w", err)
	}
	return folder, nil
}
