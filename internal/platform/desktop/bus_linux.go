package desktop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// TrayHost is the bus name of a desktop's tray.
const TrayHost = "org.kde.StatusNotifierWatcher"

// busTimeout bounds one request to the session bus.
const busTimeout = 2 * time.Second

// Bus returns the address of the session bus, which need not exist yet.
func (d Desktop) Bus() (string, error) {
	if address := d.Getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return address, nil
	}
	if folder := d.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(folder) {
		return "unix:path=" + filepath.Join(folder, "bus"), nil
	}
	return "", errors.New("there is no session bus, as DBUS_SESSION_BUS_ADDRESS and XDG_RUNTIME_DIR are not set: " +
		"start this in the desktop's session")
}

// NameAcquired reports whether the signal means that a name has got an owner. Any program of the session can send such a signal, but not
// with the bus as its sender.
func NameAcquired(s *dbus.Signal, name string) bool {
	const bus = "org.freedesktop.DBus"
	return s.Sender == bus && s.Name == bus+".NameOwnerChanged" && len(s.Body) == 3 && s.Body[0] == name && s.Body[2] != ""
}

// LacksTray reports whether there is a desktop that shows no tray icons.
func (d Desktop) LacksTray(ctx context.Context) bool {
	if d.Getenv("DISPLAY") == "" && d.Getenv("WAYLAND_DISPLAY") == "" {
		return false
	}
	address, err := d.Bus()
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	bus, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return false
	}
	defer bus.Close()
	return LacksTray(ctx, bus)
}

// LacksTray reports whether no program on a session bus shows tray icons.
func LacksTray(ctx context.Context, bus *dbus.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	var has bool
	err := bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, TrayHost).Store(&has)
	return err == nil && !has
}

// The desktop portal, which knows the user's preferred colour scheme.
const (
	Portal         = "org.freedesktop.portal.Desktop"
	PortalPath     = "/org/freedesktop/portal/desktop"
	PortalSettings = "org.freedesktop.portal.Settings"
	appearance     = "org.freedesktop.appearance"
	colorScheme    = "color-scheme"
)

// The desktop's service for notifications.
const (
	Notifications     = "org.freedesktop.Notifications"
	NotificationsPath = "/org/freedesktop/Notifications"
)

// activation is how long a service may take that the bus must start first.
const activation = 30 * time.Second

// Session uses the desktop's services over a connection to the session bus. Some desktops remove a notification when its connection ends.
type Session struct {
	bus   *dbus.Conn
	shown uint32 // the notification that the next one replaces; 0: there was none
}

// NewSession returns a Session over a connection.
func NewSession(bus *dbus.Conn) *Session { return &Session{bus: bus} }

// FollowScheme reports the preferred colour scheme and every change until ctx or the connection ends. If the desktop does not know one it
// reports nothing; it does not poll.
func (s *Session) FollowScheme(ctx context.Context, tell func(Scheme)) error {
	news := make(chan *dbus.Signal, 1)
	s.bus.Signal(news)
	for _, match := range [][]dbus.MatchOption{
		{
			dbus.WithMatchSender(Portal), dbus.WithMatchInterface(PortalSettings), dbus.WithMatchMember("SettingChanged"),
			dbus.WithMatchArg(0, appearance), dbus.WithMatchArg(1, colorScheme),
		},
		{dbus.WithMatchSender("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, Portal)},
	} {
		if err := s.bus.AddMatchSignalContext(ctx, match...); err != nil {
			return fmt.Errorf("follow the colour scheme: %w", err)
		}
	}
	for {
		if scheme, err := s.scheme(ctx); err == nil {
			tell(scheme)
		}
		for heard := false; !heard; {
			select {
			case <-ctx.Done():
				return nil
			case signal, open := <-news:
				if !open {
					return nil
				}
				heard = mayChangeScheme(signal)
			}
		}
	}
}

// mayChangeScheme reports whether the scheme should be read again. A portal that has ended is not restarted for that.
func mayChangeScheme(s *dbus.Signal) bool {
	return s.Name == PortalSettings+".SettingChanged" || NameAcquired(s, Portal)
}

// scheme reads the scheme from the portal.
func (s *Session) scheme(ctx context.Context) (Scheme, error) {
	ctx, cancel := context.WithTimeout(ctx, activation)
	defer cancel()
	var value any
	call := s.bus.Object(Portal, PortalPath).CallWithContext(ctx, PortalSettings+".Read", 0, appearance, colorScheme)
	if err := call.Store(&value); err != nil {
		return NoPreference, fmt.Errorf("ask for the colour scheme: %w", err)
	}
	for {
		switch v := value.(type) {
		case dbus.Variant: // version 1 of the portal nests variants
			value = v.Value()
		case uint32:
			return Scheme(v), nil
		default:
			return NoPreference, fmt.Errorf("ask for the colour scheme: the portal answers %v", v)
		}
	}
}

// Notify shows a program's text in place of its last one, and returns when the desktop has accepted it.
func (s *Session) Notify(ctx context.Context, program, text string) error {
	ctx, cancel := context.WithTimeout(ctx, activation)
	defer cancel()
	const icon, body, expires = "", "", int32(-1) // the desktop's default
	hints := map[string]dbus.Variant{"urgency": dbus.MakeVariant(byte(0)), "transient": dbus.MakeVariant(true)}
	// The text is the summary, which, unlike the body, is never interpreted as markup.
	err := s.bus.Object(Notifications, NotificationsPath).CallWithContext(ctx, Notifications+".Notify", 0,
		program, s.shown, icon, text, body, []string{}, hints, expires).Store(&s.shown)
	if err != nil {
		return fmt.Errorf("show a notification: %w", err)
	}
	return nil
}
