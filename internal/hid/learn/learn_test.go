package learn_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// snippet is a catalogue without sources, up to its link.
const snippet = `
schema: 1
vendor: {id: acme, name: Acme, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Headset
    url: https://acme.example/headset
    priority: 1
    endpoints: [{type: audioinput}]
`

// studio records the session of a user who does what is asked.
type studio struct {
	now     time.Time
	session learn.Session
}

func newStudio(list ...hid.Device) *studio {
	s := &studio{now: noon}
	for _, d := range list {
		s.session = append(s.session, learn.Step{Event: hid.Event{Kind: hid.Attached, Node: d.Node, Device: &d, At: s.tick()}})
	}
	return s
}

func (s *studio) tick() time.Time {
	s.now = s.now.Add(100 * time.Millisecond)
	return s.now
}

// sends is reports of one device.
func (s *studio) sends(node string, reports ...[]byte) {
	for _, r := range reports {
		s.session = append(s.session, learn.Step{Event: hid.Event{Kind: hid.Report, Node: node, Data: r, At: s.tick()}})
	}
}

func (s *studio) mark(m learn.Mark) {
	s.session = append(s.session, learn.Step{Mark: m, Event: hid.Event{At: s.tick()}})
}

// act is the whole conversation. press is what the headset does for each press, idle what it does
// while nobody touches it, and other what it does when its other controls are used.
func (s *studio) act(presses int, press func(muted bool), idle, other func(muted bool)) {
	s.mark(learn.MarkUnmuted)
	if idle != nil {
		idle(false)
	}
	s.mark(learn.MarkHandsOff)
	if other != nil {
		other(false)
	}
	s.mark(learn.MarkOther)
	for i := range presses {
		muted := i%2 == 0
		press(muted)
		s.mark(map[bool]learn.Mark{true: learn.MarkMuted, false: learn.MarkUnmuted}[muted])
	}
}

// headset is a device with a descriptor.
func headset(node string, usbInterface int, descriptor []byte) hid.Device {
	return hid.Device{
		Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-1", Interface: usbInterface,
		Name: "Acme Headset 700", Descriptor: descriptor,
	}
}

// vendorReports declares input reports of the vendor's own page, of 15 bytes each; id 0: without a number.
func vendorReports(ids ...byte) []byte {
	d := []byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x26, 0xff, 0x00, 0x75, 0x08, 0x95, 0x0f}
	for _, id := range ids {
		if id != 0 {
			d = append(d, 0x85, id)
		}
		d = append(d, 0x09, 0x01, 0x81, 0x02)
	}
	return append(d, 0xc0)
}

// phoneMute declares report 1 with Phone Mute in its lowest bits.
func phoneMute(flags byte, size byte, low byte) []byte {
	return []byte{
		0x05, 0x0b, 0x09, 0x05, 0xa1, 0x01, 0x85, 0x01,
		0x15, low, 0x25, 0x01, 0x75, size, 0x95, 0x01,
		0x09, 0x2f, 0x81, flags,
		0x75, 0x01, 0x95, 8 - size, 0x81, 0x03, 0xc0,
	}
}

// consumerKeys declares report 2 with Volume Up, Volume Down and Mute of the speaker.
var consumerKeys = []byte{
	0x05, 0x0c, 0x09, 0x01, 0xa1, 0x01, 0x85, 0x02,
	0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x03,
	0x09, 0xe9, 0x09, 0xea, 0x09, 0xe2, 0x81, 0x02,
	0x95, 0x05, 0x81, 0x03, 0xc0,
}

func bit(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// learn requires that each proposal can be put into a catalogue as it is printed, and means there
// what was checked.
func infer(t testing.TB, s learn.Session) learn.Result {
	t.Helper()
	result, err := learn.Infer(s)
	require.NoError(t, err)
	for _, p := range result.Proposals {
		requirePastable(t, p)
	}
	return result
}

// requirePastable returns the catalogue that the proposal was pasted into.
func requirePastable(t testing.TB, p learn.Proposal) *catalogue.Catalogue {
	t.Helper()
	text := snippet
	if p.Rule.HIDQuery != nil {
		text += "    allow_write: true\n"
	}
	text += "    links: [" + p.LinkYAML() + "]\n    sources:\n" + p.YAML()
	cat, problems := catalogue.Decode("test.yaml", []byte(text))
	require.Empty(t, problems, text)
	require.Equal(t, []catalogue.SourceRule{p.Rule}, cat.Products[0].Sources, text)
	return cat
}

// printed is what a result proposes, without the spaces.
func printed(l learn.Result) []string {
	out := []string{}
	for _, p := range l.Proposals {
		_, rule, _ := strings.Cut(p.YAML(), "\n")
		out = append(out, strings.TrimSpace(rule))
	}
	return out
}

func TestLearnLevelBesideBattery(t *testing.T) {
	s := newStudio(headset("hidraw0", -1, vendorReports(0x64)))
	battery := byte(80)
	send := func(muted bool) {
		battery--
		s.sends("hidraw0", []byte{0x64, 0, bit(muted)<<7 | battery, 177})
	}
	s.act(6, func(muted bool) { send(!muted); send(muted) }, func(muted bool) { send(muted); send(muted) }, nil)
	l := infer(t, s.session)
	require.Equal(t, []string{"hid_report: {report_id: 0x64, value: {byte: 2, mask: 0x80}}"}, printed(l))
	p := l.Proposals[0]
	require.Equal(t, "report 0x64: byte 2 bit 7 (mask 0x80) is 1 whenever you said muted and 0 whenever not", p.Why)
	require.Equal(t, []int{14, 8, 9}, []int{p.Reports, p.Right, p.Marks})
	require.Equal(t, `{kind: usb, vid: "1209", pids: ["0700"]}`, p.LinkYAML())
	require.Empty(t, l.Notes)
}

func TestLearnLevels(t *testing.T) {
	for name, c := range map[string]struct {
		muted, unmuted []byte
		idle           [][]byte
		want           string
	}{
		"bit":                   {muted: []byte{3, 9, 4}, unmuted: []byte{3, 9, 0}, want: "{report_id: 0x03, value: {byte: 2, mask: 0x04}}"},
		"inverted bit":          {muted: []byte{3, 0}, unmuted: []byte{3, 1}, want: "{report_id: 0x03, value: {byte: 1, mask: 0x01, invert: true}}"},
		"values of some bits":   {muted: []byte{3, 0xa2}, unmuted: []byte{3, 0xa1}, want: "{report_id: 0x03, value: {byte: 1, mask: 0x03, on: [0x02], off: [0x01]}}"},
		"values of a byte":      {muted: []byte{3, 0xff}, unmuted: []byte{3, 0}, want: "{report_id: 0x03, value: {byte: 1, on: [0xff], off: [0x00]}}"},
		"beside other messages": {muted: []byte{3, 0, 1, 0xa6, 0, 1}, unmuted: []byte{3, 0, 1, 0xa6, 0, 0}, idle: [][]byte{{3, 1, 0, 0x36, 0, 1}, {3, 1, 0, 0x37, 0, 0}, {3, 0, 1, 0xa6, 0, 0}}, want: "{report_id: 0x03, when: [{byte: 1, eq: 0x00}], value: {byte: 5, mask: 0x01, valid: [{byte: 2, eq: 0x01}, {byte: 3, eq: 0xa6}]}}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(headset("hidraw0", 3, vendorReports(3)))
			send := func(muted bool) {
				s.sends("hidraw0", map[bool][]byte{true: c.muted, false: c.unmuted}[muted])
			}
			s.act(6, send, func(bool) { s.sends("hidraw0", c.idle...) }, nil)
			require.Contains(t, printed(infer(t, s.session)), "hid_report: "+c.want)
		})
	}
}

// TestLearnListOfValues is a headset that tells by which of two means it was muted.
func TestLearnListOfValues(t *testing.T) {
	s := newStudio(headset("hidraw0", -1, vendorReports(6)))
	n := 0
	s.act(8, func(muted bool) {
		n++
		values := map[bool][]byte{true: {1, 6}, false: {3, 4}}[muted]
		s.sends("hidraw0", []byte{6, 0xb0, values[n/2%2]})
	}, nil, nil)
	require.Equal(t, []string{"hid_report: {report_id: 0x06, value: {byte: 2, on: [0x01, 0x06], off: [0x03, 0x04]}}"}, printed(infer(t, s.session)))
}

func TestLearnToggles(t *testing.T) {
	const anchor = "anchor: {start: false}}"
	for name, c := range map[string]struct {
		press, other [][]byte
		want         string
	}{
		"1 then 0":           {press: [][]byte{{0x64, 2}, {0x64, 0}}, want: "{kind: toggle, report_id: 0x64, value: {byte: 1, mask: 0x02}, " + anchor},
		"a report, no 0":     {press: [][]byte{{0x64, 2}}, want: "{kind: toggle, report_id: 0x64, " + anchor},
		"a code among codes": {press: [][]byte{{0x64, 3}, {0x64, 0}}, other: [][]byte{{0x64, 2}, {0x64, 0}, {0x64, 1}, {0x64, 0}}, want: "{kind: toggle, report_id: 0x64, value: {byte: 1, on: [0x03]}, " + anchor},
		"a code without 0":   {press: [][]byte{{0x64, 2}}, other: [][]byte{{0x64, 1}}, want: "{kind: toggle, report_id: 0x64, when: [{byte: 1, eq: 0x02}], " + anchor},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(headset("hidraw0", 3, vendorReports(0x64)))
			s.act(6, func(bool) { s.sends("hidraw0", c.press...) }, nil, func(bool) { s.sends("hidraw0", c.other...) })
			l := infer(t, s.session)
			require.Equal(t, "hid_report: "+c.want, printed(l)[0], "%q", printed(l))
			require.Contains(t, strings.Join(l.Proposals[0].Doubts, "\n"), "start: false")
		})
	}
}

// TestLearnToggleWithStatus is a button whose device also sends its state by its own clock, which
// does not come after each press.
func TestLearnToggleWithStatus(t *testing.T) {
	s := newStudio(headset("hidraw0", -1, vendorReports(1, 2)))
	n := 0
	s.act(8, func(muted bool) {
		s.sends("hidraw0", []byte{1, 1}, []byte{1, 0})
		n++
		if n != 2 && n != 7 {
			s.sends("hidraw0", []byte{2, 50, bit(muted)})
		}
	}, nil, nil)
	require.Equal(t, "hid_report: {kind: toggle, report_id: 0x01, value: {byte: 1, mask: 0x01}, anchor: {start: false, hid_report: {report_id: 0x02, value: {byte: 2, mask: 0x01}}}}", printed(infer(t, s.session))[0])
}

func TestLearnPhoneMute(t *testing.T) {
	const (
		absoluteNoPreferred = 0x22
		relative            = 0x06
		relativeNoPreferred = 0x26
	)
	toggle := func(bool) [][]byte { return [][]byte{{1, 1}, {1, 0}} }
	level := func(muted bool) [][]byte { return [][]byte{{1, bit(muted)}} }
	for name, c := range map[string]struct {
		descriptor []byte
		press      func(muted bool) [][]byte
		want       string
	}{
		"level":                      {phoneMute(absoluteNoPreferred, 1, 0), level, "{}"},
		"momentary":                  {phoneMute(relative, 1, 0), toggle, "{anchor: {start: false}}"},
		"buttons":                    {phoneMute(relativeNoPreferred, 2, 0xff), func(muted bool) [][]byte { return [][]byte{{1, map[bool]byte{true: 1, false: 3}[muted]}, {1, 0}} }, "{}"},
		"level the other way":        {phoneMute(absoluteNoPreferred, 1, 0), func(muted bool) [][]byte { return level(!muted) }, "{invert: true}"},
		"level that is a button":     {phoneMute(absoluteNoPreferred, 1, 0), toggle, "{kind: toggle, anchor: {start: false}}"},
		"momentary that is a level":  {phoneMute(relative, 1, 0), level, "{kind: level}"},
		"in no legal form, a level":  {phoneMute(0x02, 1, 0), level, "{kind: level}"},
		"in no legal form, a button": {phoneMute(0x02, 1, 0), toggle, "{kind: toggle, anchor: {start: false}}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(headset("hidraw0", 3, c.descriptor))
			s.act(6, func(muted bool) { s.sends("hidraw0", c.press(muted)...) }, nil, nil)
			l := infer(t, s.session)
			require.Equal(t, []string{"hid_usage: " + c.want}, printed(l))
			require.Contains(t, l.Proposals[0].Why, "Phone Mute")
		})
	}
}

func TestLearnTwoInterfaces(t *testing.T) {
	s := newStudio(headset("hidraw0", 3, consumerKeys), headset("hidraw1", 4, vendorReports(2)))
	s.act(6, func(muted bool) {
		s.sends("hidraw0", []byte{2, 4}, []byte{2, 0})
		s.sends("hidraw1", []byte{2, 0, bit(muted)})
	}, nil, nil)
	l := infer(t, s.session)
	require.Equal(t, []string{"hid_report: {interface: 4, report_id: 0x02, value: {byte: 2, mask: 0x01}}"}, printed(l))
	require.Equal(t, "hidraw1", l.Proposals[0].Device.Node)
	require.Contains(t, l.Proposals[0].Why, "interface 4")
}

// TestLearnBluetooth requires a link of that kind.
func TestLearnBluetooth(t *testing.T) {
	d := headset("hidraw0", -1, vendorReports(2))
	d.Bus = devices.Bluetooth
	s := newStudio(d)
	s.act(3, func(muted bool) { s.sends("hidraw0", []byte{2, 0, bit(muted)}) }, nil, nil)
	l := infer(t, s.session)
	require.Equal(t, `{kind: bluetooth, vid: "1209", pids: ["0700"]}`, l.Proposals[0].LinkYAML())
}

// TestLearnNoCounter requires that bits which turn with each press because they count are no state.
func TestLearnNoCounter(t *testing.T) {
	for name, counted := range map[string]struct{ perPress, shift int }{"reports": {1, 0}, "presses and releases": {2, 0}, "in the middle of a byte": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			s := newStudio(headset("hidraw0", -1, vendorReports(5)))
			n := 0
			s.act(6, func(bool) {
				for i := range counted.perPress {
					n++
					s.sends("hidraw0", []byte{5, byte(n << counted.shift), bit(i == 0)})
				}
			}, nil, nil)
			l := infer(t, s.session)
			require.NotEmpty(t, l.Proposals)
			for _, p := range l.Proposals {
				require.Equal(t, catalogue.HIDToggle, p.Rule.HIDReport.Kind)
				require.True(t, p.Rule.HIDReport.Value == nil || p.Rule.HIDReport.Value.Byte == 2, "%q", printed(l))
			}
		})
	}
}

// TestLearnChance is a device whose reports carry random bytes, of which bits follow by chance.
func TestLearnChance(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	record := func(state bool) learn.Result {
		s := newStudio(headset("hidraw0", -1, vendorReports(5)))
		send := func(muted bool) {
			b := []byte{5, bit(muted && state), 0, 0, 0, 0, 0, 0, 0, 0}
			for i := 2; i < len(b); i++ {
				b[i] = byte(random.Uint32())
			}
			s.sends("hidraw0", b)
		}
		s.act(5, send, send, nil)
		return infer(t, s.session)
	}
	noted := false
	for range 20 {
		require.Equal(t, []string{"hid_report: {report_id: 0x05, value: {byte: 1, mask: 0x01}}"}, printed(record(true)))
		l := record(false)
		require.Empty(t, printed(l))
		noted = noted || strings.Contains(strings.Join(l.Notes, " "), "no better than chance")
	}
	require.True(t, noted)
}

func TestLearnNothing(t *testing.T) {
	silent := func(bool) {}
	t.Run("silence", func(t *testing.T) {
		s := newStudio(headset("hidraw0", 3, phoneMute(0x06, 1, 0)))
		s.act(6, silent, nil, nil)
		l := infer(t, s.session)
		require.Empty(t, l.Proposals)
		require.Empty(t, l.Summaries)
		require.Contains(t, strings.Join(l.Notes, "\n"), "in a call")
	})
	t.Run("speaker mute", func(t *testing.T) {
		s := newStudio(headset("hidraw0", 3, consumerKeys))
		s.act(6, func(bool) { s.sends("hidraw0", []byte{2, 4}, []byte{2, 0}) }, nil, nil)
		l := infer(t, s.session)
		require.Empty(t, printed(l))
		require.Contains(t, strings.Join(l.Notes, "\n"), "usage e2) 6 times")
		require.Contains(t, strings.Join(l.Notes, "\n"), "no hardware mute")
	})
	t.Run("a switch that is not mute", func(t *testing.T) {
		s := newStudio(headset("hidraw0", 3, vendorReports(7)))
		n := 0
		s.act(6, func(bool) { n++; s.sends("hidraw0", []byte{7, bit(n > 3)}) }, nil, nil)
		l := infer(t, s.session)
		require.NotContains(t, strings.Join(printed(l), "\n"), "value", "its bit follows nothing")
		require.Equal(t, 6, l.Summaries[0].Reports)
		require.Equal(t, []learn.DistinctReport{{hid.Bytes{7, 0}, 1}}, l.Summaries[0].Phases[3].Reports)
	})
	t.Run("marks that nothing follows", func(t *testing.T) {
		s := newStudio(headset("hidraw0", 3, vendorReports(7)))
		for i, m := range []learn.Mark{learn.MarkUnmuted, learn.MarkMuted, learn.MarkUnmuted, learn.MarkMuted, learn.MarkUnmuted} {
			if i%3 == 1 {
				s.sends("hidraw0", []byte{7, 1}, []byte{7, 0})
			}
			s.mark(m)
		}
		require.Empty(t, printed(infer(t, s.session)))
	})
}

func TestLearnUnfit(t *testing.T) {
	short := newStudio(headset("hidraw0", 3, vendorReports(7)))
	short.act(2, func(bool) {}, nil, nil)
	nobody := newStudio()
	nobody.act(3, func(bool) {}, nil, nil)
	second := headset("hidraw1", 3, vendorReports(7))
	second.Container = "usb:1-2"
	two := newStudio(headset("hidraw0", 3, vendorReports(7)), second)
	two.act(3, func(bool) {}, nil, nil)
	for want, s := range map[string]learn.Session{"2 presses": short.session, "no device": nobody.session, "several devices": two.session, "0 presses": nil} {
		_, err := learn.Infer(s)
		require.ErrorContains(t, err, want)
	}
}

func TestSessionFile(t *testing.T) {
	s := newStudio(headset("hidraw0", 3, vendorReports(7)))
	s.act(3, func(muted bool) { s.sends("hidraw0", []byte{7, bit(muted)}) }, nil, nil)
	var file bytes.Buffer
	require.NoError(t, s.session.Write(&file))
	require.Contains(t, file.String(), "\n"+`{"mark":"muted","at":"2026-01-01T12:00:00.6Z"}`+"\n")
	back, err := learn.ReadSession(&file)
	require.NoError(t, err)
	require.Equal(t, s.session, back)

	for text, want := range map[string]string{
		"\n{":                      "line 2: not a line of JSON",
		`{"mark":"loud"}`:          `line 1: unknown mark "loud"`,
		`{"happening":"exploded"}`: "line 1: neither a mark nor an event",
		`{"happening":"attached"}`: "line 1: attached without its device",
		`{"happening":"attached","device":{"vid":"12","pid":"0700"}}`:                    "4 lower-case hex digits",
		`{"happening":"attached","device":{"vid":"1209","pid":"0700","interface":1000}}`: "interface 1000",
		strings.Repeat(" ", 1<<20+1):                                                     "line 1: longer than",
	} {
		_, err := learn.ReadSession(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

// TestLearnMuteLamp is a call headset: its button only asks the program to mute, which sets the lamp that the descriptor declares.
func TestLearnMuteLamp(t *testing.T) {
	lamp := []byte{
		0x05, 0x08, 0x09, 0x01, 0xa1, 0x01, 0x85, 0x05, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x02, 0x09, 0x17, 0x09, 0x09, 0x91, 0x02,
		0x95, 0x06, 0x91, 0x03, 0xc0,
	}
	s := newStudio(headset("hidraw0", -1, append(phoneMute(0x06, 1, 0), lamp...)))
	s.act(6, func(bool) { s.sends("hidraw0", []byte{1, 1}, []byte{1, 0}) }, nil, nil)
	l := infer(t, s.session)
	require.Equal(t, []string{
		`hid_query: {last_output: "05", value: {byte: 1, mask: 0x02}, ask_on: [{byte: 0, eq: 0x01}, {byte: 1, mask: 0x01, eq: 0x01}], delay_ms: 150, poll_ms: 2000}`,
		"hid_usage: {anchor: {start: false}}",
	}, printed(l))
	require.Zero(t, l.Proposals[0].Marks, "no recording can show that a lamp can be read back")
	require.Contains(t, l.Proposals[0].Doubts[0], "try this first")
}

// TestLearnKeysAreNamed is a headset whose state stands where its descriptor declares a key.
func TestLearnKeysAreNamed(t *testing.T) {
	s := newStudio(headset("hidraw0", -1, consumerKeys))
	s.act(6, func(muted bool) { s.sends("hidraw0", []byte{2, bit(muted) << 1}) }, nil, nil)
	l := infer(t, s.session)
	require.Empty(t, l.Proposals)
	require.Contains(t, l.Notes, "report 0x02: byte 1 bit 1 (mask 0x02) (page 0c, usage ea) followed the marks, but is a key for the host: no rule"+
		" is made of it. If the headset shows its state there, write the rule by hand")
}

// TestLearnRepeated is a headset whose reports end with a sum, which follows the mute in any message of the same length.
func TestLearnRepeated(t *testing.T) {
	s := newStudio(headset("hidraw0", -1, vendorReports(2)))
	send := func(kind, value byte) {
		s.sends("hidraw0", []byte{2, 4, kind, value, 0, 4 + kind + value})
	}
	s.act(6, func(muted bool) { send(0x24, bit(muted)) }, nil, func(bool) { send(0x21, 6); send(0x30, 0x10) })
	require.Equal(t, []string{"hid_report: {report_id: 0x02, value: {byte: 3, mask: 0x01, valid: [{byte: 2, eq: 0x24}]}}"}, printed(infer(t, s.session)))
}
