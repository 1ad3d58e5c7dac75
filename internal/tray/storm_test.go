package tray

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/texts"
)

// shownFrames is a host that keeps what it is to draw.
type shownFrames chan frame

func (s shownFrames) show(f frame)                      { s <- f }
func (s shownFrames) notify(string)                     {}
func (s shownFrames) run(context.Context, events) error { return nil }

// TestStormOfStatuses: of what comes faster than a menu is drawn the last is drawn; what comes alone is drawn at once.
func TestStormOfStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		shown := make(shownFrames, 1000)
		tray := &tray{Options: Options{Say: texts.For(texts.English)}, host: shown, view: viewOf(), changes: make(chan func(*view))}
		go tray.draw(ctx)
		vendors := func(names string) {
			for _, name := range names {
				tray.tell(ctx, func(v *view) { v.Vendor = string(name) })
			}
		}
		drawn := func() (names string) {
			synctest.Wait()
			for len(shown) > 0 {
				names += (<-shown).items[0].Text
			}
			return names
		}
		vendors("a")
		require.Equal(t, "a", drawn())
		vendors("bcdefghij")
		require.Empty(t, drawn())
		time.Sleep(drawInterval)
		require.Equal(t, "j", drawn())
		time.Sleep(time.Hour)
		require.Empty(t, drawn())
		vendors("k")
		require.Equal(t, "k", drawn())
		for range 500 {
			vendors(strings.Repeat("l", 20))
			time.Sleep(time.Millisecond)
		}
		require.Len(t, drawn(), int(500*time.Millisecond/drawInterval))
	})
}

// TestStormOfClicks: what is chosen again while it is done is done once more at most, and in all no more than a user may want.
func TestStormOfClicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clicks, done := newActions(), map[action]int{}
		go clicks.run(ctx, func(_ context.Context, a action) {
			done[a]++
			time.Sleep(300 * time.Millisecond)
		})
		for range 10_000 {
			clicks.add(actionDetails)
			clicks.add(actionCopy)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.InDelta(t, 10, done[actionDetails], 1)
		require.InDelta(t, 10, done[actionCopy], 1)
		before := done[actionCopy]
		clicks.add(actionCopy)
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, before+1, done[actionCopy])
	})
}
