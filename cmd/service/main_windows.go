// Command service is the agent's service on Windows: with the rights of the system it has one agent run in each log-in session, as that
// session's user. It opens nothing but Windows' service manager and its event log, reads no file, and listens to nobody.
// docs/service-windows.md says what could be done to it.
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
	if err := supervise.RunService(os.Args[1:], acl.OnlyAdministratorsChange); err != nil {
		fmt.Fprintln(os.Stderr, filepath.Base(os.Args[0])+":", err)
		os.Exit(1)
	}
}
