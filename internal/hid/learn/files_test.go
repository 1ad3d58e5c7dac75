package learn_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
	"sidetone/internal/hid/learn"
	"sidetone/internal/testlab"
)

// TestLearnFiles learns from recordings. What they teach stands in the file beside it: the rules, best first, each with what to verify,
// then the notes.
func TestLearnFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, err := os.ReadFile(strings.TrimSuffix(path, ".jsonl") + ".want")
			l := infer(t, readFile(t, path))
			var lines []string
			for i, rule := range printed(l) {
				lines = append(append(lines, rule), l.Proposals[i].Doubts...)
			}
			lines = append(lines, l.Notes...)
			require.NoError(t, err)
			require.Equal(t, string(want), strings.Join(lines, "\n")+"\n")
		})
	}
}

// TestNoOtherMessageIsTakenForMute plays each recording to the rules that are learnt from it and then, in both states, every report that
// is none of mute, with each bit of the byte that has the state turned over. None of them may show a state that the device has not told.
func TestNoOtherMessageIsTakenForMute(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl"))
	require.NoError(t, err)
	foreign := 0
	for _, path := range files {
		s := readFile(t, path)
		for _, p := range infer(t, s).Proposals {
			if r := p.Rule.HIDReport; r != nil && r.Value != nil && r.Kind == "" {
				foreign += requireDeaf(t, s, p, filepath.Base(path))
			}
		}
	}
	require.Greater(t, foreign, 20)
}

// requireDeaf returns how many reports of the session are none of mute by the rule of a level.
func requireDeaf(t *testing.T, s learn.Session, p learn.Proposal, what string) (foreign int) {
	t.Helper()
	rule := p.Rule.HIDReport
	rules := catalogue.HIDRules(requirePastable(t, p), devices.Linux)
	isMute := func(data []byte) bool {
		for _, test := range append(slices.Clone(rule.When), rule.Value.Valid...) {
			if test.Byte >= len(data) || data[test.Byte] != byte(*test.Eq) {
				return false
			}
		}
		return rule.ReportID == nil || data[0] == byte(*rule.ReportID)
	}
	told := make(map[devices.Tri]hid.Event) // a report of either state
	for _, step := range s {
		if e := step.Event; step.Mark == "" && e.Kind == hid.Report && isMute(e.Data) {
			told[stateAfter(rules, s, e)] = e
		}
	}
	for _, step := range s {
		e := step.Event
		if step.Mark != "" || e.Kind != hid.Report || isMute(e.Data) || rule.Value.Byte >= len(e.Data) {
			continue
		}
		foreign++
		for _, before := range []devices.Tri{devices.True, devices.False} {
			for bit := range 9 { // the last one turns none over
				e.Data = slices.Clone(step.Data)
				e.Data[rule.Value.Byte] ^= byte(1 << bit)
				after := stateAfter(rules, s, told[before], e)
				require.True(t, after == before || after == devices.Unknown, "%s: %s: % x after %v: %v", what, p.YAML(), e.Data, before, after)
			}
		}
	}
	return foreign
}

// stateAfter returns the state that the rules give to some reports of the devices of a session.
func stateAfter(rules *hid.Rules, s learn.Session, reports ...hid.Event) devices.Tri {
	tr := hid.NewTracker(rules)
	for _, step := range s {
		if step.Mark == "" && step.Kind == hid.Attached {
			tr.Apply(step.Event, step.At)
		}
	}
	for _, e := range reports {
		tr.Apply(e, e.At)
	}
	for _, reading := range tr.Readings() {
		if reading.Value.Known() {
			return reading.Value
		}
	}
	return devices.Unknown
}

func readFile(t testing.TB, path string) learn.Session {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := learn.ReadSession(bytes.NewReader(data))
	require.NoError(t, err)
	return s
}

// inventor makes up headsets.
type inventor struct{ *rand.Rand }

func (r inventor) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// session is of a headset that sends its mute in a way that is made up, among noise of all kinds.
func (r inventor) session() (s learn.Session, how string) {
	st := newStudio(headset("hidraw0", 3, vendorReports(1, 2, 3)))
	at, mask := 1+r.IntN(4), byte(1)<<r.IntN(8)
	invert, steady, n := r.IntN(2) == 0, r.bytes(6), 0
	noisy := r.IntN(3)
	how = []string{"level", "toggle", "nothing"}[r.IntN(3)]
	send := func(id byte, on bool) {
		n++
		b := append([]byte{id}, steady...)
		b[at] &^= mask
		if on != invert {
			b[at] |= mask
		}
		if noisy > 0 {
			b[5] = byte(n)
		}
		if noisy > 1 {
			b[6] = byte(r.Uint32())
		}
		st.sends("hidraw0", b)
	}
	noise := func() {
		for range r.IntN(4) {
			st.sends("hidraw0", append([]byte{2}, r.bytes(4)...))
		}
	}
	press := func(muted bool) {
		noise()
		switch how {
		case "level":
			for range r.IntN(3) {
				send(1, !muted)
			}
			for range 1 + r.IntN(3) {
				send(1, muted)
			}
		case "toggle":
			send(1, true)
			send(1, false)
		}
		noise()
	}
	idle := func(muted bool) {
		for range r.IntN(3) {
			noise()
			if how == "level" {
				send(1, muted)
			}
		}
	}
	st.act(3+r.IntN(8), press, idle, idle)
	return st.session, how
}

// TestLearnInvented requires that what is learnt from headsets that are made up always stands the
// independent check, and that what they send is mostly found.
func TestLearnInvented(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	anchored := 0
	found := map[string]int{}
	for seed := range uint64(300) {
		s, how := inventor{rand.New(rand.NewPCG(seed, 1))}.session()
		l := infer(t, s)
		if len(l.Proposals) > 0 {
			found[how]++
		}
		for _, p := range l.Proposals {
			requireRight(t, s, p, fmt.Sprintf("seed %d, %s", seed, how))
			if a := p.Rule.HIDReport.Anchor; a != nil && a.HIDReport != nil {
				anchored++
			}
		}
		if how != "nothing" {
			require.NotEmpty(t, l.Proposals, "seed %d, %s", seed, how)
		}
	}
	require.Zero(t, found["nothing"], "of noise")
	require.Zero(t, anchored, "by noise")
}

// requireRight runs a printed rule over the session, as an agent would whose headset is plugged in
// unmuted at the first mark, and compares its state with each mark.
func requireRight(t *testing.T, s learn.Session, p learn.Proposal, what string) {
	t.Helper()
	tr := hid.NewTracker(catalogue.HIDRules(requirePastable(t, p), devices.Linux))
	toggle := p.Rule.HIDReport != nil && p.Rule.HIDReport.Anchor != nil
	var muted, marked, told bool
	for _, step := range s {
		switch e := step.Event; {
		case step.Mark == "" && e.Kind == hid.Attached:
			e.Plugged = toggle
			tr.Apply(e, e.At)
		case step.Mark == "" && (marked || !toggle):
			tr.Apply(e, e.At)
		case step.Mark == learn.MarkMuted || step.Mark == learn.MarkUnmuted:
			muted, marked = step.Mark == learn.MarkMuted, true
		}
		if step.Mark == "" || !marked {
			continue
		}
		for _, reading := range tr.Readings() {
			told = told || reading.Value.Known()
			if told || muted {
				require.Equal(t, devices.Of(muted), reading.Value, "%s: %s", what, p.YAML())
			}
		}
	}
	require.True(t, told, what)
}

// FuzzLearn learns from whatever a file may hold.
func FuzzLearn(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "sessions", "*.jsonl"))
	require.NoError(f, err)
	for _, path := range files {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := learn.ReadSession(bytes.NewReader(data))
		if err != nil {
			return
		}
		l, err := learn.Infer(s)
		if err != nil {
			return
		}
		for _, p := range l.Proposals {
			requirePastable(t, p)
			require.True(t, p.Right >= 3 || p.Marks == 0)
		}
	})
}

// FuzzLearnReports learns from whatever a device may declare and send.
func FuzzLearnReports(f *testing.F) {
	f.Add(vendorReports(0), []byte("\x00\x02\x05\x01\x00\x02\x05\x00\x00\x02\x05\x01\x00\x02\x05\x00\x00"))
	f.Add(phoneMute(0x06, 1, 0), []byte("\x00\x01\x02\x01\x01\x02\x01\x00\x00\x02\x01\x01\x02\x01\x00\x00\x02\x01\x01\x02\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, descriptor, script []byte) {
		s := newStudio(headset("hidraw0", 3, descriptor))
		muted := false
		for len(script) > 0 {
			op := script[0]
			script = script[1:]
			switch op {
			case 0:
				s.mark(map[bool]learn.Mark{true: learn.MarkMuted, false: learn.MarkUnmuted}[muted])
				muted = !muted
			case 1:
				s.mark(learn.MarkHandsOff)
			default:
				n := min(int(op), len(script))
				s.sends("hidraw0", script[:n])
				script = script[n:]
			}
		}
		l, err := learn.Infer(s.session)
		if err != nil {
			return
		}
		for _, p := range l.Proposals {
			requirePastable(t, p)
			require.True(t, p.Right >= 3 || p.Marks == 0)
			require.LessOrEqual(t, p.Right, p.Marks)
		}
	})
}

// TestLearnSpeed is no measurement: a session of an hour of a chatty device must come to an end
// while somebody waits for it.
func TestLearnSpeed(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	s := newStudio(headset("hidraw0", 3, vendorReports(1)))
	r := inventor{rand.New(rand.NewPCG(1, 1))}
	s.act(6, func(bool) {
		for range 1000 {
			b := append([]byte{1}, r.bytes(15)...)
			for i := 1; i < 8; i++ {
				b[i] %= 8
			}
			s.sends("hidraw0", b)
		}
	}, nil, nil)
	done := make(chan learn.Result, 1)
	go func() { l, _ := learn.Infer(s.session); done <- l }()
	select {
	case l := <-done:
		require.Empty(t, l.Proposals)
	case <-time.After(time.Minute):
		t.Fatal("it takes too long")
	}
}
