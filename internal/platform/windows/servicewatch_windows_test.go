package windows

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
	"golang.org/x/sys/windows/svc/mgr"

	"sidetone/internal/signal"
)

// asService has this program be a service that does nothing.
const asService = "service-of-a-test"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asService {
		_ = svc.Run("", idle{})
		return
	}
	os.Exit(m.Run())
}

type idle struct{}

func (idle) Execute(_ []string, requests <-chan svc.ChangeRequest, status chan<- svc.Status) (bool, uint32) {
	status <- svc.Status{State: svc.Running, Accepts: svc.AcceptStop}
	for r := range requests {
		if r.Cmd == svc.Stop {
			break
		}
		status <- r.CurrentStatus
	}
	return false, 0
}

// service makes a service that does nothing.
func service(t *testing.T) *mgr.Service {
	t.Helper()
	manager, err := mgr.Connect()
	require.NoError(t, err)
	t.Cleanup(func() { _ = manager.Disconnect() })
	program, err := os.Executable()
	require.NoError(t, err)
	name := fmt.Sprintf("sidetone-test-%s-%d", t.Name(), os.Getpid())
	_, err = WatchService(name, nil)
	require.ErrorIs(t, err, windows.ERROR_SERVICE_DOES_NOT_EXIST)
	made, err := manager.CreateService(name, program, mgr.Config{}, asService)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		t.Skip("this user may not make a service")
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = made.Delete()
		_ = made.Close()
	})
	return made
}

func hear(t *testing.T, changed signal.Signal) {
	t.Helper()
	select {
	case <-changed:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was heard")
	}
}

func stopService(t *testing.T, s *mgr.Service) {
	t.Helper()
	_, err := s.Control(svc.Stop)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		status, err := s.Query()
		return err == nil && status.State == svc.Stopped
	}, 20*time.Second, time.Millisecond)
}

func TestAServiceThatStopsAndStartsIsHeard(t *testing.T) {
	s, changed := service(t), signal.New()
	stop, err := WatchService(s.Name, changed.Notify)
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.Start())
		hear(t, changed)
		stopService(t, s)
		hear(t, changed)
	}
	stop()
	require.Empty(t, changed, "nothing else was")
}

// A service may be away as one for a while, as when it is installed anew, or its manager may forget who is slow to listen.
func TestAServiceThatCannotBeWatchedForAWhileIsHeardAfterThat(t *testing.T) {
	s, changed := service(t), signal.New()
	w := &serviceWatch{changed: changed.Notify, retry: time.Millisecond}
	var away atomic.Bool
	tried := signal.New()
	w.open = func() (windows.Handle, error) {
		if away.Load() {
			tried.Notify()
			return 0, windows.ERROR_SERVICE_NOTIFY_CLIENT_LAGGING
		}
		return w.openService()
	}
	var err error
	w.name, err = windows.UTF16PtrFromString(s.Name)
	require.NoError(t, err)
	stop, err := w.start()
	require.NoError(t, err)
	defer stop()
	require.NoError(t, s.Start())
	hear(t, changed)
	away.Store(true)
	stopService(t, s)
	hear(t, changed) // that it has stopped, or that it cannot be watched
	hear(t, tried)
	require.NoError(t, s.Start())
	hear(t, tried)
	away.Store(false)
	hear(t, changed)
	stopService(t, s)
	hear(t, changed)
}
