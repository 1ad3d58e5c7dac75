// Command service is the agent's service on Windows: with the rights of the system it has one agent run in each log-in session, as that
// session's user. It opens nothing but Windows' service manager and its event log, reads no file, and listens to nobody.
// docs/service-windows.md says what could be done to it.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"

	"sidetone/internal/platform/system"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/supervise"
)

func main() {
	system.LoadDLLsOfSystemOnly()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sidetone:", err)
		os.Exit(1)
	}
}

// run is the service of a name, with the agent's program and its arguments, as 'service install' has registered it.
func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("this program is for Windows to start: 'service install --as service' registers it")
	}
	events, err := eventlog.Open(args[0])
	if err != nil {
		return fmt.Errorf("open the event log: %w", err)
	}
	defer events.Close()
	program := supervise.Program{Path: args[1], Args: args[2:]}
	check := func() error {
		self, err := os.Executable()
		if err == nil {
			err = acl.OnlyAdministratorsChange(self)
		}
		if err == nil {
			err = acl.OnlyAdministratorsChange(program.Path)
		}
		return err
	}
	return svc.Run(args[0], &supervise.Service{
		Supervisor: supervise.Supervisor{
			Machine: supervise.AllSessions{Program: program, Check: check}, Log: slog.New(supervise.EventLog(events)),
		},
		Check: check,
	})
}
