package learn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"sidetone/internal/catalogue"
	"sidetone/internal/hid"
	"sidetone/internal/hid/descriptor"
)

// minPresses is the minimum number of presses: with fewer, noise may fit by chance.
const minPresses = 3

// phase is the time between two marks, named by the one at its end.
type phase struct {
	Mark
	role  role
	muted bool // at its end
}

// role is what happened to mute in a phase.
type role string

const (
	opening   role = "opening" // up to the first mark that tells the state, which is unknown before
	untouched role = "still"   // mute was not touched
	pressed   role = "pressed" // mute was pressed
)

// allBits returns the phase's state in every bit of a byte.
func (p phase) allBits() byte {
	if p.muted {
		return 0xff
	}
	return 0
}

// stream is the reports with one number from one device.
type stream struct {
	device  hid.Device
	desc    *descriptor.Descriptor // nil: invalid
	id      *catalogue.Byte        // nil: the device's reports have no number
	keys    map[int]byte           // by byte: bits that are keys for the host
	reports []phasedReport         // in order of time
	longest int                    // bytes
}

type phasedReport struct {
	data  []byte
	phase int
	at    time.Time
}

// analysis is a Session split into phases and streams.
type analysis struct {
	session         Session
	phases          []phase
	ends            []int         // by phase: index of its mark in the session
	devices         []*hid.Device // in order of arrival, one for each node
	denied          []hid.Event
	streams         []*stream
	interruptions   []hid.EventKind     // gaps in the recording
	starts          []*catalogue.Anchor // for rules that count presses; nil: not determined yet
	noisyBits       int                 // how many bits change all the time
	rejectedAsNoise int                 // candidates that follow the marks no better than chance
	fittingKeys     []string            // keys for the host that follow the marks
	product         hid.Device          // any of the devices, for what they have in common
}

// parseSession splits a session into phases and streams. An error says why nothing can be learnt from it, and how to record a better one.
func parseSession(s Session) (*analysis, error) {
	l := &analysis{session: s}
	l.mark()
	if n := l.presses(); n < minPresses {
		return nil, fmt.Errorf(
			"the session has %d presses of mute: at least %d are needed, each followed by the mark muted or unmuted", n, minPresses)
	}
	if err := l.sortReports(); err != nil {
		return nil, err
	}
	return l, nil
}

// mark splits the session into phases. All before the first known state is one.
func (l *analysis) mark() {
	for i, step := range l.session {
		switch {
		case step.Mark == "" || len(l.phases) == 0 && !step.Mark.tellsState():
			continue
		case len(l.phases) == 0:
			l.phases = append(l.phases, phase{step.Mark, opening, step.Mark == MarkMuted})
		default:
			p := phase{step.Mark, untouched, l.phases[len(l.phases)-1].muted}
			if step.Mark.tellsState() && p.muted != (step.Mark == MarkMuted) {
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

// sortReports builds the streams. Reports after the last mark are ignored, as no mark tells what they led to.
func (l *analysis) sortReports() error {
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
		case e.Kind == hid.Failed, e.Kind == hid.Gone, e.Kind == hid.Lost:
			l.interruptions = append(l.interruptions, e.Kind)
		case e.Kind == hid.Report:
			l.addReport(e, at)
		}
	}
	if len(l.devices) == 0 {
		return errors.New("the session names no device that could be read")
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
		return fmt.Errorf("the session has reports of several devices, %s and %s: record them one by one", p, d)
	}
	known := func(o *hid.Device) bool { return o.Node == d.Node }
	l.devices = append(slices.DeleteFunc(l.devices, known), &d)
	return nil
}

func (l *analysis) addReport(e hid.Event, phase int) {
	i := slices.IndexFunc(l.devices, func(d *hid.Device) bool { return d.Node == e.Node })
	if i < 0 || len(e.Data) == 0 {
		return
	}
	s := l.stream(*l.devices[i], e.Data)
	s.reports = append(s.reports, phasedReport{e.Data, phase, e.At})
	s.longest = max(s.longest, len(e.Data))
}

// stream returns the stream of a report. Without a descriptor the first byte may or may not be a number:
// then all reports are one stream, and the first byte may become a condition.
func (l *analysis) stream(d hid.Device, data []byte) *stream {
	var id *catalogue.Byte
	desc := hid.Describe(d)
	if desc != nil && desc.Numbered {
		id = new(catalogue.Byte(data[0]))
	}
	same := func(s *stream) bool { return s.device.Node == d.Node && reflect.DeepEqual(s.id, id) }
	if i := slices.IndexFunc(l.streams, same); i >= 0 {
		return l.streams[i]
	}
	s := &stream{device: d, desc: desc, id: id, keys: keysOf(desc, data[0])}
	l.streams = append(l.streams, s)
	return s
}

// first returns the index of the first byte after the report's number.
func (s *stream) first() int {
	if s.id != nil {
		return 1
	}
	return 0
}

// name describes the stream's reports in words.
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

// Usage pages (HID Usage Tables). The controls of the first two are keys for the host.
const (
	pageKeyboard  = 0x07
	pageConsumer  = 0x0c
	pageTelephony = 0x0b
	pageDigitizer = 0x0d
	pageVendor    = 0xff00 // and above: vendor-defined
)

// keysOf returns the bits of a report that are keys for the host, by byte. A vendor may hide a state under an undefined usage of their
// pages.
func keysOf(desc *descriptor.Descriptor, id byte) map[int]byte {
	keys := make(map[int]byte)
	if desc == nil {
		return keys
	}
	for _, f := range desc.Fields {
		if f.Kind != descriptor.Input || f.ReportID != 0 && f.ReportID != id ||
			!f.HasPage(pageKeyboard) && !f.HasPage(pageConsumer) || !f.Array && f.Usage == 0 {
			continue
		}
		for at := f.Offset / 8; f.MaskAt(at) != 0; at++ {
			keys[at] |= f.MaskAt(at)
		}
	}
	return keys
}

// declared returns the usage that the descriptor declares for a bit, unless it is vendor-defined.
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
