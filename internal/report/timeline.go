package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/texts"
	"sidetone/internal/timeline"
)

// Look is how a value is drawn. Looks differ in pattern or height, and not only in colour.
type Look string

// The looks.
const (
	LookOn      Look = "on"
	LookOff     Look = "off"
	LookUnknown Look = "unknown"
	LookSeveral Look = "several" // many changes in a short time
	LookThere   Look = "there"   // a product
	LookWell    Look = "well"    // a client that has the list
	LookTrouble Look = "trouble" // a client that does not have it, or a condition
	LookMark    Look = "mark"    // a moment
	lookNone    Look = ""        // nothing is drawn
)

// Timeline is the history: a chart of lanes, and the same as a table.
type Timeline struct {
	Heading, None string
	Range         string // of the chart
	Omitted       string // shown if something is missing
	Ticks         []Tick
	Groups        []Group
	Legend        []Value
	TableHeading  string
	Rows          []Row // the newest first
	Older         string
}

// Tick is a time on the axis, at percent of its width.
type Tick struct {
	At   float64
	Text string
}

// Group is the lanes of a product, of the agent, of all clients or of all conditions.
type Group struct {
	Name  string // "": the lane has a label that says it
	Lanes []Lane
}

// Lane is one line of the chart.
type Lane struct {
	Label    string
	Sub      bool // it belongs to the one above, and shows what a client has accepted of it
	Sentence bool // the label is a sentence
	Segments []Segment
}

// Segment is a part of a lane, in percent of its width.
type Segment struct {
	From, Width float64
	Look        Look
	Text        string
}

// Row is one change.
type Row struct {
	Time            Time
	Subject, Change string
	Look            Look
	Origin          Origin // empty if it is not about a flag
}

const (
	// maxSpan and minSpan bound how much of the past the chart shows.
	maxSpan, minSpan = 24 * time.Hour, time.Minute
	// minWidth is the smallest width of a segment, in percent. A narrower one is widened, or joined with its neighbours.
	minWidth = 0.4
	// maxRows bounds the table.
	maxRows = 500
)

// chart places lanes on an axis from one time to another.
type chart struct {
	*builder
	from, to time.Time
}

func (b *builder) timeline() Timeline {
	t := b.Timeline
	c := chart{b, t.From, t.To}
	if limit := t.To.Add(-maxSpan); c.from.Before(limit) {
		c.from = limit
	}
	if limit := t.To.Add(-minSpan); c.from.After(limit) {
		c.from = limit
	}
	out := Timeline{
		Heading: b.text("report.timeline", nil), None: b.text("report.timeline.none", nil), TableHeading: b.text("report.timeline.table", nil),
		Range: b.text("report.timeline.range", texts.Args{"from": b.time(c.from).Text, "to": b.time(c.to).Text}),
		Ticks: c.ticks(), Groups: c.groups(), Legend: b.legend(),
	}
	var older int
	out.Rows, older = b.rows()
	if older > 0 {
		out.Older = b.text("report.timeline.older", texts.Args{"n": strconv.Itoa(older)})
	}
	if t.Omitted {
		out.Omitted = b.text("report.timeline.omitted", nil)
	}
	return out
}

func (b *builder) legend() []Value {
	both := func(f devices.Field, value string) string {
		return b.flagValue(devices.HardwareMute, value).Text + " / " + b.flagValue(f, value).Text
	}
	return []Value{
		{LookOn, both(devices.NoiseSuppression, timeline.True)},
		{LookOff, both(devices.NoiseSuppression, timeline.False)},
		{LookUnknown, b.word("value", timeline.Unknown)},
		{LookSeveral, b.text("report.timeline.many", nil)},
	}
}

// steps are the possible distances of ticks.
var steps = []time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour,
}

// ticks returns at most eight ticks, at round times.
func (c chart) ticks() (list []Tick) {
	changeText := steps[len(steps)-1]
	for _, s := range slices.Backward(steps) {
		if c.to.Sub(c.from)/s <= 8 {
			changeText = s
		}
	}
	form := "15:04"
	if changeText < time.Minute {
		form = clock
	}
	local := c.from.In(c.Now.Location())
	_, zone := local.Zone()
	first := local.Add(time.Duration(zone) * time.Second).Truncate(changeText).Add(-time.Duration(zone) * time.Second)
	for at := first; !at.After(c.to); at = at.Add(changeText) {
		if x := c.position(at); !at.Before(c.from) && x >= 3 && x <= 97 {
			list = append(list, Tick{x, at.Format(form)})
		}
	}
	return list
}

// position returns where a moment is on the axis, in percent.
func (c chart) position(at time.Time) float64 {
	share := float64(at.Sub(c.from)) / float64(c.to.Sub(c.from)) * 100
	return min(100, max(0, share))
}

// groups returns the lanes in the order in which they are drawn: what clients have accepted comes below what was reported.
func (c chart) groups() (list []Group) {
	add := func(group string, lane Lane, l timeline.Lane) {
		lane.Segments = c.segments(l)
		if len(lane.Segments) == 0 {
			return
		}
		i := slices.IndexFunc(list, func(g Group) bool { return g.Name == group })
		if i < 0 {
			i = len(list)
			list = append(list, Group{Name: group})
		}
		list[i].Lanes = append(list[i].Lanes, lane)
	}
	for _, l := range c.Timeline.Lanes {
		if !worthShowing(l) {
			continue
		}
		name := timeline.Numbered(clean(l.Name), l.Number)
		switch l.Kind {
		case timeline.KindProduct:
			add(name, Lane{Label: c.text("report.timeline.presence", nil)}, l)
		case timeline.KindFlag:
			add(name, Lane{Label: c.word("flag", string(l.Flag))}, l)
			for _, held := range c.Timeline.Lanes {
				if held.Kind == timeline.KindAcknowledged && sameFlag(l.Subject, held.Subject) {
					accepted := c.text("report.timeline.accepted", texts.Args{"client": clean(held.Client)})
					add(name, Lane{Label: accepted, Sub: true}, held)
				}
			}
		case timeline.KindClient:
			add(c.text("report.clients", nil), Lane{Label: clean(l.Client)}, l)
		case timeline.KindCondition:
			add(c.text("report.conditions", nil), Lane{Label: c.subject(l), Sentence: true}, l)
		case timeline.KindAgent:
			add("", Lane{Label: c.text("report.agent", nil)}, l)
		}
	}
	return list
}

func sameFlag(a, b timeline.Subject) bool {
	return a.Product == b.Product && a.Number == b.Number && a.Device == b.Device && a.Flag == b.Flag
}

// briefCondition is the least time that a condition has to last to be shown. Many last only a moment, such as that a source has not yet
// answered.
const briefCondition = 2 * time.Second

// worthShowing reports whether a lane has anything to show.
func worthShowing(l timeline.Lane) bool {
	switch l.Kind {
	case timeline.KindFlag, timeline.KindAcknowledged: // if it was ever known
		known := func(v string) bool { return v == timeline.True || v == timeline.False }
		return known(l.AtStart) || slices.ContainsFunc(l.Changes, func(c timeline.Change) bool { return known(c.To) })
	case timeline.KindCondition:
		raised := l.AtStart != "" && l.AtStart != timeline.Ended
		for i, c := range l.Changes {
			brief := i+1 < len(l.Changes) && l.Changes[i+1].To == timeline.Ended && l.Changes[i+1].At.Sub(c.At) < briefCondition
			raised = raised || c.Count > 1 || c.To != timeline.Ended && !brief
		}
		return raised
	default:
		return true
	}
}

// interval is a time during which a lane had one value, or several.
type interval struct {
	from, to time.Time
	Value
	changes int // within it
}

// segments returns what is drawn of a lane.
func (c chart) segments(l timeline.Lane) (list []Segment) {
	if l.Kind == timeline.KindAgent {
		return c.marks(l)
	}
	for _, p := range c.intervals(l) {
		x, text := c.position(p.from), p.Text
		if p.Look == LookSeveral {
			text = c.text("report.timeline.several", texts.Args{"n": strconv.Itoa(p.changes)})
		}
		s := Segment{From: x, Width: max(minWidth, c.position(p.to)-x), Look: p.Look}
		s.From = min(s.From, 100-s.Width)
		s.Text = c.text("report.timeline.span", texts.Args{"value": text, "from": c.time(p.from).Text, "to": c.time(p.to).Text})
		list = append(list, s)
	}
	return list
}

// intervals returns those intervals of a lane that the chart shows. Neighbours that are too short to be seen are joined.
func (c chart) intervals(l timeline.Lane) (list []interval) {
	short := time.Duration(float64(c.to.Sub(c.from)) * minWidth / 100)
	add := func(p interval) {
		if p.Look == lookNone || !p.to.After(p.from) || !p.to.After(c.from) {
			return
		}
		if n := len(list); n > 0 && p.to.Sub(p.from) < short {
			if last := &list[n-1]; p.to.Sub(last.from) < short {
				last.to, last.Look, last.changes = p.to, LookSeveral, last.changes+p.changes
				return
			}
		}
		list = append(list, p)
	}
	now := interval{from: c.Timeline.From, Value: c.value(l, l.AtStart)}
	for _, change := range l.Changes {
		now.to = change.At
		add(now)
		now = interval{from: change.At, Value: c.value(l, change.To), changes: 1}
		if change.Count > 1 {
			add(interval{change.At, change.Until, Value{LookSeveral, ""}, change.Count})
			now.from = change.Until
		}
	}
	now.to = c.to
	add(now)
	return list
}

func (c chart) marks(l timeline.Lane) (list []Segment) {
	for _, change := range l.Changes {
		if !change.At.Before(c.from) {
			text := strings.Join([]string{c.value(l, change.To).Text, clean(change.Detail), c.time(change.At).Text}, " ")
			list = append(list, Segment{min(c.position(change.At), 100-minWidth), minWidth, LookMark, text})
		}
	}
	return list
}

// absences are the words for a lane that has no value.
var absences = map[timeline.Kind]string{
	timeline.KindProduct: timeline.Absent, timeline.KindFlag: timeline.Absent, timeline.KindListed: "unlisted",
	timeline.KindAcknowledged: "unlisted", timeline.KindClient: timeline.Gone, timeline.KindCondition: timeline.Ended,
}

// value returns a value of a lane in words.
func (b *builder) value(l timeline.Lane, value string) Value {
	there := value != "" && value != absences[l.Kind] && value != timeline.Absent
	switch {
	case l.Kind == timeline.KindAgent:
		return Value{LookMark, b.word("event", value)}
	case there && (l.Kind == timeline.KindFlag || l.Kind == timeline.KindAcknowledged):
		return b.flagValue(l.Flag, value)
	case there && l.Kind == timeline.KindClient:
		return Value{lookOfClient(value), b.word("client", value)}
	case there && l.Kind == timeline.KindCondition:
		return Value{LookTrouble, b.word("severity", value)}
	case l.Kind == timeline.KindListed && value == timeline.Unknown:
		return Value{LookUnknown, b.word("value", value)}
	case l.Kind == timeline.KindListed && value == timeline.Present:
		return Value{LookThere, b.word("event", "listed")}
	case value == timeline.Present:
		return Value{LookThere, b.word("event", value)}
	default:
		return Value{lookNone, b.word("event", cmp.Or(absences[l.Kind], timeline.Absent))}
	}
}

func lookOfClient(state string) Look {
	switch state {
	case "ready", "degraded":
		return LookWell
	case "connecting", "waiting", "searching", "stopped":
		return LookOff
	default:
		return LookTrouble
	}
}

// rows returns the newest changes, and how many older ones there are. Changes at the same time are in the order of their lanes.
func (b *builder) rows() (list []Row, older int) {
	type entry struct {
		lane   *timeline.Lane
		change *timeline.Change
	}
	var all []entry
	for i := range b.Timeline.Lanes {
		l := &b.Timeline.Lanes[i]
		if !worthShowing(*l) {
			continue
		}
		for n := range l.Changes {
			all = append(all, entry{l, &l.Changes[n]})
		}
	}
	slices.Reverse(all)
	slices.SortStableFunc(all, func(x, y entry) int { return y.change.At.Compare(x.change.At) })
	older = max(0, len(all)-maxRows)
	for _, p := range all[:len(all)-older] {
		l, c := *p.lane, *p.change
		row := Row{Time: b.preciseTime(c.At), Subject: b.subject(l), Change: b.changeText(l, c), Look: b.value(l, c.To).Look}
		if c.Origin != nil {
			row.Origin = b.origin(*c.Origin)
		}
		list = append(list, row)
	}
	return list, older
}

// preciseTime returns a time to the millisecond: a client acknowledges a mute within a few of them.
func (b *builder) preciseTime(at time.Time) Time {
	t := b.time(at)
	t.Text += t.At.Format(".000")
	return t
}

// changeText returns a change in words.
func (b *builder) changeText(l timeline.Lane, c timeline.Change) string {
	text := b.value(l, c.To).Text
	switch {
	case l.Kind == timeline.KindAgent, l.Kind == timeline.KindClient && c.Detail != "":
		if l.Kind == timeline.KindClient {
			c.Detail = b.word("transport", c.Detail)
		}
		if c.Detail != "" {
			text += " (" + clean(c.Detail) + ")"
		}
	case c.From != "" && l.Kind != timeline.KindCondition && l.Kind != timeline.KindProduct:
		text = b.text("report.timeline.step", texts.Args{"before": b.value(l, c.From).Text, "after": text})
	}
	if c.Count > 1 {
		several := b.text("report.timeline.several", texts.Args{"n": strconv.Itoa(c.Count)})
		args := texts.Args{"value": several, "from": b.preciseTime(c.At).Text, "to": b.preciseTime(c.Until).Text}
		text = b.say.Sentence(b.text("report.timeline.span", args), false) + " " + text
	}
	return text
}

// subject returns what a lane is about, in words.
func (b *builder) subject(l timeline.Lane) string {
	args := texts.Args{"product": timeline.Numbered(clean(l.Name), l.Number), "client": clean(l.Client), "flag": string(l.Flag)}
	switch l.Kind {
	case timeline.KindFlag:
		return b.text("report.timeline.subject.flag", args)
	case timeline.KindAcknowledged:
		return b.text("report.timeline.subject.accepted", args)
	case timeline.KindListed:
		return b.text("report.timeline.subject.listed", args)
	case timeline.KindClient:
		return args["client"]
	case timeline.KindCondition:
		condition := cmp.Or(l.Condition, &health.Condition{}) // another version of the agent may have made none
		return b.health.Message(condition.Map(clean))
	case timeline.KindAgent:
		return b.text("report.agent", nil)
	default:
		return args["product"]
	}
}
