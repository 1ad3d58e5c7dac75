// Package report makes a page about the state and the recent history of an agent, for users and those who support them: one file without
// scripts, which loads nothing. Build decides what is on it, Page.HTML writes it.
package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/control"
	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
	"sidetone/internal/timeline"
)

// Input is what a page is made of.
type Input struct {
	Status    control.Status
	Timeline  timeline.Timeline
	Recording string    // the file that it was read from; "": a running agent
	Now       time.Time // the time of the state, in the time zone of the reader
	Made      time.Time // the time of the page; zero: Now
}

// Page is the text of a page. Texts from outside, such as names of devices, are free of characters that affect what is around them.
type Page struct {
	Lang       string
	RightLeft  bool // the language is written from right to left
	Title      string
	Facts      []string // in small print below the title
	Conditions Section[Condition]
	Devices    Section[Product]
	Clients    Section[Client]
	Timeline   Timeline
	Private    string // a warning for those who want to pass the page on
	Label      Labels
}

// Section is a part of the page.
type Section[T any] struct {
	Heading string
	None    string // shown if List is empty
	List    []T
}

// Labels are the headings of columns and facts.
type Labels struct{ Flag, Value, Origin, Since, Transport, Process, Delivered, Error, Remedy, Time, Subject, Change string }

// Time is a moment, as text and for programs.
type Time struct {
	Text string
	At   time.Time
}

// Condition is something that is not in order.
type Condition struct{ Severity, Word, Message, Remedy string }

// Product is a unit that is plugged in.
type Product struct {
	Name    string
	Devices []Device
}

// Device is a part of a product that the client knows.
type Device struct {
	Type, ID string
	Flags    []Flag
}

// Flag is one setting of a microphone.
type Flag struct {
	Name   string
	Value  Value
	Origin Origin
	Since  Time // empty: not known
}

// Value is a value and how it is drawn.
type Value struct {
	Look Look
	Text string
}

// Origin is where a value comes from.
type Origin struct{ Text, Detail string }

// Client is a session with a client.
type Client struct {
	Name, Place, Process string
	State                Value
	Transport            string
	Delivered            string
	Error, Remedy        string
}

// builder makes a Page.
type builder struct {
	Input
	say    texts.Printer
	health health.Texts
}

// rightToLeft lists languages that are written from right to left. A vendor may add one.
var rightToLeft = []string{"ar", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"}

// Build makes the page in the printer's language.
func Build(in Input, say texts.Printer) Page {
	say = say.Isolated()
	b := &builder{in, say, health.Texts{Printer: say}}
	st, made := in.Status, in.Made
	if made.IsZero() {
		made = in.Now
	}
	base, _, _ := strings.Cut(say.Lang(), "-")
	p := Page{
		Lang: say.Lang(), RightLeft: slices.Contains(rightToLeft, base),
		Title:   b.text("report.title", texts.Args{"vendor": clean(st.Vendor)}),
		Private: b.text("report.private", nil), Label: b.labels(),
		Facts: []string{b.text("report.generated", texts.Args{"time": made.Format(day + " " + clock + " -07:00")})},
	}
	if st.Version != "" {
		p.Facts = append(p.Facts, b.text("report.version", texts.Args{"version": clean(st.Version)}))
	}
	if in.Recording != "" {
		p.Facts = append(p.Facts, b.text("report.from_recording", texts.Args{"path": clean(in.Recording)}))
	} else {
		p.Facts = append(p.Facts, b.text("report.agent.uptime", texts.Args{"age": in.Now.Sub(st.Started).String()}))
	}
	p.Conditions = Section[Condition]{b.text("report.conditions", nil), b.text("report.conditions.none", nil), b.conditions()}
	p.Devices = Section[Product]{b.text("report.devices", nil), b.text("report.devices.none", nil), b.products()}
	noClients := "report.clients.none"
	if in.Recording != "" {
		noClients = "report.clients.unknown"
	}
	p.Clients = Section[Client]{b.text("report.clients", nil), b.text(noClients, nil), b.clients()}
	p.Timeline = b.timeline()
	return p
}

func (b *builder) text(key string, args texts.Args) string { return b.say.Text(key, args) }

// maxText bounds texts from outside, in characters. No device has such a long name, but a recording may hold anything.
const maxText = 500

// clean makes a text from outside fit for the page.
func clean(s string) string {
	n := 0
	for at := range s {
		n++
		if n > maxText {
			return texts.Clean(s[:at]) + "…"
		}
	}
	return texts.Clean(s)
}

// word returns the word for a value of a group, or the value itself if there is none.
func (b *builder) word(group, value string) string {
	if key := group + "." + value; b.say.Template(key) != nil {
		return b.text(key, nil)
	}
	return clean(value)
}

func (b *builder) labels() Labels {
	label := func(name string) string { return b.text("report."+name, nil) }
	return Labels{
		label("flag"), label("value"), label("origin"), label("since"), label("transport"), label("process"), label("delivered.heading"),
		label("error"), label("remedy"), label("timeline.time"), label("timeline.subject"), label("timeline.change"),
	}
}

// severities are those that are shown, the worst first.
var severities = []health.Severity{health.Problem, health.Warning, health.Info}

func (b *builder) conditions() (list []Condition) {
	for _, severity := range severities {
		for _, c := range b.Status.Conditions {
			if c.Severity == severity {
				list = append(list, b.condition(c.Known()))
			}
		}
	}
	return list
}

func (b *builder) condition(c health.Condition) Condition {
	c = c.Map(clean)
	return Condition{string(c.Severity), b.word("severity", string(c.Severity)), b.health.Message(c), b.health.Remedy(c)}
}

func (b *builder) products() (list []Product) {
	seen := make(map[string]int)
	for _, p := range b.Status.Products {
		seen[p.ID]++
		out := Product{Name: timeline.Numbered(clean(p.Name), seen[p.ID])}
		for _, d := range p.Devices {
			out.Devices = append(out.Devices, Device{b.word("type", string(d.Type)), clean(d.ID), b.flags(d)})
		}
		list = append(list, out)
	}
	return list
}

func (b *builder) flags(d control.Device) (list []Flag) {
	for _, f := range devices.Fields {
		flag, may := d.Flags[f]
		if !may {
			continue
		}
		out := Flag{Name: b.word("flag", string(f)), Value: b.flagValue(f, flag.Value.String()), Origin: b.origin(flag.Origin)}
		if !flag.Since.IsZero() {
			out.Since = b.since(flag.Since)
		}
		list = append(list, out)
	}
	return list
}

// flagValue returns the value of a flag in words.
func (b *builder) flagValue(f devices.Field, value string) Value {
	switch value {
	case timeline.True:
		return Value{LookOn, b.word("value", f.ValueWord(devices.True))}
	case timeline.False:
		return Value{LookOff, b.word("value", f.ValueWord(devices.False))}
	default:
		return Value{LookUnknown, b.word("value", f.ValueWord(devices.Unknown))}
	}
}

func (b *builder) origin(o devices.Origin) Origin {
	out := Origin{b.word("origin", o.Word()), clean(o.Detail)}
	if o.Stale {
		out.Text = b.text("report.origin.stale", texts.Args{"origin": out.Text})
	}
	return out
}

func (b *builder) clients() (list []Client) {
	for _, s := range b.Status.Clients.Sessions {
		address := clean(s.Socket)
		if address == "" && s.Port != 0 {
			address = "127.0.0.1:" + strconv.Itoa(s.Port)
		}
		c := Client{
			Name: cmp.Or(clean(s.Name), address), Place: address, State: Value{lookOfClient(s.State), b.word("client", s.State)},
			Delivered: b.text("report.delivered.never", nil),
		}
		if s.Transport != "" {
			c.Transport = b.word("transport", s.Transport)
		}
		if s.PID != 0 {
			c.Process = strconv.Itoa(s.PID)
		}
		if !s.Delivered.IsZero() {
			age := max(0, b.Now.Sub(s.Delivered)).String()
			c.Delivered = b.text("report.delivered", texts.Args{"n": strconv.Itoa(s.Devices), "age": age})
			if s.Generation < b.Status.Generation {
				c.Delivered += " " + b.text("report.delivered.older", nil)
			}
		}
		if s.Reason != nil {
			reason := s.Reason.Known().Map(clean)
			c.Error, c.Remedy = b.health.Message(reason), b.health.Remedy(reason)
		}
		list = append(list, c)
	}
	return list
}

// day and clock are the formats of dates and times in all languages.
const (
	day   = "2006-01-02"
	clock = "15:04:05"
)

// time returns a moment as text, with its date if that is not today.
func (b *builder) time(at time.Time) Time {
	at = at.In(b.Now.Location())
	if at.Format(day) != b.Now.Format(day) {
		return Time{at.Format(day + " " + clock), at}
	}
	return Time{at.Format(clock), at}
}

// since returns a moment and how long ago it was.
func (b *builder) since(at time.Time) Time {
	t := b.time(at)
	t.Text = b.text("report.at", texts.Args{"time": t.Text, "age": max(0, b.Now.Sub(at)).String()})
	return t
}
