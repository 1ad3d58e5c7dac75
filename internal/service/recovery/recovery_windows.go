// Package recovery is what Windows does when the agent's service fails: it starts that again.
package recovery

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/windows/svc/mgr"
)

// Actions are what Windows does when the service fails the first time in a day, the second time, and each time after.
var Actions = []mgr.RecoveryAction{
	{Type: mgr.ServiceRestart, Delay: time.Second},
	{Type: mgr.ServiceRestart, Delay: 30 * time.Second},
	{Type: mgr.ServiceRestart, Delay: 5 * time.Minute},
}

// Set has Windows do so. An end with an error is a failure, too.
func Set(s *mgr.Service) error {
	day := uint32((24 * time.Hour).Seconds())
	return errors.Join(s.SetRecoveryActions(Actions, day), s.SetRecoveryActionsOnNonCrashFailures(true))
}

// SetOf does so with the service of a name.
func SetOf(name string) error {
	m, err := mgr.Connect()
	if err != nil {
		return fmt.Errorf("open the service manager: %w", err)
	}
	defer m.Disconnect()
	s, err := m.OpenService(name)
	if err != nil {
		return fmt.Errorf("open the service %s: %w", name, err)
	}
	defer s.Close()
	if err := Set(s); err != nil {
		return fmt.Errorf("have the service %s started again after failures: %w", name, err)
	}
	return nil
}
