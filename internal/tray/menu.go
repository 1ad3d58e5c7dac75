// Package tray shows the agent on the desktop: an icon, and a menu of what it reports. menu is a pure function from a view to the rows;
// Run follows an agent over its local API and hands each menu to a host, which draws it.
package tray

import (
	"cmp"
	"slices"
	"strconv"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
)

// action is what choosing a row does.
type action string

const (
	actionStart     action = "start"
	actionDetails   action = "details"
	actionCopy      action = "copy"
	actionLogs      action = "logs"
	actionAutostart action = "autostart"
	actionQuit      action = "quit"

	actionPause     action = "pause"
	actionPauseHour action = "pause_hour"
	actionResume    action = "resume"
)

// item is a row of the menu.
type item struct {
	Action    action // "": none, the row is information
	Text      string // "": it is not shown
	Check     *bool  // nil: no check mark
	Disabled  bool
	Separator bool
	Children  []item // the rows of its submenu
}

// Limits. A menu always has the same rows, some of them hidden: each keeps its place, and an open menu never has to be rebuilt.
const (
	maxProducts = 8
	maxParts    = 10 // of a product: its devices and their flags
	maxClients  = 4
	maxTrouble  = 2
	maxRows     = 3 // of a sentence
)

var separator = item{Separator: true}

// menu returns the rows for a view. The rows of any two menus correspond one to one.
func menu(v view, say texts.Printer) []item {
	b := builder{v, say.Isolated()}
	return slices.Concat(
		[]item{b.line(name(v.Vendor))},
		b.agent(), b.products(), b.clients(),
		[]item{separator},
		b.trouble(), b.pause(),
		[]item{b.lineIf(b.Notice.Key != "", b.Notice.Key, b.Notice.Args)},
		[]item{b.act(actionDetails, "tray.details", v.Agent == agentUp), b.act(actionCopy, "tray.copy", v.Agent == agentUp)},
		[]item{b.logs(), separator},
		[]item{b.check(actionAutostart, "tray.autostart", v.Autostart), b.about(), b.act(actionQuit, "tray.quit", true)},
	)
}

// builder makes items in one language.
type builder struct {
	view
	say texts.Printer
}

func (b builder) text(key string, args texts.Args) string {
	return shorten(b.say.Text(key, args), maxLine)
}

// line is a row of information.
func (b builder) line(text string) item { return item{Text: shorten(text, maxLine), Disabled: true} }

// lineIf is a row with a message, hidden unless it applies.
func (b builder) lineIf(applies bool, key string, args texts.Args) item {
	if !applies {
		return item{Disabled: true}
	}
	return b.line(b.say.Text(key, args))
}

// act is a row that can be chosen.
func (b builder) act(a action, key string, enabled bool) item {
	return item{Action: a, Text: b.text(key, nil), Disabled: !enabled}
}

func (b builder) check(a action, key string, on bool) item {
	return item{Action: a, Text: b.text(key, nil), Check: &on}
}

// slots fits a list into n rows, and fills those that are left with hidden.
func slots(n int, list []item, hidden item) []item {
	list = slices.Clone(list[:min(n, len(list))])
	return append(list, slices.Repeat([]item{hidden}, n-len(list))...)
}

// agent says that the agent is down or starting. If it is up, the other rows show that.
func (b builder) agent() []item {
	start := item{Action: actionStart}
	if b.Agent == agentDown {
		start = b.act(actionStart, "tray.agent.start", true)
	}
	key := map[agentState]string{agentDown: "tray.agent.down", agentStarting: "tray.agent.starting"}[b.Agent]
	return []item{b.lineIf(key != "", key, nil), start}
}

// products has two rows for each product: one with a submenu of details, and one for its mute.
func (b builder) products() []item {
	list := b.Status.Products
	if b.Agent != agentUp {
		list = nil
	}
	noParts := slots(maxParts, nil, item{Disabled: true})
	var rows []item
	for _, p := range list {
		product := item{Text: name(cmp.Or(p.Name, p.ID)), Children: b.parts(p)}
		rows = append(rows, product, b.mute(p))
	}
	rows = rows[:min(len(rows), 2*maxProducts)]
	rows = append(rows, slices.Repeat([]item{{Children: noParts}, {Disabled: true}}, maxProducts-len(rows)/2)...)
	more := len(list) - maxProducts
	return append(rows,
		b.lineIf(b.Agent == agentUp && len(list) == 0, "tray.product.none", nil),
		b.lineIf(more > 0, "tray.product.more", texts.Args{"n": strconv.Itoa(more)}))
}

// mute shows the mute of a product's first microphone that may report one.
func (b builder) mute(p control.Product) item {
	for _, d := range p.Devices {
		if flag, may := d.Flags[devices.HardwareMute]; may {
			return b.flag(devices.HardwareMute, flag)
		}
	}
	return item{Disabled: true}
}

// parts lists the devices of a product and their flags.
func (b builder) parts(p control.Product) []item {
	var rows []item
	for _, d := range p.Devices {
		rows = append(rows, b.line(b.text("type."+string(d.Type), nil)))
		for _, f := range devices.Fields {
			if flag, may := d.Flags[f]; may {
				rows = append(rows, b.flag(f, flag))
			}
		}
	}
	if len(rows) > maxParts {
		rows[maxParts-1] = b.line("…")
	}
	return slots(maxParts, rows, item{Disabled: true})
}

// flag shows a flag's value and where it comes from.
func (b builder) flag(f devices.Field, flag devices.Flag) item {
	args := texts.Args{"flag": string(f), "origin": originWord(flag.Origin)}
	group, values := "tray.flag.", map[devices.Tri]string{devices.True: "on", devices.False: "off"}
	if f == devices.HardwareMute {
		group, values = "tray.mute.", map[devices.Tri]string{devices.True: "muted", devices.False: "unmuted"}
	}
	return b.line(b.say.Text(group+cmp.Or(values[flag.Value], "unknown"), args))
}

// originWord returns the last part of the key of an origin's message, or "".
func originWord(o devices.Origin) string {
	if o.Shared {
		return o.Via + "_shared"
	}
	return o.Via
}

// httpPace is how often a client takes an update over HTTP (rule R67).
const httpPace = "30s"

// clients has one row for each client, or one that says that there is none.
func (b builder) clients() []item {
	known := b.Agent == agentUp
	var rows []item
	for _, s := range b.Status.Clients.Sessions {
		if key := "tray.client." + s.State; known && b.say.Template(key) != nil {
			args := texts.Args{"client": name(cmp.Or(s.Name, s.Client())), "transport": s.Transport, "every": httpPace}
			rows = append(rows, b.line(b.say.Text(key, args)))
		}
	}
	more := len(rows) - maxClients
	none := "tray.client.none"
	if b.Status.Clients.Reason == nil {
		none = "tray.client.searching"
	}
	return append(slots(maxClients, rows, item{Disabled: true}),
		b.lineIf(known && len(rows) == 0, none, nil),
		b.lineIf(more > 0, "tray.client.more", texts.Args{"n": strconv.Itoa(more)}))
}

// trouble says what is wrong and what to do about it.
func (b builder) trouble() []item {
	words := health.Texts{Printer: b.say}
	all := b.view.trouble()
	var rows []item
	for _, c := range all {
		c = c.Map(name)
		rows = append(rows, b.sentence(words.Message(c))...)
		remedy := words.Remedy(c)
		if remedy != "" {
			remedy = b.say.Text("tray.trouble.remedy", texts.Args{"remedy": remedy})
		}
		rows = append(rows, b.sentence(remedy)...)
	}
	more := len(all) - maxTrouble
	return append(slots(2*maxRows*maxTrouble, rows, item{Disabled: true}),
		b.lineIf(more > 0, "tray.trouble.more", texts.Args{"n": strconv.Itoa(more)}))
}

// sentence breaks a text into as many rows as a sentence may have.
func (b builder) sentence(text string) (rows []item) {
	for _, row := range wrap(text, maxRows) {
		rows = append(rows, b.line(row))
	}
	return slots(maxRows, rows, item{Disabled: true})
}

// pause shows a pause, and offers to begin or end one.
func (b builder) pause() []item {
	up, paused := b.Agent == agentUp, b.Status.Pause
	begin := item{Children: []item{
		b.act(actionPause, "tray.pause.until_resumed", true),
		{Action: actionPauseHour, Text: b.text("tray.pause.hours", texts.Args{"n": "1"})},
	}}
	end := item{Action: actionResume}
	switch {
	case up && paused == nil:
		begin.Text = b.text("tray.pause", nil)
	case up:
		end = b.act(actionResume, "tray.resume", true)
	}
	return []item{b.lineIf(up && paused != nil, "tray.paused", nil), begin, end}
}

// logs is hidden if the log is not in a file.
func (b builder) logs() item {
	if b.logFile() == "" {
		return item{Action: actionLogs}
	}
	return b.act(actionLogs, "tray.logs", true)
}

func (b builder) about() item {
	return item{Text: b.text("tray.about", texts.Args{"program": name(b.Program)}), Children: []item{
		b.lineIf(true, "tray.about.version", texts.Args{"version": name(b.Version)}),
	}}
}
