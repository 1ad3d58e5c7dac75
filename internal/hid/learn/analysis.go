package learn

import (
	"fmt"
	"slices"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// minPresses is from how many presses a rule is learnt: with fewer, anything that flickers fits.
const minPresses = 3

// phase is the time up to a mark.
type phase struct {
	Mark
	role  role
	muted bool // at its end
}

// role is what a phase tells about mute.
type role string

const (
	opening role = "opening" // up to the first mark that tells a state: what was before is unknown
	still   role = "still"   // mute was not touched
	pressed role = "pressed" // mute was pressed
)

// allBits is the phase's state in each bit of a byte.
func (p phase) allBits() byte {
	if p.muted {
		return 0xff
	}
	return 0
}

// stream is the reports of one number that one device has sent.
type stream struct {
	device  hid.Device
	desc    *descriptor.Descriptor // nil: makes no sense
	id      *catalogue.Byte        // nil: the device's reports have no number
	keys    map[int]byte           // by place: bits that are keys for the host
	reports []phasedReport         // in order of time
	longest int                    // bytes
}

type phasedReport struct {
	data  []byte
	phase int
}

// analysis is a Session sorted by phases and reports.
type analysis struct {
	session         Session
	phases          []phase
	ends            []int         // by phase: where in the session its mark is
	devices         []*hid.Device // that were there, in order of coming, one for each node
	denied          []hid.Event
	streams         []*stream
	interruptions   []hid.EventKind     // what has torn the recording
	starts          []*catalogue.Anchor // of rules that count presses; nil: not looked for yet
	noisyBits       *int                // bits that turn all the time; nil: not counted yet
	rejectedAsNoise int                 // candidates that follow no better than chance would
	product         hid.Device          // one of the devices, for what they have in common
}

// UnfitError is why nothing can be learnt from a session, and how to make one that fits.
type UnfitError struct{ Problem string }

// Error says why.
func (e *UnfitError) Error() string { return e.Problem }

// parseSession sorts a session by phases and reports.
func parseSession(s Session) (*analysis, error) {
	l := &analysis{session: s}
	l.mark()
	if n := l.presses(); n < minPresses {
		return nil, &UnfitError{fmt.Sprintf(
			"the session has %d presses of mute: at least %d are needed, each followed by the mark muted or unmuted", n, minPresses)}
	}
	if err := l.sort(); err != nil {
		return nil, err
	}
	return l, nil
}

// mark finds the phases. Those before the first known state are one.
func (l *analysis) mark() {
	for i, step := range l.session {
		switch {
		case step.Mark == "" || len(l.phases) == 0 && !step.Mark.tells():
			continue
		case len(l.phases) == 0:
			l.phases = append(l.phases, phase{step.Mark, opening, step.Mark == MarkMuted})
		default:
			p := phase{step.Mark, still, l.phases[len(l.phases)-1].muted}
			if step.Mark.tells() && p.muted != (step.Mark == MarkMuted) {
				p.role, p.muted = pressed, !p.muted
			}
			l.phases = append(l.phases, p)
		}
		l.ends = append(l.ends, i)
	}
}

func (l *analysis) presses() int {
	n := 0
	for _, p := range l.phases {
		if p.role == pressed {
			n++
		}
	}
	return n
}

// sort makes the streams. Reports after the last mark lead to nothing that is known.
func (l *analysis) sort() error {
	at := 0
	for i, step := range l.session[:l.ends[len(l.ends)-1]] {
		if i > l.ends[at] {
			at++
		}
		e := step.Event
		switch {
		case step.Mark != "":
		case e.Kind == hid.Attached && e.Device != nil:
			if err := l.attach(e); err != nil {
				return err
			}
		case e.Kind == hid.Denied:
			l.denied = append(l.denied, e)
		case e.Kind == hid.Gone, e.Kind == hid.Lost:
			l.interruptions = append(l.interruptions, e.Kind)
		case e.Kind == hid.Report:
			l.hear(e.Node, e.Data, at)
		}
	}
	if len(l.devices) == 0 {
		return &UnfitError{"the session names no device that could be read"}
	}
	return nil
}

func (l *analysis) attach(e hid.Event) error {
	d := *e.Device
	d.Node = e.Node
	if len(l.devices) == 0 {
		l.product = d
	}
	if p := l.product; p.Bus != d.Bus || p.VID != d.VID || p.PID != d.PID || p.Container != d.Container {
		return &UnfitError{fmt.Sprintf("the session has reports of several devices, %s and %s: record them one by one", p, d)}
	}
	known := func(o *hid.Device) bool { return o.Node == d.Node }
	l.devices = append(slices.DeleteFunc(l.devices, known), &d)
	return nil
}

func (l *analysis) hear(node string, data []byte, phase int) {
	i := slices.IndexFunc(l.devices, func(d *hid.Device) bool { return d.Node == node })
	if i < 0 || len(data) == 0 {
		return
	}
	s := l.stream(*l.devices[i], data)
	s.reports = append(s.reports, phasedReport{data, phase})
	s.longest = max(s.longest, len(data))
}

// stream returns that of a report. Without a descriptor nobody knows whether the first byte is a
// number: then all are one stream, and the first byte may become a condition.
func (l *analysis) stream(d hid.Device, data []byte) *stream {
	var id *catalogue.Byte
	desc := hid.Describe(d)
	if desc != nil && desc.Numbered {
		number := catalogue.Byte(data[0])
		id = &number
	}
	i := slices.IndexFunc(l.streams, func(s *stream) bool {
		return s.device.Node == d.Node && (id == nil && s.id == nil || id != nil && s.id != nil && *id == *s.id)
	})
	if i >= 0 {
		return l.streams[i]
	}
	s := &stream{device: d, desc: desc, id: id, keys: keysOf(desc, data[0])}
	l.streams = append(l.streams, s)
	return s
}

// first is the first byte of a report of the stream that may mean something.
func (s *stream) first() int {
	if s.id != nil {
		return 1
	}
	return 0
}

// name names the stream's reports for people.
func (s *stream) name() string {
	where := ""
	if s.device.Interface >= 0 {
		where = fmt.Sprintf(" of interface %d", s.device.Interface)
	}
	if s.id == nil {
		return "the report without a number" + where
	}
	return fmt.Sprintf("report 0x%02x", int(*s.id)) + where
}

// Usage pages whose controls are keys for the host: what they do is up to the host (HID Usage
// Tables, sections 10 and 15).
const (
	pageKeyboard = 0x07
	pageConsumer = 0x0c
	pageVendor   = 0xff00 // and all after it: what the vendor likes
)

// keysOf are the bits of a report that are keys for the host, by their place.
func keysOf(desc *descriptor.Descriptor, id byte) map[int]byte {
	keys := make(map[int]byte)
	if desc == nil {
		return keys
	}
	for _, f := range desc.Fields {
		if f.Kind != descriptor.Input || f.ReportID != 0 && f.ReportID != id || !f.IsOn(pageKeyboard) && !f.IsOn(pageConsumer) {
			continue
		}
		for at := f.Offset / 8; f.MaskAt(at) != 0; at++ {
			keys[at] |= f.MaskAt(at)
		}
	}
	return keys
}

// declared is what the descriptor says of a bit, if that is a meaning of its own and not the
// vendor's.
func (s *stream) declared(at int, mask byte) string {
	if s.desc == nil {
		return ""
	}
	for _, f := range s.desc.Fields {
		sent := f.ReportID == 0 || s.id != nil && catalogue.Byte(f.ReportID) == *s.id
		if f.Kind == descriptor.Input && !f.Array && f.Page < pageVendor && sent && f.MaskAt(at)&mask != 0 {
			return fmt.Sprintf("page %02x, usage %02x", f.Page, f.Usage)
		}
	}
	return ""
}
