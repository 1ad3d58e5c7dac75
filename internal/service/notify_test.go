package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/supervise"
)

// told collects what a Notifier says, with the seconds since the start.
func told(n *Notifier) *[]string {
	start, list := time.Now(), new([]string)
	n.tick = func(every time.Duration) (func() error, func(), error) {
		ticker, stopped := time.NewTicker(every), make(chan struct{})
		wait := func() error {
			select {
			case <-ticker.C:
				return nil
			case <-stopped:
				return os.ErrClosed
			}
		}
		return wait, func() { ticker.Stop(); close(stopped) }, nil
	}
	n.send = func(state string) error {
		*list = append(*list, strconv.Itoa(int(time.Since(start).Seconds()))+" "+state)
		return nil
	}
	return list
}

func goesOn(is bool) func() bool { return func() bool { return is } }

// TestUpdateIsNoStop: systemd would end the program that takes the place of this one.
func TestUpdateIsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Notifier{}
		said := told(n)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		n.Run(ctx, func() {}, goesOn(true), slog.New(slog.DiscardHandler))
		require.Equal(t, []string{"0 READY=1"}, *said)
	})
}

func TestNotifier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Notifier{every: 2 * time.Minute}
		said := told(n)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		n.Run(ctx, func() {}, goesOn(false), slog.New(slog.DiscardHandler))
		require.Equal(t, []string{"0 READY=1", "120 WATCHDOG=1", "240 WATCHDOG=1", "300 STOPPING=1"}, *said)
	})
}

// TestHungAgentFallsSilent: no goroutine of its own keeps up the appearance of an agent that does not answer.
func TestHungAgentFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Notifier{every: 2 * time.Minute}
		said := told(n)
		ctx, cancel := context.WithCancel(t.Context())
		hangs := make(chan struct{})
		var asked int
		go n.Run(ctx, func() {
			asked++
			if asked == 3 {
				<-hangs
			}
		}, goesOn(false), slog.New(slog.DiscardHandler))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"0 READY=1", "120 WATCHDOG=1"}, *said)
		cancel()
		close(hangs)
		synctest.Wait()
		require.Equal(t, "3600 STOPPING=1", (*said)[len(*said)-1])
		require.Len(t, *said, 3, "it says no more that it is alive when it is about to stop")
	})
}

// TestNoTimerWithoutAWatchdog: who is not asked for signs of life wakes up for none.
func TestNoTimerWithoutAWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &Notifier{}
		said := told(n)
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		var asked int
		n.Run(ctx, func() { asked++ }, goesOn(false), slog.New(slog.DiscardHandler))
		require.Equal(t, []string{"0 READY=1", "86400 STOPPING=1"}, *said)
		require.Equal(t, 1, asked)
	})
}

func TestWhoWantsToHear(t *testing.T) {
	me := strconv.Itoa(os.Getpid())
	with := func(usec, pid string) map[string]string {
		return map[string]string{notifySocket: "/s", watchdogUsec: usec, watchdogPID: pid}
	}
	for name, c := range map[string]struct {
		env    map[string]string
		nobody bool
		every  time.Duration
	}{
		"nobody":                   {env: map[string]string{watchdogUsec: "240000000"}, nobody: true},
		"without a watchdog":       {env: with("", "")},
		"with one":                 {env: with("240000000", me), every: 2 * time.Minute},
		"with one of anybody":      {env: with("240000000", ""), every: 2 * time.Minute},
		"with one of another":      {env: with("240000000", "1")},
		"with one that is nothing": {env: with("soon", "")},
	} {
		getenv := func(name string) string { return c.env[name] }
		n := NewNotifier(getenv)
		require.Equal(t, !c.nobody, Supervised(getenv), name)
		if c.nobody {
			require.Nil(t, n, name)
			continue
		}
		require.Equal(t, c.every, n.every, name)
	}
}

func TestPlan(t *testing.T) {
	var done []string
	step := func(text string, err error) Step {
		return Step{text, func(context.Context) error {
			done = append(done, text)
			return err
		}}
	}
	p := Plan{step("one", nil), step(writing("/a", "b\n\nc\n"), errors.New("full")), step("three", nil)}
	require.EqualError(t, p.Do(t.Context()), "write /a: full")
	require.Len(t, done, 2)
	require.Equal(t, "one\nwrite /a:\n\n    b\n\n    c\n\nthree\n", p.String())
	require.NoError(t, Plan(nil).Do(t.Context()))
}

func TestEndedWith(t *testing.T) {
	require.True(t, State{Result: "exit-code", Exit: supervise.ExitConfig}.EndedWith(supervise.ExitConfig))
	require.False(t, State{Result: "exit-code", Exit: 2}.EndedWith(supervise.ExitConfig))
	require.False(t, State{Running: true, Exit: supervise.ExitConfig}.EndedWith(supervise.ExitConfig))
}
