// Package scm configures what Windows' service manager keeps of the agent's service beside its command: what to do when the service
// fails, and which privileges it needs. Both 'service install' and the package for Windows Installer use them.
package scm

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc/mgr"
)

// Privileges are the only ones that the service keeps: to get users' tokens, to read a user's environment as that user, and to start
// programs with the tokens.
var Privileges = []string{
	"SeTcbPrivilege", "SeImpersonatePrivilege", "SeAssignPrimaryTokenPrivilege", "SeIncreaseQuotaPrivilege", "SeChangeNotifyPrivilege",
}

// Actions are what Windows does when the service fails for the first time in a day, for the second, and each time after.
var Actions = []mgr.RecoveryAction{
	{Type: mgr.ServiceRestart, Delay: time.Second},
	{Type: mgr.ServiceRestart, Delay: 30 * time.Second},
	{Type: mgr.ServiceRestart, Delay: 5 * time.Minute},
}

// Configure has Windows take all other privileges from the service's process before it starts, and start it again when the process
// crashes or is killed. A service that ends by itself with an error stays down, as is Windows' default: it does so only if users could
// change its programs, and each start would log that again. If one of these settings fails, the others are made all the same.
func Configure(s *mgr.Service) error {
	day := uint32((24 * time.Hour).Seconds())
	return errors.Join(
		wrap("required privileges", requirePrivileges(s)),
		wrap("recovery actions", s.SetRecoveryActions(Actions, day)),
		wrap("no restart after errors", s.SetRecoveryActionsOnNonCrashFailures(false)), // as earlier versions had it
	)
}

// wrap adds to an error what it is about.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// RestartsAfterErrors reports whether Windows also restarts the service when it ends by itself with an error, as earlier versions
// configured it. Wine does not know the flag.
func RestartsAfterErrors(s *mgr.Service) (bool, error) {
	is, err := s.RecoveryActionsOnNonCrashFailures()
	if errors.Is(err, windows.ERROR_INVALID_LEVEL) {
		return false, nil
	}
	return is, err
}

// ConfigureByName configures the service of that name.
func ConfigureByName(name string) error {
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
	if err := Configure(s); err != nil {
		return fmt.Errorf("have the service %s run with few privileges, and again after failures: %w", name, err)
	}
	return nil
}

func requirePrivileges(s *mgr.Service) error {
	info := struct{ names *uint16 }{&privilegeList()[0]}
	return windows.ChangeServiceConfig2(s.Handle, windows.SERVICE_CONFIG_REQUIRED_PRIVILEGES_INFO, (*byte)(unsafe.Pointer(&info)))
}

// privilegeList is the format of SERVICE_REQUIRED_PRIVILEGES_INFO: names that end in a zero, and one more zero.
func privilegeList() []uint16 {
	return utf16.Encode([]rune(strings.Join(Privileges, "\x00") + "\x00\x00"))
}
