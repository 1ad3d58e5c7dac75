package ipc

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/signal"
	"sidetone/internal/testlab/ipctest"
)

// TestAnAgentTellsThatItAppears: whoever waits for it hears of each start, and of no other agent's.
func TestAnAgentTellsThatItAppears(t *testing.T) {
	platformtest.NoLeak(t)
	address := ipctest.Folder(t)
	told, others := signal.New(), signal.New()
	for at, heard := range map[string]signal.Signal{address: told, address + "-other": others} {
		stop, err := WatchControl(at, heard.Notify)
		require.NoError(t, err)
		defer stop()
	}
	require.NoError(t, answering(t, address).Close())
	<-told
	again, err := ListenControl(address)
	require.NoError(t, err)
	<-told
	require.NoError(t, again.Close())
	require.Empty(t, others)
}

// TestForgedAppearances: a program that pretends all the time that an agent appears is heard a few times a second.
func TestForgedAppearances(t *testing.T) {
	platformtest.NoLeak(t)
	address := ipctest.Folder(t)
	heard := make(chan struct{}, 1000)
	stop, err := WatchControl(address, func() { heard <- struct{}{} })
	require.NoError(t, err)
	begun := time.Now()
	announceListening(address)
	<-heard
	for range 500 {
		announceListening(address)
	}
	stop()
	stop()
	announceListening(address) // nobody waits any more
	require.LessOrEqual(t, len(heard), 2+2*int(time.Since(begun)/appearInterval))
}

// TestAnEventThatStaysSet: another program may have made it so before. It is one word, and the next one is heard, too.
func TestAnEventThatStaysSet(t *testing.T) {
	platformtest.NoLeak(t)
	address := ipctest.Folder(t)
	name, err := appearEvent(address)
	require.NoError(t, err)
	const stays = 1
	event, err := windows.CreateEvent(nil, stays, stays, name)
	require.NoError(t, err)
	defer windows.CloseHandle(event)
	set := make(chan bool)
	stop, err := WatchControl(address, func() {
		which, _ := windows.WaitForSingleObject(event, 0)
		set <- which == windows.WAIT_OBJECT_0
	})
	require.NoError(t, err)
	require.False(t, <-set)
	announceListening(address)
	require.False(t, <-set)
	stop()
}

func TestIntervalOfAppearances(t *testing.T) {
	last := appearInterval / 2
	for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		last = nextAppearInterval(last, lastAppearInterval-1)
		require.Equal(t, want*time.Millisecond, last)
	}
	require.Equal(t, appearInterval, nextAppearInterval(last, lastAppearInterval))
}

// TestATakenEventIsAnError: another program may have made something else of that name.
func TestATakenEventIsAnError(t *testing.T) {
	address := ipctest.Folder(t)
	name, err := appearEvent(address)
	require.NoError(t, err)
	taken, err := windows.CreateMutex(nil, false, name)
	require.NoError(t, err)
	defer windows.CloseHandle(taken)
	_, err = WatchControl(address, func() {})
	require.ErrorContains(t, err, "wait for the control pipe "+address)
	require.NoError(t, answering(t, address).Close(), "an agent starts all the same")
}
