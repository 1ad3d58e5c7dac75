// Command coreaudio changes the endpoints of the stand-in for Core Audio that all programs of a Wine prefix share.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/platform/audio/wasapi/wasapitest"
	"sidetone/internal/platform/windows/com"
)

func main() {
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "coreaudio:", err)
		os.Exit(1)
	}
}

func do(args []string) error {
	if len(args) == 2 && args[0] == "install" {
		if err := wasapitest.Install(args[1]); err != nil {
			return err
		}
		if err := createService(); err != nil {
			return err
		}
		return bring(svc.Running)
	}
	shared, err := wasapitest.Open()
	if err != nil {
		return err
	}
	if len(args) == 1 && args[0] == "service" {
		return svc.Run(serviceName, service{shared})
	}
	leave, err := com.Enter()
	if err != nil {
		return err
	}
	defer leave()
	for _, what := range args {
		if err := one(shared, what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return nil
}

func one(shared wasapitest.Shared, what string) error {
	headset := wasapitest.Headset700()
	switch what {
	case "plug":
		return errors.Join(shared.Put(headset[0], true), shared.Put(headset[1], true))
	case "cancel", "leave": // echo cancellation on or off: Windows lists it, and noise suppression, which is off
		headset[0].Effects = []wasapitest.Effect{{ID: wasapitest.EchoCancellation}, {ID: wasapitest.NoiseSuppression}}
		if what == "cancel" {
			headset[0].Effects[0].On = 1
		}
		return shared.Put(headset[0], true)
	case "unplug":
		return errors.Join(shared.Unplug(headset[0]), shared.Unplug(headset[1]))
	case "mute", "unmute":
		return press(headset[0].ID, func(i int) bool { return what == "mute" }, 1)
	case "storm": // until the process is killed
		return press(headset[0].ID, func(i int) bool { return i%2 == 0 }, 1<<30)
	case "start":
		return bring(svc.Running)
	case "stop":
		return bring(svc.Stopped)
	default: // the result that all calls return from now on
		result, err := strconv.ParseUint(what, 0, 32)
		if err != nil {
			return err
		}
		shared.Fail(com.HRESULT(result))
	}
	return nil
}

func press(id string, mute func(i int) bool, times int) error {
	volume, err := wasapitest.OpenVolume(id)
	for i := 0; i < times && err == nil; i++ {
		err = volume.SetMute(mute(i))
	}
	return err
}

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
