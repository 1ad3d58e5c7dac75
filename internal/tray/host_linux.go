package tray

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strings"

	"fyne.io/systray"
	"github.com/godbus/dbus/v5"

	"sidetone/internal/platform/desktop"
	"sidetone/internal/platform/files"
	"sidetone/internal/platform/ipc"
	"sidetone/internal/signal"
)

// ErrBusEnded means that the session bus has ended, and the session with it as a rule. The tray ends, too: who starts it for each
// session starts it again, and the library that it draws with knows only one bus in its life.
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
	// The library writes to Go's own log what it cannot do; that there is no tray is told below.
	log.SetFlags(0)
	log.SetOutput(slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug).Writer())
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
	if desktop.LacksTray(ctx, bus) {
		n.log.Warn("tray: this desktop shows no tray icons yet; GNOME needs the extension AppIndicator. The icon appears when there is a tray")
	}
	first := <-n.frames
	systray.SetTitle(n.title)
	decorate(frame{}, first)
	rows := newRows(ctx, first.items, nil, chosen)
	// Its own loop would leave open from when on a change is noticed.
	start, end := systray.RunWithExternalLoop(nil, nil)
	start()
	if !n.follow(ctx, bus.Context(), first, rows) {
		return ErrBusEnded
	}
	end()
	return nil
}

// follow draws each frame that differs from the one before, until ctx ends; false: the bus has ended before.
func (n *notifier) follow(ctx, bus context.Context, last frame, rows []row) bool {
	for {
		select {
		case next := <-n.frames:
			decorate(last, next)
			for i := range rows {
				rows[i].draw(next.items[i])
			}
			last = next
		case <-bus.Done():
			return false
		case <-ctx.Done():
			return true
		}
	}
}

// decorate draws what is not in the menu.
func decorate(last, next frame) {
	if string(last.icon) != string(next.icon) {
		systray.SetIcon(next.icon)
	}
	if last.tooltip != next.tooltip {
		systray.SetTooltip(next.tooltip)
	}
}

// connect opens the session bus, when there is one; nil: ctx has ended before. Without an address the library would start a bus of its
// own, which nobody else is on.
func (n *notifier) connect(ctx context.Context) (*dbus.Conn, error) {
	if socket, ok := strings.CutPrefix(n.bus, "unix:path="); ok && !strings.ContainsAny(socket, ",;%") {
		if err := n.await(ctx, socket); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, nil
	}
	if err := os.Setenv("DBUS_SESSION_BUS_ADDRESS", n.bus); err != nil {
		return nil, err
	}
	bus, err := dbus.SessionBus()
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

// row is a place in the menu, which is there as long as the tray.
type row struct {
	last     Item
	item     *systray.MenuItem // nil: it is a separator
	children []row
}

// newRows makes the rows of a menu. One that can be chosen has a goroutine for that: the library drops a click that nobody waits for.
func newRows(ctx context.Context, items []Item, parent *systray.MenuItem, chosen func(Action)) []row {
	add, addCheck, addSeparator := systray.AddMenuItem, systray.AddMenuItemCheckbox, systray.AddSeparator
	if parent != nil {
		add, addCheck, addSeparator = parent.AddSubMenuItem, parent.AddSubMenuItemCheckbox, parent.AddSeparator
	}
	rows := make([]row, len(items))
	for i, it := range items {
		if it.Separator {
			addSeparator()
			continue
		}
		made := add
		if it.Check != nil {
			made = func(title, tip string) *systray.MenuItem { return addCheck(title, tip, *it.Check) }
		}
		r := row{last: Item{Text: it.Text, Check: it.Check}, item: made(label(it.Text), "")}
		if it.Text == "" {
			r.item.Hide()
		}
		r.draw(Item{Text: it.Text, Check: it.Check, Disabled: it.Disabled})
		r.children = newRows(ctx, it.Children, r.item, chosen)
		if it.Action != "" {
			go clicks(ctx, r.item, func() { chosen(it.Action) })
		}
		rows[i] = r
	}
	return rows
}

// clicks waits for them. The channel is never closed: no row is removed.
func clicks(ctx context.Context, item *systray.MenuItem, chosen func()) {
	for {
		select {
		case <-item.ClickedCh:
			chosen()
		case <-ctx.Done():
			return
		}
	}
}

// draw applies what differs, and touches nothing else: so a menu that is open stays as it is.
func (r *row) draw(next Item) {
	if r.item == nil {
		return
	}
	for i := range min(len(r.children), len(next.Children)) {
		r.children[i].draw(next.Children[i])
	}
	last := r.last
	r.last = next
	if next.Text != last.Text && next.Text != "" {
		r.item.SetTitle(label(next.Text))
	}
	switch {
	case next.Disabled == last.Disabled:
	case next.Disabled:
		r.item.Disable()
	default:
		r.item.Enable()
	}
	switch {
	case next.Check == nil || last.Check != nil && *next.Check == *last.Check:
	case *next.Check:
		r.item.Check()
	default:
		r.item.Uncheck()
	}
	switch {
	case (next.Text == "") == (last.Text == ""):
	case next.Text == "":
		r.item.Hide()
	default:
		r.item.Show()
	}
}

// label is a text in which no underline is taken for the mark of a key.
func label(text string) string { return strings.ReplaceAll(text, "_", "__") }
