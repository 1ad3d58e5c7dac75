package broadcast_test

import (
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/platformtest"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/platform/windows/broadcast/broadcasttest"
)

const own = 0x8000 // WM_APP: for a program's own use

func TestMessages(t *testing.T) {
	platformtest.NoLeak(t)
	var mu sync.Mutex
	var heard []broadcast.Message
	hear := func(m broadcast.Message) (uintptr, bool) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, m)
		return 42, m.ID == own
	}
	first, err := broadcast.Subscribe(hear, own, own+1)
	require.NoError(t, err)
	require.NotZero(t, first.Window())
	second, err := broadcast.Subscribe(func(broadcast.Message) (uintptr, bool) { return 43, true }, own, own+2)
	require.NoError(t, err)
	require.Equal(t, first.Window(), second.Window(), "a process has one")
	ask := func(id uint32) uintptr {
		answer, _ := broadcasttest.Send(t, os.Getpid(), id, 7, 8)
		return answer
	}
	require.EqualValues(t, 42, ask(own), "the answer of the first")
	require.Zero(t, ask(own+1), "that of Windows")
	require.EqualValues(t, 43, ask(own+2))
	require.Zero(t, ask(own+3), "nobody listens")
	require.Equal(t, []broadcast.Message{{ID: own, Param: 7, Data: 8}, {ID: own + 1, Param: 7, Data: 8}}, heard)

	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "twice does no harm")
	require.EqualValues(t, 43, ask(own))
	require.Len(t, heard, 2)
	require.NoError(t, second.Close())
	third, err := broadcast.Subscribe(hear, own)
	require.NoError(t, err)
	require.EqualValues(t, 42, ask(own), "there is a window again")
	require.NoError(t, third.Close())
}

// TestTasks: they are called one after another on the window's thread, which hears messages as before; who pretends that there is one has nothing called.
func TestTasks(t *testing.T) {
	platformtest.NoLeak(t)
	heard := make(chan uintptr, 1)
	s, err := broadcast.Subscribe(func(m broadcast.Message) (uintptr, bool) {
		heard <- m.Param
		return 0, true
	}, own)
	require.NoError(t, err)
	calls := make(chan uint32, 9)
	for range 9 {
		require.NoError(t, s.Do(func() { calls <- windows.GetCurrentThreadId() }))
	}
	thread := <-calls
	for range 8 {
		require.Equal(t, thread, <-calls)
	}
	broadcasttest.Send(t, os.Getpid(), 0xbfff, 0, 0)
	broadcasttest.Send(t, os.Getpid(), own, 7, 0)
	require.EqualValues(t, 7, <-heard)
	require.NoError(t, s.Close())
	require.Error(t, s.Do(func() {}), "there is no window any more")
}

// TestOnlyItsOwnerClosesTheWindow: an installer asks each window to close.
func TestOnlyItsOwnerClosesTheWindow(t *testing.T) {
	platformtest.NoLeak(t)
	s, err := broadcast.Subscribe(func(broadcast.Message) (uintptr, bool) { return 42, true }, own)
	require.NoError(t, err)
	broadcasttest.Send(t, os.Getpid(), broadcast.Close, 0, 0)
	answer, _ := broadcasttest.Send(t, os.Getpid(), own, 0, 0)
	require.EqualValues(t, 42, answer)
	require.NoError(t, s.Close())
}

// TestMarks: who has one is found by it, and asked to close, as long as it is there.
func TestMarks(t *testing.T) {
	platformtest.NoLeak(t)
	closes := make(chan struct{}, 1)
	s, err := broadcast.Subscribe(func(broadcast.Message) (uintptr, bool) {
		closes <- struct{}{}
		return 0, true
	}, broadcast.Close)
	require.NoError(t, err)
	marked := func(mark string) (own []broadcast.Marked) {
		list, err := broadcast.Find(mark)
		require.NoError(t, err)
		return slices.DeleteFunc(list, func(m broadcast.Marked) bool { return m.PID != uint32(os.Getpid()) })
	}
	require.Empty(t, marked("TestMarks"))
	require.NoError(t, s.Mark("TestMarks"))
	own := marked("TestMarks")
	require.Len(t, own, 1)
	require.Empty(t, marked("TestOtherMarks"))
	require.NoError(t, own[0].Close())
	<-closes
	require.NoError(t, s.Close())
	require.Empty(t, marked("TestMarks"))
	require.Error(t, own[0].Close(), "it has ended")
}
