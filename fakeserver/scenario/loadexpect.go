package scenario

import (
	"slices"

	"sidetone/fakeserver"
	"sidetone/internal/strictyaml"
)

const most = 1_000_000 // of anything that is counted

var conditionKeys = append([]string{"client", "device", "present", "devices", "transport"}, flagNames...)

func (l *loader) expect(n *strictyaml.Node) action {
	k, ok := l.keys(n, append([]string{"within", "once", "payloads", "rejected", "warnings"}, conditionKeys...))
	if !ok {
		return nil
	}
	d := expectAction{
		within: l.duration(k.need("within")),
		once:   l.boolean(k.value("once")),
	}
	d.client, d.condition = l.condition(k)
	for _, name := range countNames {
		if c := k.value(name); c != nil {
			d.counts = append(d.counts, count{name, l.span(c)})
		}
	}
	switch {
	case k.empty(countNames):
		l.report(n, "nothing is expected")
	case d.once && k.empty(nil):
		l.reportKey(k.byName["once"], "\"once\" needs a state that is brought once")
	}
	return d
}

func (l *loader) never(n *strictyaml.Node) action {
	k, ok := l.keys(n, append([]string{"for"}, conditionKeys...))
	if !ok {
		return nil
	}
	d := neverAction{lasts: l.duration(k.need("for"))}
	d.client, d.condition = l.condition(k)
	if k.empty(nil) {
		l.report(n, "nothing is said that must not be")
	}
	return d
}

// empty reports whether neither a condition nor one of the others is given.
func (k keys) empty(others []string) bool {
	for name := range k.byName {
		if name != "client" && slices.Contains(conditionKeys, name) || slices.Contains(others, name) {
			return false
		}
	}
	return true
}

func (l *loader) condition(k keys) (client string, c condition) {
	client = l.addressed(k)
	if client != "" && !l.started[client] {
		l.report(k.node, "%s has never run at this step", client)
	}
	c.device = l.selector(k.value("device"))
	for _, name := range flagNames {
		if want := l.oneOf(k.value(name), "true", "false", "absent"); want != "" {
			c.flags = append(c.flags, flag{name, want})
		}
	}
	if n := k.value("present"); n != nil {
		present := l.boolean(n)
		c.present = &present
		switch {
		case !k.has("device"):
			l.report(n, "\"present\" needs a \"device\"")
		case !present && len(c.flags) > 0:
			l.report(n, "a device that is not present has no flags")
		case k.has("devices"):
			l.report(n, "\"present\" does not go with \"devices\"")
		}
	}
	if n := k.value("devices"); n != nil {
		devices := l.span(n)
		c.devices = &devices
	}
	c.transport = fakeserver.Transport(l.oneOf(k.value("transport"), transports...))
	return client, c
}

var transports = []string{string(fakeserver.IPC), string(fakeserver.WebSocket), string(fakeserver.HTTP)}

func (l *loader) selector(n *strictyaml.Node) (s selector) {
	k, ok := l.keys(n, []string{"id", "model", "vendor", "type"})
	if !ok {
		return s
	}
	if len(n.Fields) == 0 {
		l.report(n, "no device is named, want id, model, vendor or type")
	}
	return selector{
		id:     l.text(k.value("id")),
		model:  l.text(k.value("model")),
		vendor: l.text(k.value("vendor")),
		kind:   l.oneOf(k.value("type"), fakeserver.AudioInput, fakeserver.AudioOutput, fakeserver.VideoInput),
	}
}

// span reads a number, or its bounds.
func (l *loader) span(n *strictyaml.Node) span {
	if n.Kind != strictyaml.Object {
		value := l.whole(n, 0, most)
		return span{value, value}
	}
	k, _ := l.keys(n, []string{"min", "max"})
	s := span{l.whole(k.value("min"), 0, most), -1}
	if k.has("max") {
		s.max = l.whole(k.value("max"), 0, most)
	}
	switch {
	case len(n.Fields) == 0:
		l.report(n, "no bound is given, want min or max")
	case s.max >= 0 && s.max < s.min:
		l.report(n, "the least number, %d, is above the greatest, %d", s.min, s.max)
	}
	return s
}
