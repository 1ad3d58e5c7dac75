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

// startLimit is how long the library may take to make its window. It does not say if it never will.
const startLimit = 10 * time.Second

// Nothing tells when a taskbar that has refused the icon, as it does while the user logs in, will take it: it is tried again, after twice
// the time each time. All windows are told of a taskbar that starts later.
const firstIconRetry, lastIconRetry = time.Second, 2 * time.Minute

// taskbar draws in the notification area of Windows. The library for tray icons owns icon and menu. What it lacks is done to its icon
// here: a picture in the size that the taskbar wants, notifications, and an open menu in which no row comes or goes.
type taskbar struct {
	queue
	log     *slog.Logger
	lock    io.Closer
	notices limiter

	created  signal.Signal // there is a new taskbar
	changed  signal.Signal // colours or the resolution may have changed
	vanished chan struct{} // closed when the library's window is gone
	icon     notifyIcon
	scheme   desktop.Scheme // the last one reported
	retry    time.Duration  // wait before the icon is offered again

	// allow lets a window receive a message from programs with fewer rights. It is nil if the Explorer has no fewer rights than this
	// process.
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
	// The library logs errors of Windows to Go's standard log.
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

// allowExplorer lets a window of a tray that runs as administrator receive messages of the Explorer, which Windows otherwise withholds
// from a program with more rights than the sender. Without elevation Windows lets the Explorer through, but not programs of low
// integrity.
func (b *taskbar) allowExplorer(window windows.HWND, ids ...uint32) {
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
	b.allowExplorer(heard.Window(), taskbarCreated())
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
	b.allowExplorer(b.icon.window, taskbarCreated(), libraryClicks)
	b.scheme = desktop.TaskbarScheme()
	on.scheme(b.scheme)
	b.serve(ctx, on)
	b.menu.close()
	systray.Quit()
	<-b.vanished
	b.icon.release()
	return nil
}

// waitForTaskbar waits until there is a taskbar that takes icons, since the library tries only once. It returns false if ctx ends first.
func (b *taskbar) waitForTaskbar(ctx context.Context, window windows.HWND) bool {
	for !probe(window) {
		if _, err := b.created.Wait(ctx, b.nextRetry(), nil); err != nil {
			return false
		}
	}
	b.retry = firstIconRetry
	return true
}

// nextRetry returns the wait before the icon is offered again; 0 means not before there is a new taskbar.
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

// serve draws each new frame until ctx ends or another program closes the icon's window.
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
		return 1, true // the tray does not prevent the end of a session
	case broadcast.EndSession, broadcast.Close:
		if m.Param != 0 || m.ID == broadcast.Close {
			chosen(actionQuit)
		}
	}
	return 0, true
}

// put offers the icon to the taskbar. If the taskbar does not take it, the channel says when to try again.
func (b *taskbar) put() <-chan time.Time {
	if b.icon.put(b.last) {
		return nil
	}
	if wait := b.nextRetry(); wait > 0 {
		return time.After(wait)
	}
	return nil
}

// draw updates the rows that have changed.
func (b *taskbar) draw(next frame) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = next
	b.drawRows()
}

// drawRows is draw with b.mu held.
func (b *taskbar) drawRows() {
	var changed bool
	for i := range b.rows {
		changed = b.rows[i].draw(b.last.items[i], b.menu.open) || changed
	}
	if changed && b.menu.open {
		b.menu.redraw()
	}
}

// choose passes on the action of a row that the user has chosen, if it is still offered.
func (b *taskbar) choose(a action, chosen func(action)) {
	b.mu.Lock()
	is := offers(b.last.items, a)
	b.mu.Unlock()
	if is {
		chosen(a)
	}
}
