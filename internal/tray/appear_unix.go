//go:build linux || darwin

package tray

import "sidetone/internal/platform/files"

// downRetry is 0: the folder of an agent's socket tells when it is there.
const downRetry = 0

func watchSocket(address string, changed func()) (*files.PathWatch, error) {
	return files.NewPathWatch([]string{address}, false, changed)
}
