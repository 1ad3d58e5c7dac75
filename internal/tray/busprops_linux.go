package tray

import (
	"maps"
	"sync"

	"github.com/godbus/dbus/v5"
)

// busProps are the properties of an object on the bus, as org.freedesktop.DBus.Properties has them. A value is replaced and never
// written into: an answer that is being sent may still hold it.
type busProps struct {
	of     string // the interface that they belong to
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

// Get is asked by panels, as what is below.
func (p *busProps) Get(of, name string) (dbus.Variant, *dbus.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value, has := p.values[name]; has && of == p.of {
		return value, nil
	}
	return dbus.MakeVariant(""), errNoProp
}

// GetAll tells all.
func (p *busProps) GetAll(of string) (map[string]dbus.Variant, *dbus.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of != p.of {
		return nil, errNoProp
	}
	return maps.Clone(p.values), nil
}

// Set is refused: nothing is for others to change.
func (p *busProps) Set(string, string, dbus.Variant) *dbus.Error {
	return dbus.NewError("org.freedesktop.DBus.Error.PropertyReadOnly", nil)
}
