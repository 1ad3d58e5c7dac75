package service

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/brand"
	"sidetone/internal/installation"
	"sidetone/internal/platform/windows/acl"
	"sidetone/internal/service/scm"
	"sidetone/internal/service/tasks"
)

// trusted returns an error if users could change a program that the system would start. It is a variable for tests, since Wine has no
// access lists.
var trusted = acl.OnlyAdministratorsCanChange

// restartsAfterErrors is a variable for tests, since Wine does not know the flag.
var restartsAfterErrors = scm.RestartsAfterErrors

// winService is a Windows service whose program runs the agent in each session.
type winService struct{ Agent }

func (w winService) kind() Kind   { return Service }
func (w winService) path() string { return "service " + w.Name }

// command is the service's command line. Its name and the agent's command are arguments, so that the service need not read a file.
func (w winService) command() []string {
	return append([]string{brand.ServiceOf(w.Executable), w.Name, w.Executable}, w.Arguments...)
}

// open opens the service with no more rights than needed. It returns nil if there is none.
func (w winService) open(rights uint32) (*mgr.Service, error) {
	manager, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return nil, fmt.Errorf("ask for the service %s: %w", w.Name, err)
	}
	defer windows.CloseServiceHandle(manager)
	name, err := windows.UTF16PtrFromString(w.Name)
	if err != nil {
		return nil, err
	}
	handle, err := windows.OpenService(manager, name, rights)
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the service %s: %w", w.Name, err)
	}
	return &mgr.Service{Name: w.Name, Handle: handle}, nil
}

func (w winService) current() (reg registration, err error) {
	s, err := w.open(windows.SERVICE_QUERY_CONFIG)
	if s == nil {
		return reg, err
	}
	defer s.Close()
	has, err := configOf(s)
	if err != nil {
		return reg, err
	}
	agent := w.agentIn(has)
	if agent == nil {
		return registration{foreign: has.line}, nil
	}
	again, err := restartsAfterErrors(s)
	wanted := serviceConfig{windows.SERVICE_WIN32_OWN_PROCESS, mgr.StartAutomatic, localSystem, windows.ComposeCommandLine(w.command())}
	return registration{agent, has.start == mgr.StartAutomatic, has == wanted && !again, ""}, err
}

// agentIn returns the agent's command in a service of ours: of this program, or of one that is gone. It returns nil if somebody else has
// registered the service, such as a vendor whose program has the same name.
func (w winService) agentIn(c serviceConfig) []string {
	words, err := windows.DecomposeCommandLine(c.line)
	if err != nil || len(words) < 3 || words[1] != w.Name ||
		!strings.EqualFold(filepath.Clean(words[0]), filepath.Clean(brand.ServiceOf(words[2]))) {
		return nil
	}
	if installation.IsOther(words[2], w.Executable) {
		return nil
	}
	return words[2:]
}

// localSystem is the account that the service runs as.
const localSystem = "LocalSystem"

// serviceConfig is a service's registration. mgr.Service.Config reads more, which is not needed here and which Wine does not know.
type serviceConfig struct {
	kind, start   uint32
	account, line string
}

func configOf(s *mgr.Service) (c serviceConfig, err error) {
	buffer := make([]byte, 8<<10) // the maximum
	config := (*windows.QUERY_SERVICE_CONFIG)(unsafe.Pointer(&buffer[0]))
	if err = windows.QueryServiceConfig(s.Handle, config, uint32(len(buffer)), new(uint32)); err != nil {
		return c, fmt.Errorf("read how the service %s is registered: %w", s.Name, err)
	}
	account, line := windows.UTF16PtrToString(config.ServiceStartName), windows.UTF16PtrToString(config.BinaryPathName)
	return serviceConfig{config.ServiceType, config.StartType, account, line}, nil
}

// running reports whether the service runs.
func (w winService) running() (bool, error) {
	s, err := w.open(windows.SERVICE_QUERY_STATUS)
	if s == nil {
		return false, err
	}
	defer s.Close()
	status, err := s.Query()
	return status.State == svc.Running || status.State == svc.StartPending, err
}

// install refuses programs that users could change, since they would get the system's rights.
func (w winService) install() (Step, error) {
	for _, program := range []string{brand.ServiceOf(w.Executable), w.Executable} {
		if err := trusted(program); err != nil {
			return Step{}, fmt.Errorf("the service would run with the rights of the system: %w: install the programs where only "+
				"administrators may write, as in Program Files", err)
		}
	}
	text := fmt.Sprintf("register the service %s (restart after failures, few privileges):\n\n    %s",
		w.Name, windows.ComposeCommandLine(w.command()))
	return Step{text, func(context.Context) error { return w.register() }}, nil
}

func (w winService) register() error {
	m, err := mgr.Connect()
	if err != nil {
		return fmt.Errorf("register the service: %w: it takes an administrator", err)
	}
	defer m.Disconnect()
	config := mgr.Config{
		StartType: mgr.StartAutomatic, ErrorControl: mgr.ErrorNormal, ServiceType: windows.SERVICE_WIN32_OWN_PROCESS,
		ServiceStartName: localSystem, DisplayName: w.Name, Description: tasks.About,
	}
	s, err := m.OpenService(w.Name)
	there := err == nil
	if errors.Is(err, windows.ERROR_SERVICE_DOES_NOT_EXIST) {
		s, err = m.CreateService(w.Name, w.command()[0], config, w.command()[1:]...)
	}
	if err != nil {
		return fmt.Errorf("register the service %s: %w", w.Name, err)
	}
	defer s.Close()
	if there {
		if err := w.change(s); err != nil {
			return fmt.Errorf("change the service %s: %w", w.Name, err)
		}
	}
	// If this fails, the service works all the same, with more rights or without restarts.
	_ = scm.Configure(s)
	return nil
}

// ours returns an error if the service has our name but belongs to somebody else.
func (w winService) ours(s *mgr.Service) error {
	c, err := configOf(s)
	if err == nil && w.agentIn(c) == nil {
		err = installation.Taken(w.path(), c.line)
	}
	return err
}

// change updates the command of a service of ours, and resets the rest of its registration.
func (w winService) change(s *mgr.Service) error {
	if err := w.ours(s); err != nil {
		return err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(w.command()))
	if err != nil {
		return err
	}
	account, err := windows.UTF16PtrFromString(localSystem)
	if err != nil {
		return err
	}
	return windows.ChangeServiceConfig(s.Handle, windows.SERVICE_WIN32_OWN_PROCESS, mgr.StartAutomatic, mgr.ErrorNormal, line,
		nil, nil, nil, account, new(uint16), nil)
}

func (w winService) remove() Step {
	return Step{"stop and remove the service " + w.Name, func(ctx context.Context) error {
		if err := w.halt(ctx); err != nil {
			return err
		}
		s, err := w.open(windows.DELETE)
		if s == nil {
			return err
		}
		defer s.Close()
		if err := s.Delete(); err != nil {
			return fmt.Errorf("remove the service %s: %w", w.Name, err)
		}
		return nil
	}}
}

// start starts the service.
func (w winService) start() Step {
	return Step{"start the service " + w.Name, func(context.Context) error {
		s, err := w.open(windows.SERVICE_START)
		if s == nil {
			return err
		}
		defer s.Close()
		if err := s.Start(); err != nil && !errors.Is(err, windows.ERROR_SERVICE_ALREADY_RUNNING) {
			return fmt.Errorf("start the service %s: %w", w.Name, err)
		}
		return nil
	}}
}

// halt stops the service, with the agents of all sessions, and waits for that.
func (w winService) halt(ctx context.Context) error {
	s, err := w.open(windows.SERVICE_STOP | windows.SERVICE_QUERY_STATUS)
	if s == nil {
		return err
	}
	defer s.Close()
	if _, err := s.Control(svc.Stop); err != nil && !errors.Is(err, windows.ERROR_SERVICE_NOT_ACTIVE) {
		return fmt.Errorf("stop the service %s: %w", w.Name, err)
	}
	return poll(ctx, "the service "+w.Name+" has not ended", func() (bool, error) {
		status, err := s.Query()
		return status.State == svc.Stopped, err
	})
}
