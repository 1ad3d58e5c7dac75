package tray

import (
	"context"
	"errors"
	"io"
	"log"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"fyne.io/systray"
	"golang.org/x/sys/windows/registry"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
)

// startLimit is how long Windows may take to show the icon. The library does not tell that it never will.
const startLimit = 10 * time.Second

// taskbar draws beside the clock of Windows.
type taskbar struct {
	log      *slog.Logger
	lock     io.Closer
	frames   chan frame // the one to be drawn next
	unshown  sync.Once  // that notifications are not shown is said once
	vanished chan struct{}
}

func newHost(o Options) (host, error) {
	lock, err := ipc.LockTray(o.Address, "") // the session is in the address
	if err != nil {
		return nil, err
	}
	// The library writes to Go's own log what Windows has refused.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn).Writer())
	return &taskbar{log: o.Log, lock: lock, frames: make(chan frame, 1), vanished: make(chan struct{})}, nil
}

func (b *taskbar) notify(string) {
	b.unshown.Do(func() { b.log.Warn("tray: notifications are not shown on Windows yet, as tray.notify_mute asks for") })
}

func (b *taskbar) show(f frame) {
	select {
	case <-b.frames: // it is out of date
	default:
	}
	b.frames <- f
}

func (b *taskbar) run(ctx context.Context, on events) error {
	defer b.lock.Close()
	ready := make(chan struct{})
	go func() {
		defer close(b.vanished)
		runtime.LockOSThread() // a window's messages go to the thread that has made it
		systray.Run(func() { close(ready) }, nil)
	}()
	select {
	case <-ready:
	case <-time.After(startLimit):
		return errors.New("put the icon beside the clock: Windows has not taken it: start the tray again when there is a taskbar")
	}
	b.draw(ctx, on)
	systray.Quit()
	<-b.vanished
	return nil
}

// draw draws each frame that differs from the one before, until ctx ends or another program has closed the icon's window.
func (b *taskbar) draw(ctx context.Context, on events) {
	last := <-b.frames
	decorate(frame{}, last)
	rows := newRows(ctx, last.items, nil, on.chosen)
	on.scheme(scheme())
	for {
		select {
		case next := <-b.frames:
			decorate(last, next)
			for i := range rows {
				rows[i].draw(next.items[i])
			}
			last = next
		case <-b.vanished:
			return
		case <-ctx.Done():
			return
		}
	}
}

// decorate draws what is not in the menu.
func decorate(last, next frame) {
	if string(last.icon) != string(next.icon) {
		systray.SetIcon(next.icon)
	}
	if last.tooltip != next.tooltip {
		systray.SetTooltip(tip(next.tooltip))
	}
}

// scheme is what colours the user prefers for the taskbar. Windows that do not ask have a dark one.
func scheme() desktop.Scheme {
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Windows\CurrentVersion\Themes\Personalize`, registry.QUERY_VALUE)
	if err != nil {
		return desktop.NoPreference
	}
	defer key.Close()
	switch light, _, err := key.GetIntegerValue("SystemUsesLightTheme"); {
	case err != nil:
		return desktop.NoPreference
	case light != 0:
		return desktop.PreferLight
	default:
		return desktop.PreferDark
	}
}
