package supervise

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"

	"sidetone/internal/idlegc"
)

// RunService is the service of a name, with the agent's program and its arguments, as 'service install' has registered it. trusted says why
// a program must not be run with the rights of the system; nil: it may.
func RunService(args []string, trusted func(program string) error) error {
	if len(args) < 2 {
		return errors.New("this program is for Windows to start: 'service install --as service' registers it")
	}
	events, err := eventlog.Open(args[0])
	if err != nil {
		return fmt.Errorf("open the event log: %w", err)
	}
	defer events.Close()
	program := Program{Path: args[1], Args: args[2:]}
	check := func() error {
		self, err := os.Executable()
		if err == nil {
			err = trusted(self)
		}
		if err == nil {
			err = trusted(program.Path)
		}
		return err
	}
	idlegc.NewCollector()
	machine := AllSessions{Program: program, Check: check}
	return svc.Run(args[0], &Service{Supervisor: Supervisor{Machine: machine, Log: slog.New(EventLog(events))}, Check: check})
}
