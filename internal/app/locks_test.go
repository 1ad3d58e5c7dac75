package app

import (
	"context"
	"log/slog"
	"net"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/paths"
)

// lockDesk is where an agent takes its locks, in virtual time.
type lockDesk struct {
	*testing.T
	Options
}

// onLockDesk runs a test there. On Windows such folders are the user's: no two of these tests run at once.
func onLockDesk(t *testing.T, test func(d *lockDesk)) {
	t.Helper()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &lockDesk{T: t}
		d.Options = Options{
			Settings: bareSettings(t), Host: Host{Getenv: func(string) string { return folder }}, Log: slog.New(slog.DiscardHandler),
		}
		lock, err := d.lockClient()
		require.NoError(t, err) // and there are folders
		require.NoError(t, lock.Close())
		test(d)
	})
}

// lockClient takes the lock for the client id, as another agent.
func (d *lockDesk) lockClient() (*ipc.ClientLock, error) {
	d.Helper()
	folder, err := paths.AgentsFolder(d.Host.Getenv)
	require.NoError(d, err)
	return ipc.LockClient(folder, d.Settings.Identity.ClientID)
}

// listen takes the local API, as another agent.
func (d *lockDesk) listen() (net.Listener, error) {
	d.Helper()
	address, err := d.Settings.controlAddress(d.Host)
	require.NoError(d, err)
	return ipc.ListenControl(address)
}

// waits has an agent take the locks while another one has the local API, and requires that for that long the agent has the lock for the
// client id, and writes nothing. It returns what the agent says once the other one has ended.
func (d *lockDesk) waits(long time.Duration, take func() error) (other net.Listener, ended <-chan error) {
	d.Helper()
	other, err := d.listen()
	require.NoError(d, err)
	took := make(chan error, 1)
	go func() { took <- take() }()
	synctest.Wait()
	_, err = d.lockClient()
	var running *ipc.ErrRunning
	require.ErrorAs(d, err, &running, "what is free is taken")
	const mark = "nothing more is written"
	if runtime.GOOS != "windows" { // which lets nobody write to a file that is locked, so neither does the agent
		require.NoError(d, os.WriteFile(running.Lock, []byte(mark), 0o600))
	}
	for range long / lockInterval {
		time.Sleep(lockInterval)
		synctest.Wait()
		_, err = d.lockClient()
		require.ErrorAs(d, err, &running, "what is taken is kept")
	}
	if runtime.GOOS != "windows" {
		text, err := os.ReadFile(running.Lock)
		require.NoError(d, err)
		require.Equal(d, mark, string(text))
	}
	return other, took
}

// TestLocksOfAnAgentThatIsJustEnding: who looks after this agent may have killed the one before a moment ago, or that one may have been
// told to stop and hang.
func TestLocksOfAnAgentThatIsJustEnding(t *testing.T) {
	onLockDesk(t, func(d *lockDesk) {
		before, err := New(d.Options)
		require.NoError(d, err)
		_, err = New(d.Options)
		require.ErrorAs(d, err, new(*ipc.ErrRunning), "a user need not wait for an answer")
		d.AwaitLocks = EndTimeout
		ending := time.AfterFunc(shutdownTimeout+time.Second, before.close)
		defer ending.Stop()
		next, err := New(d.Options)
		require.NoError(d, err)
		defer next.close()
		_, err = New(d.Options)
		require.ErrorAs(d, err, new(*ipc.ErrRunning), "that one does not end")
	})
}

// TestWhatIsFreeIsTakenOnceAndKept while an agent waits for the rest, and given back where the rest does not come.
func TestWhatIsFreeIsTakenOnceAndKept(t *testing.T) {
	for name, comes := range map[string]bool{"one that starts": true, "one that starts in vain": false} {
		t.Run(name, func(t *testing.T) {
			onLockDesk(t, func(d *lockDesk) {
				d.AwaitLocks = EndTimeout
				var a *App
				other, ended := d.waits(EndTimeout-time.Second, func() (err error) { a, err = New(d.Options); return err })
				if comes {
					require.NoError(d, other.Close())
					require.NoError(d, <-ended)
					_, err := d.listen()
					require.ErrorAs(d, err, new(*ipc.ErrRunning))
					a.close()
				} else {
					require.ErrorAs(d, <-ended, new(*ipc.ErrRunning))
					require.NoError(d, other.Close())
				}
				d.AwaitLocks = 0
				next, err := New(d.Options)
				require.NoError(d, err, "all is free")
				next.close()
			})
		})
	}
}

// TestNobodyKeepsTheLocalAPIWaiting for the lock for its client id: two agents, each with one of them, would wait for each other.
func TestNobodyKeepsTheLocalAPIWaiting(t *testing.T) {
	onLockDesk(t, func(d *lockDesk) {
		d.AwaitLocks = EndTimeout
		other, err := d.lockClient()
		require.NoError(d, err)
		started := make(chan *App)
		for range 2 {
			go func() {
				a, err := New(d.Options)
				assert.NoError(d, err)
				started <- a
			}()
		}
		for range 20 {
			time.Sleep(lockInterval)
			synctest.Wait()
			l, err := d.listen()
			require.NoError(d, err)
			require.NoError(d, l.Close())
		}
		require.NoError(d, other.Close())
		let := time.Now()
		(<-started).close()
		(<-started).close()
		require.LessOrEqual(d, time.Since(let), 2*lockInterval, "as soon as they can")
	})
}

// TestAnAgentThatIsToEndDoesNotWaitForLocks, and keeps none.
func TestAnAgentThatIsToEndDoesNotWaitForLocks(t *testing.T) {
	onLockDesk(t, func(d *lockDesk) {
		ctx, cancel := context.WithCancel(d.Context())
		a := &App{opts: d.Options, log: d.Log}
		other, ended := d.waits(time.Second, func() error { return a.awaitLocks(ctx, EndTimeout) })
		defer other.Close()
		cancel()
		require.ErrorIs(d, <-ended, context.Canceled)
		lock, err := d.lockClient()
		require.NoError(d, err)
		require.NoError(d, lock.Close())
	})
}
