package tray

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/godbus/dbus/v5"
)

const (
	menuPath      = "/StatusNotifierItem/menu"
	menuInterface = "com.canonical.dbusmenu"
)

// busMenu is a menu as com.canonical.dbusmenu defines it. A row's number is its place, since all menus have the same rows. Panels are
// told which properties of a row have changed, but never that the layout has (LayoutUpdated): at that, Qt closes an open menu.
type busMenu struct {
	bus     *dbus.Conn
	chosen  func(action)
	sending sync.Mutex // keeps what is sent about rows in order
	mu      sync.Mutex
	rows    []busRow // the first is the menu itself
}

type busRow struct {
	action   action
	props    map[string]dbus.Variant
	children []int32
}

// rowProps, rowLayout and rowEvent are structures of the interface.
type rowProps struct {
	ID    int32
	Props map[string]dbus.Variant
}

type rowLayout struct {
	ID       int32
	Props    map[string]dbus.Variant
	Children []dbus.Variant // of rowLayouts
}

type rowEvent struct {
	ID   int32
	Name string
	Data dbus.Variant
	Time uint32
}

// exportMenu puts a menu on the bus.
func exportMenu(bus *dbus.Conn, items []item, chosen func(action)) (*busMenu, error) {
	m := &busMenu{bus: bus, chosen: chosen, rows: busRows(items)}
	if err := bus.Export(m, menuPath, menuInterface); err != nil {
		return nil, err
	}
	_, err := exportProps(bus, menuPath, menuInterface, map[string]any{
		"Version": uint32(3), "TextDirection": "ltr", "Status": "normal", "IconThemePath": []string{},
	})
	return m, err
}

func busRows(items []item) []busRow {
	rows := []busRow{{props: map[string]dbus.Variant{"children-display": dbus.MakeVariant("submenu")}}}
	rows[0].children = addRows(&rows, items, true)
	return rows
}

// addRows adds the rows of a menu, each before those of its submenu, and returns their numbers. A row that is not shown gets no action,
// since any program may claim that it was chosen.
func addRows(rows *[]busRow, items []item, shown bool) (numbers []int32) {
	for _, it := range items {
		n := len(*rows)
		row, shown := busRow{props: it.props()}, shown && it.Text != ""
		if shown && !it.Disabled {
			row.action = it.Action
		}
		*rows = append(*rows, row)
		children := addRows(rows, it.Children, shown)
		(*rows)[n].children = children
		numbers = append(numbers, int32(n))
	}
	return numbers
}

// props returns what a panel needs to know of a row.
func (it item) props() map[string]dbus.Variant {
	if it.Separator {
		return map[string]dbus.Variant{"type": dbus.MakeVariant("separator")}
	}
	props := map[string]dbus.Variant{
		"label":   dbus.MakeVariant(directed(strings.ReplaceAll(it.Text, "_", "__"))), // a single one marks the access key
		"enabled": dbus.MakeVariant(!it.Disabled),
		"visible": dbus.MakeVariant(it.Text != ""),
	}
	if it.Check != nil {
		state := map[bool]int32{true: 1}[*it.Check]
		props["toggle-type"], props["toggle-state"] = dbus.MakeVariant("checkmark"), dbus.MakeVariant(state)
	}
	if len(it.Children) > 0 {
		props["children-display"] = dbus.MakeVariant("submenu")
	}
	return props
}

// directed puts a direction mark before a text that contains names. GTK takes the direction from the first letter, even if that belongs
// to an isolated name.
func directed(text string) string {
	var within int
	for _, r := range text {
		switch {
		case r == isolate:
			within++
		case r == closing:
			within--
		case within > 0 || !unicode.IsLetter(r) || !strings.ContainsRune(text, isolate):
		case unicode.In(r, unicode.Arabic, unicode.Hebrew):
			return "\u200f" + text
		default:
			return "\u200e" + text
		}
	}
	return text
}

// draw replaces the rows and tells panels what has changed in them.
func (m *busMenu) draw(items []item) {
	m.sending.Lock()
	defer m.sending.Unlock()
	if changed := m.set(items); len(changed) > 0 {
		removed := []struct {
			ID    int32
			Names []string
		}{}
		// It fails only if the bus has gone, which serve notices.
		_ = m.bus.Emit(menuPath, menuInterface+".ItemsPropertiesUpdated", changed, removed)
	}
}

// set replaces the rows and returns what has changed in them.
func (m *busMenu) set(items []item) (changed []rowProps) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := busRows(items)
	for n, row := range next {
		differs := make(map[string]dbus.Variant)
		for key, value := range row.props {
			if value.Value() != m.rows[n].props[key].Value() {
				differs[key] = value
			}
		}
		if len(differs) > 0 {
			changed = append(changed, rowProps{int32(n), differs})
		}
	}
	m.rows = next
	return changed
}

// answer answers a panel's request for rows before anything else is received. godbus handles each call in a goroutine of its own, so not
// in order, and libdbusmenu asks for the rows of each menu in a separate call, all at once. A row that it learns of before the one that
// opens its menu is never shown, and a row that arrives after news of it keeps its old properties.
func (m *busMenu) answer(call *dbus.Message) {
	header := func(f dbus.HeaderField) any { return call.Headers[f].Value() }
	isOfMenu := header(dbus.FieldPath) == dbus.ObjectPath(menuPath) && header(dbus.FieldInterface) == menuInterface
	if call.Type != dbus.TypeMethodCall || !isOfMenu {
		return
	}
	m.sending.Lock()
	defer m.sending.Unlock()
	var id, depth int32
	var ids []int32
	var names []string
	var rows []any
	switch member := header(dbus.FieldMember); {
	case member == "GetLayout" && dbus.Store(call.Body, &id, &depth, &names) == nil:
		revision, layout, fault := m.GetLayout(id, depth, names)
		if fault != nil {
			return
		}
		rows = []any{revision, layout}
	case member == "GetGroupProperties" && dbus.Store(call.Body, &ids, &names) == nil:
		list, _ := m.GetGroupProperties(ids, names)
		rows = []any{list}
	default:
		return
	}
	if call.Flags&dbus.FlagNoReplyExpected == 0 {
		m.bus.Send(&dbus.Message{Type: dbus.TypeMethodReply, Body: rows, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldDestination: call.Headers[dbus.FieldSender], dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()),
			dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(rows...)),
		}}, nil)
	}
	call.Type = 0 // without a type, godbus ignores it
}

var errNoRow = dbus.NewError(menuInterface+".NoSuchRow", nil)

func (m *busMenu) has(id int32) bool { return id >= 0 && int(id) < len(m.rows) }

// GetLayout, like the methods below, is called by panels. A depth of -1 means all levels.
func (m *busMenu) GetLayout(id, depth int32, _ []string) (revision uint32, layout rowLayout, _ *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.has(id) {
		return 0, layout, errNoRow
	}
	return 1, m.layout(id, depth), nil
}

func (m *busMenu) layout(id, depth int32) rowLayout {
	l := rowLayout{id, m.rows[id].props, []dbus.Variant{}}
	if depth != 0 {
		for _, child := range m.rows[id].children {
			l.Children = append(l.Children, dbus.MakeVariant(m.layout(child, depth-1)))
		}
	}
	return l
}

// GetGroupProperties returns the properties of the given rows, or of all if there are none.
func (m *busMenu) GetGroupProperties(ids []int32, _ []string) ([]rowProps, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []rowProps{}
	for id, row := range m.rows {
		if len(ids) == 0 || slices.Contains(ids, int32(id)) {
			list = append(list, rowProps{int32(id), row.props})
		}
	}
	return list, nil
}

// GetProperty returns one property of a row.
func (m *busMenu) GetProperty(id int32, name string) (dbus.Variant, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.has(id) || m.rows[id].props[name].Value() == nil {
		return dbus.MakeVariant(""), errNoRow
	}
	return m.rows[id].props[name], nil
}

// Event is called when the user does something with a row.
func (m *busMenu) Event(id int32, name string, _ dbus.Variant, _ uint32) *dbus.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.has(id) {
		return errNoRow
	}
	if action := m.rows[id].action; name == "clicked" && action != "" {
		m.chosen(action)
	}
	return nil
}

// EventGroup passes several events at once.
func (m *busMenu) EventGroup(events []rowEvent) (unknown []int32, _ *dbus.Error) {
	unknown = []int32{}
	for _, e := range events {
		if m.Event(e.ID, e.Name, e.Data, e.Time) != nil {
			unknown = append(unknown, e.ID)
		}
	}
	return unknown, nil
}

// AboutToShow is asked before a menu is shown, whether it must be read again.
func (m *busMenu) AboutToShow(int32) (bool, *dbus.Error) { return false, nil }

// AboutToShowGroup asks that of several menus.
func (m *busMenu) AboutToShowGroup([]int32) (anew, unknown []int32, _ *dbus.Error) {
	return []int32{}, []int32{}, nil
}
