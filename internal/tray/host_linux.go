package tray

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/signal"
)

// errBusEnded means that the session bus has gone for good, and the session with it. The tray ends, too: whoever starts it in each
// session starts it again with the environment of the new one.
var errBusEnded = errors.New("the session bus has ended, and the tray with it: start it again when there is one")

const (
	busRestart  = 3 * time.Second // time for a session bus to come back when it is restarted
	busRetry    = 100 * time.Millisecond
	maxBusTries = 10
)

// A statusNotifier draws by StatusNotifierItem and com.canonical.dbusmenu, on D-Bus.
type statusNotifier struct {
	queue
	bus     string // address of the session bus
	title   string
	log     *slog.Logger
	lock    io.Closer
	notices limiter
	menu    atomic.Pointer[busMenu] // on the bus; nil before
}

func newHost(o Options) (host, error) {
	bus, err := desktop.Desktop{Getenv: o.Getenv}.Bus()
	if err != nil {
		return nil, err
	}
	lock, err := ipc.LockTray(o.Address, bus)
	if err != nil {
		return nil, err
	}
	return &statusNotifier{queue: newQueue(), bus: bus, title: o.Vendor, log: o.Log, lock: lock, notices: newLimiter()}, nil
}

func (n *statusNotifier) notify(text string) { n.notices.add(text) }

func (n *statusNotifier) run(ctx context.Context, on events) error {
	defer n.lock.Close()
	first, within := <-n.queue, ctx
	for {
		bus, err := n.connect(ctx, within)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case bus == nil:
			return errBusEnded
		}
		first, err = n.serve(ctx, bus, first, on)
		_ = bus.Close() // it has ended, or the tray does
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, busRestart)
		defer cancel()
	}
}

// serve draws each frame until ctx or the bus ends, and returns the last one.
func (n *statusNotifier) serve(ctx context.Context, bus *dbus.Conn, last frame, on events) (frame, error) {
	if desktop.LacksTray(ctx, bus) {
		n.log.Warn("tray: this desktop shows no tray icons yet; GNOME needs the extension AppIndicator. The icon appears when there is a tray")
	}
	icon, err := exportIcon(bus, n.title, last, on.chosen)
	if err != nil {
		return last, fmt.Errorf("put the tray icon on the session bus %s: %w", n.bus, err)
	}
	n.menu.Store(icon.menu)
	panels := make(chan *dbus.Signal, 10)
	bus.Signal(panels)
	err = bus.AddMatchSignalContext(ctx, dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, desktop.TrayHost))
	if err != nil {
		return last, fmt.Errorf("hear of panels on the session bus %s: %w", n.bus, err)
	}
	icon.register()
	serving, end := context.WithCancel(ctx)
	services := n.startServices(serving, bus, on.scheme)
	defer services.Wait()
	defer end()
	for {
		select {
		case next := <-n.queue:
			icon.draw(next)
		case change := <-panels:
			if change != nil && desktop.NameAcquired(change, desktop.TrayHost) {
				icon.register()
			}
		case <-bus.Context().Done():
			return icon.last, nil
		case <-ctx.Done():
			return icon.last, nil
		}
	}
}

// startServices has the desktop show notifications and report its colour scheme until ctx ends.
func (n *statusNotifier) startServices(ctx context.Context, bus *dbus.Conn, scheme func(desktop.Scheme)) *sync.WaitGroup {
	session, all := desktop.NewSession(bus), new(sync.WaitGroup)
	all.Go(func() {
		n.notices.run(ctx, func(text string) {
			if err := session.Notify(ctx, n.title, text); err != nil {
				n.log.Warn("tray: a notification was not shown", "error", err)
			}
		})
	})
	all.Go(func() {
		if err := session.FollowScheme(ctx, scheme); err != nil && ctx.Err() == nil {
			n.log.Warn("tray: the icon does not follow the desktop's colours", "error", err)
		}
	})
	return all
}

// connect opens the session bus for the lifetime of ctx, as soon as there is one. It returns nil if there is none until within ends.
func (n *statusNotifier) connect(ctx, within context.Context) (*dbus.Conn, error) {
	socket, isPath := strings.CutPrefix(n.bus, "unix:path=")
	if !isPath || strings.ContainsAny(socket, ",;%") {
		return n.dial(ctx)
	}
	appeared := signal.New()
	watch, err := files.NewPathWatch([]string{socket}, false, appeared.Notify)
	if err != nil {
		return nil, fmt.Errorf("watch for the session bus %s: %w", socket, err)
	}
	defer watch.Close()
	said, tries := false, 0
	for {
		sees, errs := watch.Arm()
		bus, err := n.dial(ctx)
		switch {
		case err == nil:
			return bus, nil
		case !sees:
			return nil, fmt.Errorf("watch for the session bus %s: %w", socket, errors.Join(errs...))
		case !said && ctx.Err() == nil:
			said = true
			n.log.Warn("tray: there is no session bus; the icon appears when there is one", "socket", socket)
		}
		var retry time.Duration // a socket may exist shortly before somebody listens on it, or be stale
		if !errors.Is(err, fs.ErrNotExist) && tries < maxBusTries {
			retry = busRetry
		}
		tries++
		if notified, err := appeared.Wait(within, retry, nil); err != nil {
			return nil, nil // the end of a context is no failure
		} else if notified {
			tries = 0
		}
	}
}

// dial opens the bus. It waits for a bus that hangs: that costs nothing, and without a bus there is nothing else to do.
func (n *statusNotifier) dial(ctx context.Context) (*dbus.Conn, error) {
	n.menu.Store(nil)
	bus, err := dbus.Connect(n.bus, dbus.WithContext(ctx), dbus.WithIncomingInterceptor(func(received *dbus.Message) {
		if menu := n.menu.Load(); menu != nil {
			menu.answer(received)
		}
	}))
	if err != nil {
		return nil, fmt.Errorf("connect to the session bus %s: %w", n.bus, err)
	}
	return bus, nil
}
