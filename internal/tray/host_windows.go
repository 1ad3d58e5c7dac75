package tray

import (
	"context"
	"io"
	"log/slog"
	"time"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/platform/windows/broadcast"
)

// taskbar draws beside the clock of Windows. What it has of Windows belongs to the thread of the window for broadcasts.
type taskbar struct {
	queue
	log     *slog.Logger
	lock    io.Closer
	notices limiter
	on      events

	window *broadcast.Subscription
	icon   notifyIcon
	last   frame
	scheme desktop.Scheme // the last one that was told
	open   *popup         // nil: the menu is not open
	retry  time.Duration  // after which the icon is put there again, if it is not taken
}

// Nothing tells when a taskbar that has not taken the icon, as while the user logs in, will do so: it is tried again, after twice the time
// each time. Of one that is started later all windows are told.
const firstIconRetry, lastIconRetry = time.Second, 2 * time.Minute

func newHost(o Options) (host, error) {
	lock, err := ipc.LockTray(o.Address, "") // the session is in the address
	if err != nil {
		return nil, err
	}
	return &taskbar{log: o.Log, lock: lock, queue: newQueue(), notices: newLimiter(), icon: notifyIcon{title: o.Vendor}}, nil
}

func (b *taskbar) notify(text string) { b.notices.add(text) }

func (b *taskbar) run(ctx context.Context, on events) error {
	defer b.lock.Close()
	b.on, b.retry = on, firstIconRetry
	b.last = <-b.queue
	opened := make(chan struct{}) // no message is handled before b.window is there
	window, err := broadcast.Subscribe(func(m broadcast.Message) (uintptr, bool) {
		<-opened
		return b.handle(ctx, m)
	}, iconMessage, taskbarCreated(), broadcast.SettingChange, broadcast.DPIChanged, broadcast.DisplayChange,
		broadcast.QueryEndSession, broadcast.EndSession, broadcast.Close)
	if err != nil {
		return err
	}
	b.window = window
	close(opened)
	defer window.Close()
	b.do(ctx, func() {
		b.put(ctx)
		b.scheme = desktop.TaskbarScheme()
		on.scheme(b.scheme)
	})
	notified := make(chan struct{})
	go func() {
		defer close(notified)
		b.notices.run(ctx, func(text string) { b.do(ctx, func() { b.icon.notify(text) }) })
	}()
	for ctx.Err() == nil {
		select {
		case next := <-b.queue:
			b.do(ctx, func() { b.draw(next) })
		case <-ctx.Done():
		}
	}
	<-notified
	b.do(context.WithoutCancel(ctx), func() {
		b.open.close()
		b.icon.remove()
	})
	return nil
}

// do has task called on the window's thread, and waits for that, but not for longer than ctx lasts.
func (b *taskbar) do(ctx context.Context, task func()) {
	done := make(chan struct{})
	err := b.window.Do(func() {
		defer close(done)
		task()
	})
	if err != nil {
		return // the window has ended with the session
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// handle is called on the window's thread. What may have that wait is done by a task.
func (b *taskbar) handle(ctx context.Context, m broadcast.Message) (answer uintptr, handled bool) {
	task := func() {}
	switch m.ID {
	case iconMessage:
		if asksForMenu(m) {
			task = func() { b.showMenu(pointOf(m)) }
		}
	case taskbarCreated(): // at log-in, when the Explorer has restarted, and where the resolution has changed
		task = func() {
			b.icon.there = false
			b.retry = firstIconRetry
			b.put(ctx)
		}
	case broadcast.SettingChange:
		task = func() {
			b.tellScheme()
			b.icon.redraw(b.last)
		}
	case broadcast.DPIChanged, broadcast.DisplayChange:
		task = func() { b.icon.redraw(b.last) }
	case broadcast.QueryEndSession:
		return 1, true // the tray keeps no session from its end
	case broadcast.EndSession, broadcast.Close:
		if m.Param != 0 || m.ID == broadcast.Close {
			b.on.chosen(ActionQuit)
		}
		return 0, true
	}
	_ = b.window.Do(task) // else the window has ended
	return 0, true
}

// put puts the icon beside the clock, or tries it again later.
func (b *taskbar) put(ctx context.Context) {
	if b.icon.put(b.window.Window(), b.last) || b.retry > lastIconRetry {
		return
	}
	if b.retry == firstIconRetry {
		b.log.Warn("tray: the taskbar has not taken the icon, or there is none yet: the icon appears when there is one")
	}
	wait := b.retry
	b.retry *= 2
	time.AfterFunc(wait, func() {
		if ctx.Err() == nil {
			_ = b.window.Do(func() { b.put(ctx) }) // else the window has ended
		}
	})
}

// draw draws what differs.
func (b *taskbar) draw(next frame) {
	last := b.last
	b.last = next
	b.icon.draw(last, next)
	b.open.draw(next.items)
}

// tellScheme tells of the colours of the taskbar, if they have changed.
func (b *taskbar) tellScheme() {
	if s := desktop.TaskbarScheme(); s != b.scheme {
		b.scheme = s
		b.on.scheme(s)
	}
}

// showMenu shows the menu until the user has chosen a row, or none.
func (b *taskbar) showMenu(at point) {
	if b.open != nil {
		return
	}
	b.open = newPopup(b.last.items)
	id := b.open.track(b.window.Window(), at)
	b.open.destroy()
	b.open = nil
	// Which row that is now: one that has gone while the menu was open does nothing.
	if chosen := rowAt(b.last.items, id); chosen.Action != "" && chosen.Text != "" && !chosen.Disabled {
		b.on.chosen(chosen.Action)
	}
}
