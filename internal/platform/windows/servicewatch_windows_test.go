package windows

import (
	"fmt"
	"os"
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

func TestAServiceThatStopsAndStartsIsHeard(t *testing.T) {
	manager, err := mgr.Connect()
	require.NoError(t, err)
	defer manager.Disconnect()
	program, err := os.Executable()
	require.NoError(t, err)
	name := fmt.Sprintf("sidetone-test-%d", os.Getpid())
	_, err = WatchService(name, nil)
	require.ErrorIs(t, err, windows.ERROR_SERVICE_DOES_NOT_EXIST)
	service, err := manager.CreateService(name, program, mgr.Config{}, asService)
	if err != nil {
		t.Skip("this user may not make a service: ", err)
	}
	defer service.Close()
	defer service.Delete()
	changed := signal.New()
	stop, err := WatchService(name, changed.Notify)
	require.NoError(t, err)
	hear := func() {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was heard")
		}
	}
	for range 3 {
		require.NoError(t, service.Start())
		hear()
		_, err = service.Control(svc.Stop)
		require.NoError(t, err)
		hear()
		require.Eventually(t, func() bool {
			status, err := service.Query()
			return err == nil && status.State == svc.Stopped
		}, 20*time.Second, time.Millisecond)
	}
	stop()
	require.Empty(t, changed, "nothing else was")
}

// As when a driver's installer replaces the audio service, which then is another one of the same name.
func TestAServiceThatIsInstalledAnewIsHeard(t *testing.T) {
	manager, err := mgr.Connect()
	require.NoError(t, err)
	defer manager.Disconnect()
	program, err := os.Executable()
	require.NoError(t, err)
	name := fmt.Sprintf("sidetone-test-again-%d", os.Getpid())
	install := func() *mgr.Service {
		var service *mgr.Service
		require.Eventually(t, func() bool { // one that was deleted stays until nobody has it open
			service, err = manager.CreateService(name, program, mgr.Config{}, asService)
			return err == nil
		}, 20*time.Second, time.Millisecond, "%v", err)
		return service
	}
	if service, err := manager.CreateService(name, program, mgr.Config{}, asService); err != nil {
		t.Skip("this user may not make a service: ", err)
	} else {
		require.NoError(t, service.Delete())
		require.NoError(t, service.Close())
	}
	service := install()
	changed := signal.New()
	stop, err := watchService(name, time.Millisecond, changed.Notify)
	require.NoError(t, err)
	defer stop()
	hear := func() {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was heard")
		}
	}
	require.NoError(t, service.Start())
	hear()
	require.NoError(t, service.Delete())
	_, err = service.Control(svc.Stop)
	require.NoError(t, err)
	hear()
	require.NoError(t, service.Close())
	service = install()
	defer service.Close()
	defer service.Delete()
	require.NoError(t, service.Start())
	hear()
	_, err = service.Control(svc.Stop)
	require.NoError(t, err)
	hear()
}
