package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/timeline"
)

// FuzzTimeline: whatever a timeline says, as that of another version, of a hostile recording, or of a clock that ran wild, the page is
// whole, and what is drawn is in its place.
func FuzzTimeline(f *testing.F) {
	for seed := range uint64(32) {
		f.Add(seed, int64(seed)*int64(time.Minute), int16(seed*37), "Acme {client} <b>")
	}
	f.Add(uint64(1), int64(math.MaxInt64), int16(math.MinInt16), "")
	f.Fuzz(func(t *testing.T, seed uint64, now int64, zone int16, name string) {
		r := arbitrary{rand.New(rand.NewPCG(seed, 0)), name}
		at := time.Unix(0, now).In(time.FixedZone("", int(zone%(14*60))*60))
		page := english(Input{Now: at, Timeline: r.timeline(at)})
		checkElements(t, page.HTML())
		checkChart(t, page.HTML())
		require.LessOrEqual(t, len(page.Timeline.Ticks), 9)
		require.LessOrEqual(t, len(page.Timeline.Rows), maxRows)
		require.True(t, slices.IsSortedFunc(page.Timeline.Rows, func(a, b Row) int { return b.Time.At.Compare(a.Time.At) }))
	})
}

// checkChart requires that all that is drawn in percent is within its lane.
func checkChart(t *testing.T, page []byte) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(string(page)))
	require.NoError(t, err)
	for n := range doc.Descendants() {
		right := 0.0
		for _, a := range n.Attr {
			if number, is := strings.CutSuffix(a.Val, "%"); is && (a.Key == "x" || a.Key == "width" && n.Data == "rect") {
				v, err := strconv.ParseFloat(number, 64)
				require.NoError(t, err, a.Val)
				require.GreaterOrEqual(t, v, 0.0)
				right += v
			}
		}
		require.LessOrEqual(t, right, 100.01, "%v", n.Attr)
	}
}

// arbitrary makes timelines in which nothing can be relied on.
type arbitrary struct {
	*rand.Rand
	name string
}

func pick[T any](r arbitrary, from ...T) T { return from[r.IntN(len(from))] }

// time is one near to now, far from it, or none.
func (r arbitrary) time(now time.Time) time.Time {
	switch r.IntN(12) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(r.Int64N(1<<38)-1<<37, 0)
	case 2:
		return now
	default:
		return now.Add(time.Duration(r.Int64N(int64(60*time.Hour))) - 50*time.Hour)
	}
}

func (r arbitrary) timeline(now time.Time) (t timeline.Timeline) {
	values := []string{
		timeline.True, timeline.False, timeline.Unknown, timeline.Present, timeline.Absent, timeline.Gone, timeline.Ended, timeline.Started,
		timeline.Resumed, timeline.ClockSet, "ready", "warning", "", r.name,
	}
	t = timeline.Timeline{From: r.time(now), To: r.time(now), Omitted: r.IntN(2) == 0}
	for range r.IntN(12) {
		l := timeline.Lane{AtStart: pick(r, values...), Subject: timeline.Subject{
			Kind:   pick(r, timeline.KindAgent, timeline.KindProduct, timeline.KindFlag, timeline.KindClient, timeline.KindListed, timeline.KindAcknowledged, timeline.KindCondition, "x"),
			Client: pick(r, "", r.name), Product: pick(r, "", r.name), Name: pick(r, "", r.name), Number: r.IntN(4) - 1, Device: pick(r, "", r.name),
			Flag: pick(r, append([]devices.Field{devices.Field(r.name)}, devices.Fields...)...),
		}}
		if r.IntN(2) == 0 {
			l.Condition = &health.Condition{Code: pick(r, health.SourceUnreadable, health.Code(r.name)), Severity: pick(r, health.Problem, health.Severity(r.name))}
		}
		for range r.IntN(1 << r.IntN(8)) {
			c := timeline.Change{At: r.time(now), From: pick(r, values...), To: pick(r, values...), Detail: pick(r, "", r.name)}
			if r.IntN(4) == 0 {
				c.Count, c.Until = r.IntN(1000)-2, r.time(now)
				c.Origin = &devices.Origin{Via: r.name, Detail: r.name}
			}
			l.Changes = append(l.Changes, c)
		}
		t.Lanes = append(t.Lanes, l)
	}
	return t
}
