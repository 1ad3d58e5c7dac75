package desktop

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/godbus/dbus/v5"
)

// TrayHost is the name on the session bus under which a desktop's tray takes icons.
const TrayHost = "org.kde.StatusNotifierWatcher"

// busTimeout bounds what is asked of the session bus.
const busTimeout = 2 * time.Second

// Bus is the address of the session bus, which need not be there yet.
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

// Appears reports whether the bus says that somebody has taken a name. Every program of the session can send a signal that looks like it,
// but not in the name of the bus.
func Appears(s *dbus.Signal, name string) bool {
	const bus = "org.freedesktop.DBus"
	return s.Sender == bus && s.Name == bus+".NameOwnerChanged" && len(s.Body) == 3 && s.Body[0] == name && s.Body[2] != ""
}

// LacksTray reports whether there is a desktop, and it shows no tray icons.
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

// LacksTray reports whether nobody on a session bus shows tray icons.
func LacksTray(ctx context.Context, bus *dbus.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, busTimeout)
	defer cancel()
	var has bool
	err := bus.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.NameHasOwner", 0, TrayHost).Store(&has)
	return err == nil && !has
}
