package tray

import (
	"maps"
	"sync"

	"github.com/godbus/dbus/v5"
)

// busProps holds the properties of an object on the bus, for org.freedesktop.DBus.Properties. A value is replaced and never modified: an
// answer that is being sent may still hold it.
type busProps struct {
	of     string // the interface that the properties belong to
	mu     sync.Mutex
	values map[string]dbus.Variant
}

func exportProps(bus *dbus.Conn, at dbus.ObjectPath, of string, values map[string]any) (*busProps, error) {
	p := &busProps{of: of, values: make(map[string]dbus.Variant)}
	for name, value := range values {
		p.set(name, value)
	}
	return p, bus.Export(p, at, "org.freedesktop.DBus.Properties")
}

func (p *busProps) set(name string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.values[name] = dbus.MakeVariant(value)
}

var errNoProp = dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)

// Get, like the methods below, is called by panels.
func (p *busProps) Get(of, name string) (dbus.Variant, *dbus.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value, has := p.values[name]; has && of == p.of {
		return value, nil
	}
	return dbus.MakeVariant(""), errNoProp
}

// GetAll returns all properties.
func (p *busProps) GetAll(of string) (map[string]dbus.Variant, *dbus.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of != p.of {
		return nil, errNoProp
	}
	return maps.Clone(p.values), nil
}

// Set is refused: others may change nothing.
func (p *busProps) Set(string, string, dbus.Variant) *dbus.Error {
	return dbus.NewError("org.freedesktop.DBus.Error.PropertyReadOnly", nil)
}
