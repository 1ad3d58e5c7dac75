package scenario

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
)

var anchor = time.Now()

// at is a payload some milliseconds after the anchor, that tells of a microphone which is muted
// or open, or was refused.
func at(ms int, what string) fakeserver.Payload {
	muted := what == "muted"
	p := fakeserver.Payload{
		Time:      anchor.Add(time.Duration(ms) * time.Millisecond),
		Transport: fakeserver.HTTP,
		Devices:   []fakeserver.Device{{Type: fakeserver.AudioInput, ID: "mic", HardwareMute: &muted}},
	}
	if what == "refused" {
		p.Err = errors.New("refused")
	}
	return p
}

func told(payloads ...fakeserver.Payload) history {
	before := at(-1000, "open")
	return history{before: &before, payloads: payloads, anchor: anchor}
}

func TestJudgeExpect(t *testing.T) {
	muted := condition{HardwareMute: "true"}
	const ms = time.Millisecond
	want := expectAction{Client: "A", condition: muted, Within: 100 * ms}
	once := want
	once.Once = true
	counted := want
	counted.Payloads = &span{1, 2}
	many := expectAction{Within: 100 * ms, Payloads: &span{2, -1}}

	for name, tc := range map[string]struct {
		action   expectAction
		history  history
		cursor   int
		over     time.Duration
		decided  bool
		failed   bool
		measured time.Duration // -1: none
		until    time.Duration
		seen     string
		next     int // cursor
	}{
		"not yet":                   {want, told(), 0, 5 * ms, false, false, -1, 1100 * ms, "", 0},
		"in time":                   {want, told(at(60, "muted")), 0, 70 * ms, true, false, 60 * ms, 0, `hardware_mute true of "mic"`, 1},
		"in time, looked at late":   {want, told(at(99, "muted")), 0, time.Hour, true, false, 99 * ms, 0, `hardware_mute true of "mic"`, 1},
		"in time, to the moment":    {want, told(at(100, "muted")), 0, 200 * ms, true, false, 100 * ms, 0, `hardware_mute true of "mic"`, 1},
		"too late":                  {want, told(at(101, "muted")), 0, 102 * ms, true, true, -1, 0, `only after 101ms: hardware_mute true of "mic"`, 0},
		"not at all, still looking": {want, told(at(50, "open")), 0, 1099 * ms, false, false, -1, 1100 * ms, "", 0},
		"not at all":                {want, told(at(50, "open")), 0, 1100 * ms, true, true, -1, 0, `hardware_mute false of "mic"`, 0},
		"while the action was on":   {want, told(at(-20, "muted")), 0, 0, true, false, 0, 0, `hardware_mute true of "mic"`, 1},
		"a refused one brings none": {want, told(at(10, "refused")), 0, 2 * time.Second, true, true, -1, 0, `hardware_mute false of "mic"`, 0},
		"a refused one takes none":  {want, told(at(10, "muted"), at(20, "refused")), 2, 30 * ms, true, false, 10 * ms, 0, `hardware_mute true of "mic"`, 2},
		"since when it holds":       {want, told(at(10, "muted"), at(20, "open"), at(30, "muted"), at(40, "muted")), 4, 50 * ms, true, false, 30 * ms, 0, `hardware_mute true of "mic"`, 4},
		"gone by":                   {want, told(at(10, "muted"), at(20, "open")), 2, 50 * ms, false, false, -1, 1100 * ms, "", 2},

		"once, has to be seen":    {once, told(at(10, "muted")), 0, 20 * ms, false, false, 10 * ms, 150 * ms, "", 1},
		"once, seen":              {once, told(at(10, "muted")), 0, 150 * ms, true, false, 10 * ms, 0, `hardware_mute true of "mic"`, 1},
		"once, repeated":          {once, told(at(10, "muted"), at(20, "muted")), 0, 150 * ms, true, false, 10 * ms, 0, `hardware_mute true of "mic"`, 1},
		"once, taken back":        {once, told(at(10, "muted"), at(20, "open")), 0, 20 * ms, true, true, -1, 0, "it was taken back", 0},
		"once, came twice":        {once, told(at(10, "muted"), at(20, "open"), at(21, "muted")), 0, 30 * ms, true, true, -1, 0, "it came 2 times", 0},
		"once, too late":          {once, told(at(110, "muted")), 0, 120 * ms, true, true, -1, 0, `only after 110ms: hardware_mute true of "mic"`, 0},
		"counted, has to be seen": {counted, told(at(10, "muted")), 0, 20 * ms, false, false, 10 * ms, 150 * ms, "", 1},
		"counted, after the time": {counted, told(at(10, "muted"), at(20, "open"), at(101, "open")), 0, 150 * ms, true, false, 10 * ms, 0, `hardware_mute false of "mic"; payloads 2`, 1},
		"counted, too many":       {counted, told(at(10, "muted"), at(20, "muted"), at(30, "muted")), 0, 40 * ms, true, true, 10 * ms, 0, "payloads 3", 1},
		"at least, not yet":       {many, told(at(10, "open")), 0, 20 * ms, false, false, -1, 1100 * ms, "", 0},
		"at least":                {many, told(at(10, "open"), at(30, "refused")), 0, 30 * ms, true, false, 30 * ms, 0, "payloads 2", 0},
		"at least, one too late":  {many, told(at(10, "open"), at(101, "open")), 0, 2 * time.Second, true, true, -1, 0, "payloads 2", 0},
		"no list since the start": {want, history{anchor: anchor}, 0, 2 * time.Second, true, true, -1, 0, "nothing was reported", 0},
		"a list that is brought":  {once, history{anchor: anchor, payloads: []fakeserver.Payload{at(5, "muted")}}, 0, time.Second, true, false, 5 * ms, 0, `hardware_mute true of "mic"`, 1},
		"so before":               {want, history{before: ptr(at(-1, "muted")), anchor: anchor}, 0, 0, true, false, 0, 0, `hardware_mute true of "mic"`, 0},
		"once needs a change":     {once, history{before: ptr(at(-1, "muted")), anchor: anchor}, 0, 0, true, true, -1, 0, "it was so before the step", 0},
	} {
		t.Run(name, func(t *testing.T) {
			tc.history.cursor = tc.cursor
			v := tc.action.judge(tc.history, tc.over)
			require.Equal(t, tc.decided, v.decided)
			require.Equal(t, tc.failed, v.failed)
			require.Equal(t, tc.seen, v.seen)
			if tc.decided && !tc.failed || !tc.decided {
				require.Equal(t, tc.next, v.cursor)
				measured := time.Duration(-1)
				if v.measured != nil {
					measured = *v.measured
				}
				require.Equal(t, tc.measured, measured)
			}
			if !tc.decided {
				require.Equal(t, tc.until, v.until)
			}
		})
	}
}

func ptr(p fakeserver.Payload) *fakeserver.Payload { return &p }

func TestJudgeNever(t *testing.T) {
	const ms = time.Millisecond
	never := neverAction{Client: "A", condition: condition{HardwareMute: "true"}}
	for name, tc := range map[string]struct {
		history         history
		cursor          int
		over            time.Duration
		decided, failed bool
	}{
		"not over":          {told(), 0, 149 * ms, false, false},
		"over":              {told(at(50, "open")), 0, 150 * ms, true, false},
		"it was":            {told(at(50, "muted")), 0, 60 * ms, true, true},
		"it was, shortly":   {told(at(50, "muted"), at(51, "open")), 0, 60 * ms, true, true},
		"only afterwards":   {told(at(101, "muted")), 0, 200 * ms, true, false},
		"gone by":           {told(at(10, "muted"), at(20, "open")), 2, 200 * ms, true, false},
		"refused":           {told(at(10, "refused")), 0, 200 * ms, true, false},
		"it was so already": {history{before: ptr(at(-1, "muted")), anchor: anchor}, 0, 0, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.history.cursor = tc.cursor
			v := never.judge(tc.history, 100*ms, tc.over)
			require.Equal(t, tc.decided, v.decided)
			require.Equal(t, tc.failed, v.failed)
		})
	}
}
