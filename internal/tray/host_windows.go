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
	"golang.org/x/sys/windows"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/windows/broadcast"
	"sidetone/internal/signal"
)

// startLimit is how long the library may take to make its window. It does not tell that it never will.
const startLimit = 10 * time.Second

// Nothing tells when a taskbar that has not taken the icon, as while the user logs in, will do so: it is tried again, after twice the time
// each time. Of one that is started later all windows are told.
const firstIconRetry, lastIconRetry = time.Second, 2 * time.Minute

// taskbar draws beside the clock of Windows. The library for tray icons owns icon and menu; what it does not do is done to its icon here:
// a picture in the size that the taskbar wants, notifications, and no row that comes or goes while the menu is open.
type taskbar struct {
	queue
	log     *slog.Logger
	lock    io.Closer
	notices limiter

	created  signal.Signal // there is a new taskbar
	changed  signal.Signal // colours or the resolution may have changed
	vanished chan struct{} // closed when the library's window is gone
	icon     notifyIcon
	scheme   desktop.Scheme // the last one that was told
	retry    time.Duration  // after which the icon is put there again, if it is not taken

	// allow has a window take a message from programs with fewer rights; nil: the Explorer has no fewer than this one.
	allow func(window windows.HWND, id uint32) error

	mu   sync.Mutex // the window's thread opens the menu
	menu menuWindow
	rows []row
	last frame
}

func newHost(o Options) (host, error) {
	lock, err := ipc.LockTray(o.Address, "") // the session is in the address
	if err != nil {
		return nil, err
	}
	// The library writes to Go's own log what Windows has refused.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn).Writer())
	b := &taskbar{
		queue: newQueue(), log: o.Log, lock: lock, notices: newLimiter(), icon: notifyIcon{title: o.Vendor},
		created: signal.New(), changed: signal.New(), vanished: make(chan struct{}), retry: firstIconRetry,
	}
	if windows.GetCurrentProcessToken().IsElevated() {
		b.allow = allowMessage
	}
	return b, nil
}

// hearExplorer has a window of a tray that an administrator has started as such hear the Explorer: Windows keeps from it what programs with
// fewer rights say. Otherwise Windows lets the Explorer through, and programs of low integrity not.
func (b *taskbar) hearExplorer(window windows.HWND, ids ...uint32) {
	if b.allow == nil {
		return
	}
	for _, id := range ids {
		if err := b.allow(window, id); err != nil {
			b.log.Warn("tray: icon and menu may not answer, as this tray runs as administrator: start it without that", "reason", err)
		}
	}
}

func (b *taskbar) notify(text string) { b.notices.add(text) }

func (b *taskbar) run(ctx context.Context, on events) error {
	defer b.lock.Close()
	heard, err := broadcast.Subscribe(func(m broadcast.Message) (uintptr, bool) { return b.handle(m, on.chosen) },
		taskbarCreated(), broadcast.SettingChange, broadcast.DPIChanged, broadcast.DisplayChange,
		broadcast.QueryEndSession, broadcast.EndSession, broadcast.Close)
	if err != nil {
		return err
	}
	defer heard.Close()
	broadcast.EndLast()
	b.hearExplorer(heard.Window(), taskbarCreated())
	if !b.waitForTaskbar(ctx, heard.Window()) {
		return nil
	}
	b.last = <-b.queue
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
	b.icon.window = libraryWindow()
	b.rows = newRows(ctx, b.last.items, nil, func(a action) { b.choose(a, on.chosen) })
	b.watchMenu(b.icon.window)
	b.hearExplorer(b.icon.window, taskbarCreated(), libraryClicks)
	b.scheme = desktop.TaskbarScheme()
	on.scheme(b.scheme)
	b.serve(ctx, on)
	b.menu.close()
	systray.Quit()
	<-b.vanished
	b.icon.release()
	return nil
}

// waitForTaskbar waits until there is a taskbar that takes icons: the library tries once. It returns false if ctx has ended before.
func (b *taskbar) waitForTaskbar(ctx context.Context, window windows.HWND) bool {
	for !probe(window) {
		if _, err := b.created.Wait(ctx, b.nextRetry(), nil); err != nil {
			return false
		}
	}
	b.retry = firstIconRetry
	return true
}

// nextRetry is after which time the icon is put there again; 0: not before there is a new taskbar.
func (b *taskbar) nextRetry() (wait time.Duration) {
	if b.retry == firstIconRetry {
		b.log.Warn("tray: the taskbar has not taken the icon, or there is none yet: the icon appears when there is one")
	}
	if b.retry > lastIconRetry {
		return 0
	}
	wait = b.retry
	b.retry *= 2
	return wait
}

// serve draws each frame that differs from the one before, until ctx ends or another program has closed the icon's window.
func (b *taskbar) serve(ctx context.Context, on events) {
	ctx, end := context.WithCancel(ctx)
	texts, notified := make(chan string), make(chan struct{})
	go func() {
		defer close(notified)
		b.notices.run(ctx, func(text string) {
			select {
			case texts <- text:
			case <-ctx.Done():
			}
		})
	}()
	defer func() {
		end()
		<-notified
	}()
	again := b.put()
	for {
		select {
		case next := <-b.queue:
			b.icon.draw(b.last, next)
			b.draw(next)
		case text := <-texts:
			b.icon.notify(text)
		case <-b.created:
			b.retry = firstIconRetry
			again = b.put()
		case <-again:
			again = b.put()
		case <-b.changed:
			if s := desktop.TaskbarScheme(); s != b.scheme {
				b.scheme = s
				on.scheme(s)
			}
			b.icon.redraw(b.last)
		case <-b.vanished:
			return
		case <-ctx.Done():
			return
		}
	}
}

// handle is called on the thread of the window for broadcasts.
func (b *taskbar) handle(m broadcast.Message, chosen func(action)) (answer uintptr, handled bool) {
	switch m.ID {
	case taskbarCreated(): // at log-in, when the Explorer has restarted, and where the resolution has changed
		b.created.Notify()
	case broadcast.SettingChange, broadcast.DPIChanged, broadcast.DisplayChange:
		b.changed.Notify()
	case broadcast.QueryEndSession:
		return 1, true // the tray keeps no session from its end
	case broadcast.EndSession, broadcast.Close:
		if m.Param != 0 || m.ID == broadcast.Close {
			chosen(actionQuit)
		}
	}
	return 0, true
}

// put puts the icon beside the clock. If the taskbar has not taken it, the channel says when to try it again.
func (b *taskbar) put() <-chan time.Time {
	if b.icon.put(b.last) {
		return nil
	}
	if wait := b.nextRetry(); wait > 0 {
		return time.After(wait)
	}
	return nil
}

// draw draws the rows that differ.
func (b *taskbar) draw(next frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = next
	b.drawRows()
}

// drawRows draws what differs, with b.mu held.
func (b *taskbar) drawRows() {
	var changed bool
	for i := range b.rows {
		changed = b.rows[i].draw(b.last.items[i], b.menu.open) || changed
	}
	if changed && b.menu.open {
		b.menu.redraw()
	}
}

// choose passes on what a row does that the user has chosen, unless that is over.
func (b *taskbar) choose(a action, chosen func(action)) {
	b.mu.Lock()
	is := offers(b.last.items, a)
	b.mu.Unlock()
	if is {
		chosen(a)
	}
}
