package engine

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

// replay plays a recording. See NewPlayer.
func replay(recording []Record, fallback Settings, instead bool) (Replayed, error) {
	p := NewPlayer(fallback, instead)
	for i, r := range recording {
		if err := p.Play(r); err != nil {
			return Replayed{}, fmt.Errorf("record %d of the recording: %w", i+1, err)
		}
	}
	return p.Result()
}

// readRecords reads lines of JSON.
func readRecords(t testing.TB, text string) []Record {
	t.Helper()
	var all []Record
	for line := range strings.Lines(text) {
		var r Record
		require.NoError(t, json.Unmarshal([]byte(line), &r), line)
		all = append(all, r)
	}
	return all
}

const (
	byHand  = `{"t":"0s","recording":{"version":1,"sources":["audio"],"os":"linux"}}` + "\n"
	aMic    = `"id":"mic","type":"audioinput","name":"Mic","bus":"usb","vid":"1209","pid":"0700","container":"usb:1-2","mute_in_hardware":true`
	plugged = `{"t":"1s","observe":{"source":"audio","endpoints":[{` + aMic + `,"mute":false}]}}` + "\n"
	muted   = `{"t":"2s","observe":{"source":"audio","endpoints":[{` + aMic + `,"mute":true}]}}` + "\n"
	away    = `{"t":"3s","observe":{"source":"audio"}}` + "\n"
	listOf  = `{"t":"0s","list":{"devices":[{"type":"audioinput","id":"Mic","vendor":{"name":"Acme","url":"https://acme.example"},` +
		`"model":{"name":"Headset","url":"https://acme.example/headset"},"related":[],"hardware_mute":%t}]}}` + "\n"
	emptyList = `{"t":"0s","list":{"devices":[]}}` + "\n"
)

func listWith(mute bool) string { return fmt.Sprintf(listOf, mute) }

// TestByHand plays a trace as a person writes it: what is due happens by itself, and the times of
// lists do not count.
func TestByHand(t *testing.T) {
	trace := byHand + plugged + listWith(false) + muted + listWith(true) + away + emptyList + `{"t":"3.9s","tick":true}` + "\n"
	set := replaySettings(t, devices.Options{})
	out, err := replay(readRecords(t, trace), set, false)
	require.NoError(t, err)
	require.Len(t, out.Differences(), 1, "the grace is not over")
	require.Contains(t, out.Differences()[0].String(), "a list that does not come")

	out, err = replay(readRecords(t, trace+`{"t":"1m0s","tick":true}`+"\n"), set, false)
	require.NoError(t, err)
	require.Empty(t, out.Differences())
	require.Equal(t, Span(4*time.Second), out.Lists[2].T, "not when the tick came")
	require.Equal(t, Replayed{Inputs: 5, Length: Span(time.Minute), Lists: out.Lists, Recorded: out.Recorded, lastInput: Span(time.Minute)}, out)

	ended, err := replay(readRecords(t, trace+`{"t":"1m0s","end":{}}`+"\n"), set, false)
	require.NoError(t, err)
	require.Equal(t, out.Lists, ended.Lists, "an end lets time come, too")

	out, err = replay(readRecords(t, byHand+plugged+listWith(true)+muted), set, false)
	require.NoError(t, err)
	var says []string
	for _, d := range out.Differences() {
		says = append(says, strings.SplitN(d.String(), ":", 2)[0])
	}
	require.Equal(t, []string{"at 1s a list that is not in the recording"}, says, "the other is found")
	out, err = replay(readRecords(t, byHand+plugged+listWith(true)), set, false)
	require.NoError(t, err)
	require.Contains(t, out.Differences()[0].String(), "another list")
}

// TestBusyAgent: an agent that was late has done at once what was due at two moments, and the recording has one list. With a
// catalogue of one's own that is no difference.
func TestBusyAgent(t *testing.T) {
	other := strings.NewReplacer(`"mic"`, `"mic2"`, `"Mic"`, `"Mic2"`).Replace(aMic)
	both := func(lists string) string {
		return `{"t":"0s","recording":{"version":1,"sources":["audio"],"os":"linux","ticks":true}}` + "\n" + `{"t":"0s","begin":{"generation":0}}` + "\n" +
			`{"t":"1s","observe":{"source":"audio","endpoints":[{` + aMic + `,"mute":false},{` + other + `,"mute":false}]}}` + "\n" +
			`{"t":"2s","observe":{"source":"audio","endpoints":[{` + aMic + `,"mute":false}]}}` + "\n" +
			`{"t":"2.01s","observe":{"source":"audio"}}` + "\n" + `{"t":"3.02s","tick":true}` + "\n" + lists + `{"t":"9s","end":{}}` + "\n"
	}
	out, err := replay(readRecords(t, both("")), replaySettings(t, devices.Options{}), true)
	require.NoError(t, err)
	var times []Span
	for _, l := range out.Lists {
		times = append(times, l.T)
	}
	require.Equal(t, []Span{Span(time.Second), Span(3020 * time.Millisecond)}, times)
}

// TestSystemOfTrace has the replay take another system for its own.
func TestSystemOfTrace(t *testing.T) {
	set := replaySettings(t, devices.Options{})
	out, err := replay(readRecords(t, strings.Replace(byHand, "linux", "windows", 1)+plugged), set, false)
	require.NoError(t, err)
	require.Equal(t, "mic", out.Lists[0].List.Devices[0].ID, "where devices are known by their id")
	out, err = replay(readRecords(t, byHand+plugged), set, false)
	require.NoError(t, err)
	require.Equal(t, "Mic", out.Lists[0].List.Devices[0].ID)
}

func TestPlayerRefuses(t *testing.T) {
	set := replaySettings(t, devices.Options{})
	ticks := strings.Replace(byHand, `"version":1`, `"version":1,"ticks":true`, 1)
	for want, trace := range map[string]string{
		"it is empty":                     "",
		"record 1 of the recording: not":  plugged,
		"a recording of version 2":        strings.Replace(byHand, `"version":1`, `"version":2`, 1),
		"record 2 of the recording: a se": byHand + byHand,
		"its time 1s is before":           byHand + muted + plugged,
		"a record behind the end":         byHand + plugged + `{"t":"1s","end":{}}` + "\n" + muted,
		"no product \"zoo\"":              byHand + `{"t":"1s","push":{"product":"zoo","owner":"x","state":{"hardware_mute":true}}}` + "\n",
		"its beginning was complete":      ticks + plugged,
	} {
		_, err := replay(readRecords(t, trace), set, false)
		require.ErrorContains(t, err, want)
	}
	_, err := replay(readRecords(t, byHand+plugged), Settings{}, false)
	require.ErrorIs(t, err, ErrNoSettings)
}

func TestRecordRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{"t":"1s"}`:                      "not 0 of them",
		`{}`:                              "not 0 of them",
		`{"t":"1s","tick":true,"end":{}}`: "not 2 of them",
		`{"t":"1s","tock":true}`:          `unknown field "tock"`,
		`{"t":1,"tick":true}`:             "number",
		`{"t":"1","tick":true}`:           "missing unit",
		`{"t":"1s","observe":{"source":"a","endpoint":[]}}`:                                             `unknown field "endpoint"`,
		`{"t":"1s","observe":{"source":"a","endpoints":[{"id":"mic","type":"input"}]}}`:                 `unknown type of the endpoint "mic" "input": want one of [audioinput`,
		`{"t":"1s","observe":{"source":"a","endpoints":[{"id":"m","type":"audioinput","bus":"USB"}]}}`:  `unknown bus of the endpoint "m" "USB"`,
		`{"t":"1s","observe":{"source":"a","endpoints":[{"id":"m","type":"audioinput","mute":"yes"}]}}`: "want true, false or null",
		`{"t":"1s","hid":{"happening":"reported","node":"hidraw0"}}`:                                    `unknown happening "reported"`,
		`{"t":"1s","hid":{"happening":"report","node":"hidraw0","data":"0x1"}}`:                         "pairs of hex digits",
		`{"t":"1s","push":{"product":"p","owner":"o","state":{"mute":true}}}`:                           `unknown flag "mute"`,
		`{"t":"1s","configure":{"catalogue":null}}`:                                                     "settings without a catalogue",
		`{"t":"1s","configure":{"catalog":{}}}`:                                                         `unknown field "catalog"`,
		`{"t":"1s","configure":{"catalogue":{"schema":1}}}`:                                             "its catalogue:",
	} {
		var r Record
		require.ErrorContains(t, json.Unmarshal([]byte(line), &r), want, line)
	}
}

// TestCutOff cuts a recording before each of its lines. What is there is replayed without a
// difference, and it is never taken for a whole one.
func TestCutOff(t *testing.T) {
	records := readRecords(t, recorded(t))
	require.NotNil(t, records[len(records)-1].End)
	out, err := replay(records, Settings{}, false)
	require.NoError(t, err)
	require.Empty(t, out.Cut)
	require.Len(t, out.Recorded, 3)
	begin := 0
	for i, r := range records[:len(records)-1] {
		out, err := replay(records[:i+1], Settings{}, false)
		if r.Begin != nil {
			begin = i
		}
		if begin == 0 {
			require.ErrorContains(t, err, "cut off before its beginning")
			continue
		}
		require.NoError(t, err)
		require.NotEmpty(t, out.Cut)
		require.Empty(t, out.Differences(), "up to record %d", i+1)
	}
	lists := 0
	for i, r := range records {
		if r.List == nil {
			continue
		}
		lists++
		without := slices.Delete(slices.Clone(records), i, i+1)
		out, err := replay(without, Settings{}, false)
		require.NoError(t, err)
		require.Len(t, out.Differences(), 1, "a list that is missing is no cut")
		if lists < 3 {
			out, err := replay(without[:len(without)-1], Settings{}, false)
			require.NoError(t, err)
			require.Len(t, out.Differences(), 1, "nor is it behind a cut, but for the last")
		}
	}
	records[len(records)-1].End.Error = "too slow"
	out, err = replay(records, Settings{}, false)
	require.NoError(t, err)
	require.Equal(t, "too slow", out.Cut)
}

// recorded is a recording of a headset that is plugged in, muted and unplugged.
func recorded(t *testing.T) string {
	var text strings.Builder
	s := newState(Options{Settings: replaySettings(t, devices.Options{}), Sources: []string{"audio"}, Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)}, time.Unix(1e9, 0))
	tp := &recorder{ended: make(chan struct{}), write: func(r Record) {
		b, err := json.Marshal(r)
		require.NoError(t, err)
		fmt.Fprintf(&text, "%s\n", b)
	}}
	at := func(after time.Duration, f func(*state)) { s.step(time.Unix(1e9, 0).Add(after), f) }
	at(0, func(s *state) { s.startRecorder(tp, "test") })
	for _, r := range readRecords(t, plugged+muted+away) {
		at(time.Duration(r.T), func(s *state) { s.take(r.stamped(s.now)) })
	}
	at(4*time.Second, nil)
	at(5*time.Second, func(s *state) { s.endRecorder(tp) })
	return text.String()
}

// TestAlign compares with what must hold of any alignment.
func TestAlign(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	words := func() []string {
		out := make([]string, r.IntN(8))
		for i := range out {
			out[i] = string(rune('a' + r.IntN(3)))
		}
		return out
	}
	for range 2000 {
		a, b := words(), words()
		i, j, same := 0, 0, 0
		for _, p := range align(a, b) {
			require.False(t, p.Recorded < 0 && p.List < 0)
			if p.Recorded >= 0 {
				require.Equal(t, i, p.Recorded)
				i++
			}
			if p.List >= 0 {
				require.Equal(t, j, p.List)
				j++
			}
			if p.Recorded >= 0 && p.List >= 0 && a[p.Recorded] == b[p.List] {
				same++
			}
		}
		require.Equal(t, []int{len(a), len(b)}, []int{i, j}, "all of both, in order")
		require.Equal(t, longest(a, b), same, "%v %v", a, b)
	}
}

// A trace whose author miscounts the requests would prove nothing: its answers would be ignored.
func TestAnswerToWhatWasNeverAsked(t *testing.T) {
	attached := `{"t":"1s","hid":{"happening":"attached","node":"hidraw0","device":{"node":"hidraw0","bus":"usb","vid":"1209","pid":"0700","container":"usb:1-2",` +
		`"descriptor":"` + hex.EncodeToString(replayDescriptor) + `"}}}` + "\n"
	answer := func(node string, request int) string {
		return fmt.Sprintf(`{"t":"1.1s","hid":{"happening":"answer","node":%q,"request":%d,"data":"0401"}}`+"\n", node, request)
	}
	for text, want := range map[string]string{
		byHand + plugged + attached + answer("hidraw0", 1): "",
		byHand + plugged + attached + answer("hidraw0", 2): "record 4 of the recording: an answer to request 2 to hidraw0, which was never made: so far 1 to hidraw0, feature 04 was asked",
		byHand + plugged + attached + answer("hidraw1", 1): "record 4 of the recording: an answer to request 1 to hidraw1, which was never made: so far 1 to hidraw0, feature 04 was asked",
		byHand + plugged + answer("hidraw0", 1):            "record 3 of the recording: an answer to request 1 to hidraw0, which was never made: so far nothing was asked",
	} {
		if _, err := replay(readRecords(t, text), replaySettings(t, devices.Options{}), false); want != "" {
			require.EqualError(t, err, want)
		} else {
			require.NoError(t, err)
		}
	}
}

// longest is how long the longest common subsequence is, by trying them all.
func longest(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}

// FuzzReplay plays whatever there is. It must end, without a panic.
func FuzzReplay(f *testing.F) {
	f.Add(byHand + plugged + listWith(false) + muted + away + `{"t":"1m0s","tick":true}`)
	cat, err := json.Marshal(replaySettings(f, devices.Options{}))
	require.NoError(f, err)
	f.Add(`{"t":"0s","recording":{"version":1,"ticks":true,"settings":` + string(cat) + `}}
{"t":"0s","begin":{"generation":1,"uptime":"1s","hid":{"devices":[{"device":{"node":"hidraw0","vid":"1209","pid":"0700","bus":"usb","descriptor":""},"sensors":[{"product":"headset","rule":"sources[3]","value":true,"held":[true,false],"step":7}],"talking":0,"queue":[0]}]}}}
{"t":"1s","hid":{"happening":"report","node":"hidraw0","data":"0380"}}
{"t":"1s","hid":{"happening":"answer","node":"hidraw0","request":1,"data":"0401"}}
{"t":"2s","resumed":{"slept":"1h0m0s"}}
{"t":"2s","release":"x"}
{"t":"3s","end":{}}`)
	for _, step := range []string{"-5", "1", "9223372036854775807"} {
		f.Add(`{"t":"0s","recording":{"version":1,"ticks":true,"settings":` + string(cat) + `}}
{"t":"0s","begin":{"generation":1,"uptime":"1s","hid":{"devices":[{"device":{"node":"hidraw0","vid":"1209","pid":"0700","bus":"usb","descriptor":"` +
			hex.EncodeToString(replayDescriptor) + `"},"sensors":[{"product":"headset","rule":"sources[3]","value":null,"step":` + step +
			`,"until":"2000-01-01T00:00:02Z"}],"talking":0,"asked":1}]}}}
{"t":"1s","hid":{"happening":"report","node":"hidraw0","data":"0380"}}
{"t":"1s","hid":{"happening":"answer","node":"hidraw0","request":1,"data":"0401"}}
{"t":"5s","tick":true}`)
	}
	set := replaySettings(f, devices.Options{})
	f.Fuzz(func(t *testing.T, text string) {
		p := NewPlayer(set, false)
		for line := range strings.Lines(text) {
			var r Record
			if json.Unmarshal([]byte(line), &r) != nil || p.Play(r) != nil {
				return
			}
		}
		if out, err := p.Result(); err == nil {
			out.Differences()
		}
	})
}

// A catalogue that this agent would refuse, because one of its rules says nothing, was in order for the agent that recorded it.
func TestRecordingWithARuleThatSaysNothing(t *testing.T) {
	header := `{"t":"0s","recording":{"version":1,"sources":["audio"],"settings":{"catalogue":{"schema":1,` +
		`"vendor":{"id":"acme","name":"Acme","url":"https://acme.example","client_id":"123456789012345678"},` +
		`"products":[{"id":"headset","name":"Headset","url":"https://acme.example/headset","priority":1,` +
		`"links":[{"kind":"usb","vid":"1209","pids":["0700"]}],"endpoints":[{"type":"audioinput"}],` +
		`"sources":[{"field":"hardware_mute","os_endpoint_mute":{}}]}]},"os":"linux","removal_grace":"1s","stale_after":"30s"}}}` + "\n"
	out, err := replay(readRecords(t, header+plugged+muted+`{"t":"1m0s","tick":true}`+"\n"), Settings{}, false)
	require.NoError(t, err)
	require.Len(t, out.Lists, 1, "nobody knows who has muted it")
	require.Nil(t, out.Lists[0].List.Devices[0].HardwareMute)
}
