// Command service is the agent's service on Windows. It runs with the system's rights and keeps one agent running in each log-in session,
// as that session's user. It uses nothing but Windows' service manager and event log, reads no file, and listens to nobody.
// docs/service-windows.md lists what could be done to it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sidetone/internal/platform/system"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/supervise"
)

func main() {
	system.LoadDLLsOfSystemOnly()
	if err := supervise.RunService(os.Args[1:], acl.OnlyAdministratorsCanChange); err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}
