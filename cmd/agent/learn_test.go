package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/app"
	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
	"sidetone/internal/platform"
	"sidetone/internal/platform/hidio"
)

func recording(name string) string {
	return filepath.Join("..", "..", "internal", "hid", "learn", "testdata", "sessions", name+".jsonl")
}

func TestLearnFrom(t *testing.T) {
	t.Parallel()
	o := sidetone(t, nil, "learn", "--from", recording("level-beside-battery"))
	require.Equal(t, exitOK, o.code, o.stderr)
	require.Empty(t, o.stderr)
	require.Contains(t, o.stdout, "hid_report: {interface: 4, report_id: 0x64, value: {byte: 2, mask: 0x80}}\n")
	require.Contains(t, o.stdout, "right at 8 of 9 marks; unknown at the 1 before its first report\n")
	catalogue := write(t, "learnt.yaml", minimal+"    sources:\n"+o.stdout)
	require.Equal(t, output{exitOK, catalogue + ": in order, 1 product\n", ""}, sidetone(t, nil, "catalogue", "check", catalogue))

	o = sidetone(t, nil, "learn", "--from", recording("speaker-mute"))
	require.Equal(t, exitFailed, o.code)
	require.Contains(t, o.stdout, "# note: hidraw0 sent Mute of the Consumer page")
	require.Contains(t, o.stdout, "#   muted      02 04\n#              02 00\n#                 ^^\n")
	require.NotContains(t, o.stdout, "\n ", "nothing that could be pasted")
}

// TestLearnIsBoundByPolicy: where that keeps the agent from HID devices, its program reads none.
func TestLearnIsBoundByPolicy(t *testing.T) {
	t.Parallel()
	program := strings.TrimSuffix(write(t, "acme-agent.brand.yaml", `vendor: {id: acme, client_id: "123456789012345678"}`), ".brand.yaml")
	env := []string{brandEnv + "=" + program, hidEnv + "=" + t.TempDir()}
	for policy, refused := range map[string]bool{"sources:\n  hid: true": false, "sources:\n  hid: false": true} {
		require.NoError(t, os.WriteFile(program+".policy.yaml", []byte(policy), 0o600))
		o := sidetone(t, env, "learn")
		require.Equal(t, exitFailed, o.code, o.stderr)
		require.NotEmpty(t, o.stderr, "there are no devices in that folder")
		require.Equal(t, refused, strings.Contains(o.stderr, "by sources.hid at "+program+".policy.yaml:2"), o.stderr)
	}
	require.NoError(t, os.WriteFile(program+".policy.yaml", []byte("sources: {hib: false}"), 0o600))
	isBadInput(t, sidetone(t, env, "learn"), "unknown key")
}

// minimal is a catalogue up to its sources.
const minimal = `schema: 1
vendor: {id: acme, name: Acme, url: "https://acme.example", client_id: "123456789012345678"}
products:
  - id: headset
    name: Headset
    url: https://acme.example/headset
    priority: 1
    endpoints: [{type: audioinput}]
    links: [{kind: usb, vid: "1209", pids: ["0700"]}]
`

func TestLearnBadInput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ args, want []string }{
		"missing file":     {[]string{"--from", "missing.jsonl"}, []string{"--from", "missing.jsonl"}},
		"no recording":     {[]string{"--from", write(t, "x.jsonl", "{\n")}, []string{"x.jsonl: line 1"}},
		"too few presses":  {[]string{"--from", write(t, "x.jsonl", `{"mark":"muted"}`)}, []string{"0 presses", "at least 3"}},
		"from with device": {[]string{"--from", "x", "hidraw0"}, []string{"--from", "no device"}},
		"rounds":           {[]string{"--rounds", "1"}, []string{"--rounds 1", "2 to 50"}},
		"two names":        {[]string{"hidraw0", "hidraw1"}, []string{"learn --help"}},
		"no name":          {[]string{"zz"}, []string{`"zz": want the ids of a device such as 1209:0700`}},
		"no ids":           {[]string{"1209:zz"}, []string{`"1209:zz": want the ids`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isBadInput(t, sidetone(t, nil, append([]string{"learn"}, c.args...)...), c.want...)
		})
	}
}

// A fakeHID is the HID devices of a machine.
type fakeHID struct {
	all    []hid.Device
	denied map[string]string
	err    error

	mu     sync.Mutex
	want   func(hid.Device) bool
	handle func(hid.Event)
}

func (f *fakeHID) open(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.want, f.handle = want, handle
	return f, f.err
}

func (f *fakeHID) Read(context.Context) (platform.Reading, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.all {
		if !f.want(d) {
			continue
		}
		e := hid.Event{Kind: hid.Attached, Node: d.Node, Device: &d, At: time.Now()}
		if f.denied[d.Node] != "" {
			e.Kind, e.Error = hid.Denied, f.denied[d.Node]
		}
		f.handle(e)
	}
	return platform.Reading{}, nil
}

// send is an event of a device that is open.
func (f *fakeHID) send(e hid.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e.At = time.Now()
	f.handle(e)
}

func (f *fakeHID) Name() string                   { return "hid" }
func (f *fakeHID) Wait(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
func (f *fakeHID) Close() error                   { return nil }
func (f *fakeHID) Want(hidio.Wanted)              {}
func (f *fakeHID) Send(hid.Request)               {}
func (f *fakeHID) Look()                          {}

func fakeHeadset(node string, usbInterface int, descriptor ...byte) hid.Device {
	return hid.Device{
		Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-1", Interface: usbInterface,
		Name: "Acme Headset 700", Descriptor: descriptor,
	}
}

var (
	ownReport   = []byte{0x06, 0x00, 0xff, 0x09, 0x01, 0xa1, 0x01, 0x85, 0x07, 0x75, 0x08, 0x95, 0x03, 0x09, 0x01, 0x81, 0x02, 0xc0}
	volumeKeys  = []byte{0x05, 0x0c, 0x09, 0x01, 0xa1, 0x01, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01, 0x95, 0x08, 0x09, 0xe9, 0x81, 0x02, 0xc0}
	plainTyping = []byte{0x05, 0x01, 0x09, 0x06, 0xa1, 0x01, 0xc0}
)

func keyboardDevice() hid.Device {
	return hid.Device{Node: "hidraw9", Bus: devices.USB, VID: "046d", PID: "c31c", Container: "usb:1-2", Interface: 0, Name: "Keyboard", Descriptor: plainTyping}
}

// A tuition is a conversation under way.
type tuition struct {
	t      *testing.T
	send   func(report []byte) // as the headset does
	in     *io.PipeWriter
	talk   *spoken
	out    bytes.Buffer
	done   chan error
	cancel context.CancelFunc
}

// spoken wakes who waits for words that are said.
type spoken struct {
	mu   sync.Mutex
	said string
	more chan struct{}
}

func (l *spoken) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said += string(p)
	close(l.more)
	l.more = make(chan struct{})
	return len(p), nil
}

// take waits for words, and forgets all up to them.
func (l *spoken) take(t *testing.T, words string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		l.mu.Lock()
		before, after, ok := strings.Cut(l.said, words)
		if ok {
			l.said = after
		}
		more, said := l.more, l.said
		l.mu.Unlock()
		if ok {
			return before
		}
		select {
		case <-more:
		case <-timeout:
			require.Fail(t, "not said", "%q in %q", words, said)
		}
	}
}

// rest is what was said since.
func (l *spoken) rest() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said
}

type opener = func(want func(hid.Device) bool, handle func(hid.Event)) (hidio.Devices, error)

// tuition begins one whose headset is fake.
func (f *fakeHID) tuition(t *testing.T, name, save string) *tuition {
	t.Helper()
	d := newTuition(t, name, save, f.open)
	d.send = func(report []byte) { f.send(hid.Event{Kind: hid.Report, Node: "hidraw4", Data: report}) }
	return d
}

// newTuition begins one with the HID devices of open.
func newTuition(t *testing.T, name, save string, open opener) *tuition {
	t.Helper()
	in, answers := io.Pipe()
	d := &tuition{t: t, in: answers, talk: &spoken{more: make(chan struct{})}, done: make(chan error, 1)}
	l := learner{open: open, in: in, messages: d.talk, handsOff: time.Millisecond, timeout: patience, rounds: 2}
	ctx, cancel := context.WithCancel(deadline(t))
	d.cancel = cancel
	t.Cleanup(func() { cancel(); answers.Close() })
	go func() { d.done <- l.run(ctx, &d.out, name, save) }()
	return d
}

// enter presses Enter at the next step, which must have these words.
func (d *tuition) enter(words string) {
	d.t.Helper()
	d.talk.take(d.t, words)
	d.talk.take(d.t, "press Enter")
	_, err := io.WriteString(d.in, "\n")
	require.NoError(d.t, err)
}

func (d *tuition) end() error {
	d.t.Helper()
	select {
	case err := <-d.done:
		return err
	case <-time.After(patience):
		require.Fail(d.t, "it does not end")
		return nil
	}
}

// press waits until the step before is over, then lets the headset report its new state.
func (d *tuition) press(words string, state byte) {
	d.t.Helper()
	d.talk.take(d.t, words)
	d.send([]byte{7, 0, state})
	d.talk.take(d.t, "press Enter")
	_, err := io.WriteString(d.in, "\n")
	require.NoError(d.t, err)
}

func twoInterfaces() *fakeHID {
	return &fakeHID{all: []hid.Device{fakeHeadset("hidraw3", 3, volumeKeys...), fakeHeadset("hidraw4", 4, ownReport...), keyboardDevice()}}
}

func TestLearnAsks(t *testing.T) {
	t.Parallel()
	save := filepath.Join(t.TempDir(), "session.jsonl")
	d := twoInterfaces().tuition(t, "", save)
	require.NotContains(t, d.talk.take(t, "1. "), "hidraw9", "nobody reads a keyboard")
	d.enter("NOT muted")
	d.talk.take(t, "hands off")
	d.enter("everything but mute")
	for range 2 {
		d.press("IS muted", 1)
		d.press("is NOT muted", 0)
	}
	require.NoError(t, d.end())
	require.Contains(t, d.out.String(), "hid_report: {interface: 4, report_id: 0x07, value: {byte: 2, mask: 0x01}}\n")
	_, problems := catalogue.Decode("learnt.yaml", []byte(minimal+"    sources:\n"+d.out.String()))
	require.Empty(t, problems)

	s, err := readSession(t.Context(), save)
	require.NoError(t, err)
	var again bytes.Buffer
	require.NoError(t, analyse(&again, s))
	require.Equal(t, d.out.String(), again.String())

	taken := twoInterfaces().tuition(t, "hidraw4", save)
	err = taken.end()
	require.ErrorAs(t, err, new(app.InputError), "no recording is overwritten")
	require.ErrorContains(t, err, "--save "+save+": the file exists: name another one, or remove it first")
}

// TestLearnEnds ends conversations in every way but the proper one.
func TestLearnEnds(t *testing.T) {
	t.Parallel()
	early := map[string]func(d *tuition, f *fakeHID){
		"interrupted":          func(d *tuition, _ *fakeHID) { d.cancel() },
		"no more input":        func(d *tuition, _ *fakeHID) { d.in.Close() },
		"the device went away": func(_ *tuition, f *fakeHID) { f.send(hid.Event{Kind: hid.Gone, Node: "hidraw4"}) },
	}
	for want, end := range early {
		t.Run(want, func(t *testing.T) {
			save := filepath.Join(t.TempDir(), "session.jsonl")
			f := twoInterfaces()
			d := f.tuition(t, "1209:0700", save)
			d.enter("NOT muted")
			d.enter("everything but mute")
			d.press("IS muted", 1)
			d.talk.take(t, "press Enter")
			end(d, f)
			require.ErrorContains(t, d.end(), "nothing learnt: "+want)
			require.Empty(t, d.out.String())
			require.NotContains(t, d.talk.rest(), want, "it is said once")
			s, err := readSession(t.Context(), save)
			require.NoError(t, err)
			require.Equal(t, learn.MarkMuted, marks(s)[3])
		})
	}
	t.Run("before mute was pressed", func(t *testing.T) {
		save := filepath.Join(t.TempDir(), "session.jsonl")
		for range 2 { // the same command again
			d := twoInterfaces().tuition(t, "", save)
			d.enter("NOT muted")
			d.talk.take(t, "everything but mute")
			d.cancel()
			require.ErrorContains(t, d.end(), "nothing learnt: interrupted")
			require.NoFileExists(t, save)
		}
	})
	t.Run("after enough", func(t *testing.T) {
		d := twoInterfaces().tuition(t, "", "")
		d.enter("NOT muted")
		d.enter("everything but mute")
		d.press("IS muted", 1)
		d.press("is NOT muted", 0)
		d.press("IS muted", 1)
		d.talk.take(t, "is NOT muted")
		d.in.Close()
		require.NoError(t, d.end())
		require.Contains(t, d.out.String(), "mask: 0x01")
		require.Contains(t, d.talk.rest(), "\nended: no more input\n")
	})
}

func marks(s learn.Session) []learn.Mark {
	var out []learn.Mark
	for _, step := range s {
		if step.Mark != "" {
			out = append(out, step.Mark)
		}
	}
	return out
}

// TestLearnDenied: a device that can be read in part is read, and what is missing is said.
func TestLearnDenied(t *testing.T) {
	t.Parallel()
	f := twoInterfaces()
	f.denied = map[string]string{"hidraw3": "it is broken"}
	d := f.tuition(t, "hidraw3", "")
	require.Contains(t, d.talk.take(t, "Learning from"), "note: reports will be missing: hidraw3 (Acme Headset 700, 1209:0700): it is broken\n")
	d.cancel()
	require.Error(t, d.end())
	f.denied["hidraw4"] = "it is, too"
	require.ErrorContains(t, f.tuition(t, "hidraw3", "").end(), "it is broken; hidraw4 (Acme Headset 700, 1209:0700): it is, too")
}

func TestLearnUnsupported(t *testing.T) {
	t.Parallel()
	f := &fakeHID{err: fmt.Errorf("no such source: %w", errors.ErrUnsupported)}
	require.ErrorIs(t, f.tuition(t, "", "").end(), errors.ErrUnsupported)
}

func TestLearnChooses(t *testing.T) {
	t.Parallel()
	other := fakeHeadset("hidraw5", 3, ownReport...)
	other.Container = "usb:1-3"
	for name, c := range map[string]struct {
		all        []hid.Device
		name, want string // of the error; empty: none
	}{
		"nothing there":      {nil, "", "no HID device: plug in"},
		"only a keyboard":    {[]hid.Device{keyboardDevice()}, "", "0 devices look like a headset"},
		"one headset":        {twoInterfaces().all, "", ""},
		"two headsets":       {append(twoInterfaces().all, other), "", "2 devices look like a headset"},
		"two of one model":   {append(twoInterfaces().all, other), "1209:0700", "2 devices are 1209:0700: name one by a node, such as hidraw3"},
		"by node":            {append(twoInterfaces().all, other), "/dev/hidraw3", ""},
		"unknown":            {twoInterfaces().all, "1209:0701", "no HID device is 1209:0701"},
		"what is no headset": {twoInterfaces().all, "hidraw9", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var talk bytes.Buffer
			l := learner{open: (&fakeHID{all: c.all}).open, messages: &talk}
			_, err := l.choose(deadline(t), c.name)
			if c.want == "" {
				require.NoError(t, err)
				require.Empty(t, talk.String())
				return
			}
			require.ErrorContains(t, err, c.want)
			for _, d := range c.all {
				require.Contains(t, talk.String(), d.Node)
			}
			if len(c.all) > 0 {
				require.ErrorAs(t, err, new(app.InputError))
			}
		})
	}
}
