package tray

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/godbus/dbus/v5"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/signal"
)

// ErrBusEnded means that the session bus has ended, and the session with it as a rule. The tray ends, too: who starts it for each
// session starts it again, with the environment of that.
var ErrBusEnded = errors.New("the session bus has ended, and the tray with it: start it again when there is one")

// A notifier draws by StatusNotifierItem and com.canonical.dbusmenu, on D-Bus.
type notifier struct {
	bus    string // address of the session bus
	title  string
	log    *slog.Logger
	lock   io.Closer
	frames chan frame // the one to be drawn next
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
	return &notifier{bus, o.Vendor, o.Log, lock, make(chan frame, 1)}, nil
}

func (n *notifier) show(f frame) {
	select {
	case <-n.frames: // it is out of date
	default:
	}
	n.frames <- f
}

func (n *notifier) run(ctx context.Context, chosen func(Action)) error {
	defer n.lock.Close()
	bus, err := n.connect(ctx)
	if err != nil || bus == nil {
		return err
	}
	defer bus.Close()
	if desktop.LacksTray(ctx, bus) {
		n.log.Warn("tray: this desktop shows no tray icons yet; GNOME needs the extension AppIndicator. The icon appears when there is a tray")
	}
	icon, err := exportIcon(bus, n.title, <-n.frames, chosen)
	if err != nil {
		return fmt.Errorf("put the tray icon on the session bus %s: %w", n.bus, err)
	}
	panels := make(chan *dbus.Signal, 10)
	bus.Signal(panels)
	err = bus.AddMatchSignalContext(ctx, dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"),
		dbus.WithMatchArg(0, desktop.TrayHost))
	if err != nil {
		return fmt.Errorf("hear of panels on the session bus %s: %w", n.bus, err)
	}
	icon.register()
	for {
		select {
		case next := <-n.frames:
			icon.draw(next)
		case change := <-panels:
			if change != nil && change.Name == "org.freedesktop.DBus.NameOwnerChanged" && change.Body[2] != "" {
				icon.register()
			}
		case <-bus.Context().Done():
			return ErrBusEnded
		case <-ctx.Done():
			return nil
		}
	}
}

// connect opens the session bus, when there is one; nil: ctx has ended before.
func (n *notifier) connect(ctx context.Context) (*dbus.Conn, error) {
	if socket, ok := strings.CutPrefix(n.bus, "unix:path="); ok && !strings.ContainsAny(socket, ",;%") {
		if err := n.await(ctx, socket); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	bus, err := dbus.Connect(n.bus)
	if err != nil {
		return nil, fmt.Errorf("connect to the session bus %s: %w", n.bus, err)
	}
	return bus, nil
}

// await returns when there is a session bus, or ctx has ended.
func (n *notifier) await(ctx context.Context, socket string) error {
	appeared := signal.New()
	watch, err := files.NewPathWatch([]string{socket}, false, appeared.Notify)
	if err != nil {
		return fmt.Errorf("watch for the session bus %s: %w", socket, err)
	}
	defer watch.Close()
	for said := false; ; said = true {
		sees, errs := watch.Arm()
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		if !sees {
			return fmt.Errorf("watch for the session bus %s: %w", socket, errors.Join(errs...))
		}
		if !said {
			n.log.Warn("tray: there is no session bus; the icon appears when there is one", "socket", socket)
		}
		if _, err := appeared.Wait(ctx, 0, nil); err != nil {
			return nil // the end of ctx is no failure
		}
	}
}
