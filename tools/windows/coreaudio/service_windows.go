package main

import (
	"os"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
)

// serviceName is that of Windows' service for sound, which Wine has not.
const serviceName = "Audiosrv"

// createService makes this program that service.
func createService() error {
	m, err := mgr.Connect()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	program, err := os.Executable()
	if err != nil {
		return err
	}
	s, err := m.CreateService(serviceName, program, mgr.Config{}, "service")
	if err != nil {
		return err
	}
	return s.Close()
}

// bring has the service run or stop, and returns when it does, whatever it is about to do. It says stop once to each run: one more that
// comes as the service ends would find nobody who takes it, and the process would never end.
func bring(to svc.State) error {
	m, err := mgr.Connect()
	if err != nil {
		return err
	}
	defer m.Disconnect()
	s, err := m.OpenService(serviceName)
	if err != nil {
		return err
	}
	defer s.Close()
	for asked := false; ; time.Sleep(10 * time.Millisecond) {
		status, err := s.Query()
		switch {
		case err != nil || status.State == to:
			return err
		case status.State == svc.Stopped:
			asked, _ = false, s.Start() // it is looked at again
		case status.State == svc.Running && !asked:
			_, err := s.Control(svc.Stop)
			asked = err == nil
		}
	}
}

// service is Core Audio's: while it does not run no call works, and nothing that was opened before it was started does.
type service struct{ shared wasapitest.Shared }

func (s service) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	s.shared.Restart()
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop}
	for r := range requests {
		switch r.Cmd {
		case svc.Interrogate:
			status <- r.CurrentStatus
		case svc.Stop:
			status <- svc.Status{State: svc.StopPending}
			s.shared.Fail(com.AudioNotRunning)
			return false, 0
		}
	}
	return false, 0
}
