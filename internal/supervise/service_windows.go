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

	"sidetone/internal/idlegc"
	"sidetone/internal/signal"
)

// Service is a Supervisor as a service of Windows.
type Service struct {
	Supervisor
	Check func() error // says why it must not start
}

// stopTime is how long Windows is told that the end may take: the agents', also of those that have to be killed, and a little.
const stopTime = endTime + killTime + 2*time.Second

// sleep is what Windows tells before the machine sleeps, and after: PBT_APMSUSPEND, PBT_APMRESUMESUSPEND and PBT_APMRESUMEAUTOMATIC.
var sleep = []uint32{0x04, 0x07, 0x12}

// IsSleep reports whether that is what the event of a PowerBroadcast tells.
func IsSleep(event uint32) bool { return slices.Contains(sleep, event) }

// refused is the service's own exit code where it must not start.
const refused = 1

// Execute runs until Windows has the service stop. What Windows tells of sessions is a hint to look at them: its details are not valid
// any more by now.
func (s *Service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (own bool, code uint32) {
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
	for range 2 { // that the second one is taken shows that Windows has the first: from then on no log-on is missed
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
