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

// busMenu is a menu as com.canonical.dbusmenu has it. The number of a row is its place, since all menus have the same rows. Panels are
// told of what changes in a row, and never that the rows are other ones (LayoutUpdated): upon that Qt closes a menu that is open.
type busMenu struct {
	bus     *dbus.Conn
	chosen  func(action)
	sending sync.Mutex // what is sent about rows is sent in the order in which it came about
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

// addRows adds the rows of a menu, each before those of its own menu, and returns their numbers. What is not shown cannot be chosen,
// although any program may say so.
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

// props are what a panel needs to know of a row.
func (it item) props() map[string]dbus.Variant {
	if it.Separator {
		return map[string]dbus.Variant{"type": dbus.MakeVariant("separator")}
	}
	props := map[string]dbus.Variant{
		"label":   dbus.MakeVariant(directed(strings.ReplaceAll(it.Text, "_", "__"))), // one alone marks the letter of a key
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

// directed begins a text that has names in it with a mark of its direction. GTK takes that from the first letter, also where it is one of
// a name that is isolated.
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

// draw changes the rows, and tells panels what is different in them.
func (m *busMenu) draw(items []item) {
	m.sending.Lock()
	defer m.sending.Unlock()
	if changed := m.set(items); len(changed) > 0 {
		removed := []struct {
			ID    int32
			Names []string
		}{}
		// It fails when the bus has ended, which is heard of.
		_ = m.bus.Emit(menuPath, menuInterface+".ItemsPropertiesUpdated", changed, removed)
	}
}

// set changes the rows, and returns what is different in them.
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

// answer answers a panel that asks for rows, before anything else is received: godbus answers each call in a goroutine of its own, and so
// not in order. libdbusmenu asks for the rows of each menu in a call, all at once. A row that it hears of before the one that opens
// its menu is never shown, and a row that is told late, after news of it, stays as it was.
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
	call.Type = 0 // of no type, it is not handled again
}

var errNoRow = dbus.NewError(menuInterface+".NoSuchRow", nil)

func (m *busMenu) has(id int32) bool { return id >= 0 && int(id) < len(m.rows) }

// GetLayout is asked by panels, as what is below; depth -1 is all.
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

// GetGroupProperties tells of these rows, or of all.
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

// GetProperty tells one thing of a row.
func (m *busMenu) GetProperty(id int32, name string) (dbus.Variant, *dbus.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.has(id) || m.rows[id].props[name].Value() == nil {
		return dbus.MakeVariant(""), errNoRow
	}
	return m.rows[id].props[name], nil
}

// Event says what the user does.
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

// EventGroup is several at once.
func (m *busMenu) EventGroup(events []rowEvent) (unknown []int32, _ *dbus.Error) {
	unknown = []int32{}
	for _, e := range events {
		if m.Event(e.ID, e.Name, e.Data, e.Time) != nil {
			unknown = append(unknown, e.ID)
		}
	}
	return unknown, nil
}

// AboutToShow is asked before a menu is shown: whether it has to be read anew.
func (m *busMenu) AboutToShow(int32) (bool, *dbus.Error) { return false, nil }

// AboutToShowGroup is several at once.
func (m *busMenu) AboutToShowGroup([]int32) (anew, unknown []int32, _ *dbus.Error) {
	return []int32{}, []int32{}, nil
}
