package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/eventlog"

	"sidetone/internal/signal"
)

// service runs a Supervisor as a Windows service.
type service struct {
	Supervisor
	Check func() error // an error forbids the start
}

// stopTime is what Windows is told that stopping may take: the time for all agents to end, even those that must be killed, and some more.
const stopTime = endTime + killTime + 2*time.Second

// sleep are the events before and after a sleep: PBT_APMSUSPEND, PBT_APMRESUMESUSPEND and PBT_APMRESUMEAUTOMATIC.
var sleep = []uint32{0x04, 0x07, 0x12}

// IsSleep reports whether the event of a PowerBroadcast is one of them.
func IsSleep(event uint32) bool { return slices.Contains(sleep, event) }

// refused is the service-specific exit code if it must not start.
const refused = 1

// Execute runs until Windows stops the service. Session events are only hints to list the sessions again: their details are out of date
// by now.
func (s *service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (own bool, code uint32) {
	status <- svc.Status{State: svc.StartPending}
	if err := s.Check(); err != nil {
		s.Log.Error("the service does not start: its programs could be changed by users, who would get the rights of the system", "err", err)
		return true, refused
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hints, sleeps, done := signal.New(), signal.New(), make(chan struct{})
	s.Sleeps = sleeps
	const accepts = svc.AcceptStop | svc.AcceptShutdown | svc.AcceptSessionChange | svc.AcceptPowerEvent
	for range 2 { // once the second is accepted, Windows has processed the first, and no log-on is missed from then on
		status <- svc.Status{State: svc.Running, Accepts: accepts}
	}
	go func() {
		defer close(done)
		s.Run(ctx, hints)
	}()
	for {
		select {
		case r := <-requests:
			switch r.Cmd {
			case svc.Interrogate:
				status <- r.CurrentStatus
			case svc.SessionChange:
				hints.Notify()
			case svc.PowerEvent:
				if IsSleep(r.EventType) {
					sleeps.Notify()
				}
			case svc.Stop, svc.Shutdown:
				status <- svc.Status{State: svc.StopPending, WaitHint: uint32(stopTime.Milliseconds())}
				cancel()
			}
		case <-done:
			return false, 0
		}
	}
}

// RunService runs the service. The arguments are its name, the agent's program and the agent's arguments, as registered by 'service
// install'. trusted returns an error if a program must not be run with the system's rights.
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
	machine := allSessions{Program: program, Check: check}
	return svc.Run(args[0], &service{Supervisor: Supervisor{Machine: machine, Log: slog.New(EventLog(events))}, Check: check})
}
