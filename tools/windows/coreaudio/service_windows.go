package main

import (
	"os"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
)

// serviceName is the name of Windows' audio service, which Wine lacks.
const serviceName = "Audiosrv"

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

// bring starts or stops the service, whatever its state, and returns when that is done. It sends stop once to each run: a second one that
// arrives while the service ends would be lost, and the process would never end.
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
			asked, _ = false, s.Start() // the next query tells whether it did
		case status.State == svc.Running && !asked:
			_, err := s.Control(svc.Stop)
			asked = err == nil
		}
	}
}

// service is the audio service: while it is stopped all calls fail, and what was opened before its start fails from then on.
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
