package timeline

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/testlab"
)

// desk is a ring and the clock that it goes by.
type desk struct {
	*Ring
	zero    time.Time
	elapsed time.Duration
	step    time.Duration // by which the wall clock was set
}

func newDesk(limit int) *desk {
	d := &desk{zero: time.Now(), elapsed: time.Hour}
	d.Ring = newRing(Clock{Now: d.now, Elapsed: func() time.Duration { return d.elapsed }}, "1.4.0", limit)
	return d
}

// now has a monotonic reading, as that of the system, unless the clock was set.
func (d *desk) now() time.Time {
	if d.step != 0 {
		return d.zero.Round(0).Add(d.elapsed + d.step)
	}
	return d.zero.Add(d.elapsed)
}

func (d *desk) pass(t time.Duration) { d.elapsed += t }

func flags(mute devices.Tri) map[devices.Field]devices.Flag {
	return map[devices.Field]devices.Flag{
		devices.HardwareMute: {Value: mute, Origin: devices.Origin{Via: devices.ViaHIDReport, Detail: "hidraw3"}}, devices.NoiseSuppression: {},
	}
}

func mic(unit, name string, mute devices.Tri) devices.Report {
	return devices.Report{
		Device:  devices.Device{Type: devices.AudioInput, ID: "mic-" + unit, Model: devices.Company{Name: name}},
		Product: "acme-700", Unit: unit, Flags: flags(mute),
	}
}

func list(reports ...devices.Report) devices.Snapshot { return devices.Snapshot{Devices: reports} }

// changes are those of the lanes of a kind, each as "from>to" with its count.
func (d *desk) changes(kind Kind, flag devices.Field) (all []string) {
	for _, l := range d.Timeline().Lanes {
		if l.Kind != kind || l.Flag != flag {
			continue
		}
		var line []string
		for _, c := range l.Changes {
			text := c.To
			if c.Count > 1 {
				text += fmt.Sprintf("*%d", c.Count)
			}
			line = append(line, text)
		}
		who := l.Client
		if l.Number > 0 {
			who += fmt.Sprintf("#%d", l.Number)
		}
		all = append(all, strings.TrimSpace(who+" "+l.AtStart+">"+strings.Join(line, ">")))
	}
	return all
}

func TestNotesWhatDiffers(t *testing.T) {
	d := newDesk(Limit)
	at := d.now()
	d.pass(time.Second)
	s := list(mic("u1", "Acme 700", devices.False))
	s.At = at
	d.Snapshot(s)
	d.Snapshot(s)
	d.pass(time.Second)
	d.Snapshot(list(mic("u1", "Acme 700", devices.True)))
	d.pass(time.Second)
	d.Snapshot(list())

	require.Equal(t, []string{">present>absent"}, d.changes(KindProduct, ""))
	require.Equal(t, []string{">false>true>absent"}, d.changes(KindFlag, devices.HardwareMute))
	require.Equal(t, []string{">unknown>absent"}, d.changes(KindFlag, devices.NoiseSuppression))
	tl := d.Timeline()
	mute := tl.Lanes[2]
	require.Equal(t, Subject{Kind: KindFlag, Product: "acme-700", Name: "Acme 700", Device: "mic-u1", Flag: devices.HardwareMute}, mute.Subject)
	require.Equal(t, Change{
		At: tl.To.Add(-3 * time.Second), To: False, Origin: &devices.Origin{Via: devices.ViaHIDReport, Detail: "hidraw3"},
	}, mute.Changes[0], "when the event came, not when it was told")
	require.Equal(t, tl.To.Add(-time.Second), mute.Changes[1].At)
	require.Equal(t, []string{">started"}, d.changes(KindAgent, ""))
	require.Equal(t, "1.4.0", tl.Lanes[0].Changes[0].Detail)
}

func TestReplugGoesOnInTheSameLane(t *testing.T) {
	d := newDesk(Limit)
	d.Snapshot(list(mic("u1", "Acme 700", devices.False)))
	d.Snapshot(list())
	d.Snapshot(list(mic("u2", "Acme 700", devices.False))) // at another port
	require.Equal(t, []string{">present>absent>present"}, d.changes(KindProduct, ""))
	d.Snapshot(list(mic("u3", "Acme 700", devices.False))) // at another one, at once
	require.Equal(t, []string{">present>absent>present"}, d.changes(KindProduct, ""))
	d.Snapshot(list(mic("u4", "Acme 700", devices.False), mic("u3", "Acme 700", devices.True)))
	require.Equal(t, []string{">present>absent>present", "#2 >present"}, d.changes(KindProduct, ""))
}

func TestClients(t *testing.T) {
	d := newDesk(Limit)
	muted, stable, ptb := list(mic("u1", "Acme 700", devices.True)), Client{ID: "1", Name: "Discord"}, Client{ID: "2", Name: "Discord"}
	see := func(all ...Client) { d.Clients(func() []Client { return all }) }
	with := func(c Client, state string) Client {
		c.State, c.Via, c.Holds = state, "ipc", state == "ready"
		return c
	}
	see(with(stable, "connecting"))
	d.Acknowledged(stable, muted)
	see(with(stable, "ready"), with(ptb, "ready"))
	d.Acknowledged(ptb, muted)
	d.Acknowledged(ptb, list())
	stable.ID = "3"
	see(with(stable, "connecting"), with(ptb, "refused"))
	d.Acknowledged(stable, list(mic("u1", "Acme 700", devices.False)))
	see(with(stable, "ready"), with(ptb, "refused"))

	require.Equal(t, []string{"Discord >connecting>ready>connecting>ready", "Discord (2) >ready>refused"}, d.changes(KindClient, ""))
	require.Equal(t, []string{"Discord >true>unknown>false", "Discord (2) >true>absent>unknown"}, d.changes(KindAcknowledged, devices.HardwareMute))
	require.Equal(t, []string{"Discord >present>unknown>present", "Discord (2) >present>absent>unknown"}, d.changes(KindListed, ""))
}

func TestConditions(t *testing.T) {
	d := newDesk(Limit)
	bad := health.Condition{Code: health.SourceUnreadable, Severity: health.Problem, Subject: "camera", Args: health.Args{"reason": "a"}}
	d.Conditions([]health.Condition{bad})
	bad.Args = health.Args{"reason": "b"}
	d.Conditions([]health.Condition{bad})
	d.Conditions(nil)
	require.Equal(t, []string{">problem>ended"}, d.changes(KindCondition, ""))
	lanes := d.Timeline().Lanes
	require.Equal(t, &bad, lanes[len(lanes)-1].Condition, "as it was last")
}

func TestStormIsOneChange(t *testing.T) {
	d := newDesk(Limit)
	for i := range 1001 {
		d.pass(10 * time.Millisecond)
		d.Snapshot(list(mic("u1", "Acme 700", devices.Of(i%2 == 0))))
	}
	got := d.changes(KindFlag, devices.HardwareMute)
	require.Len(t, got, 1)
	require.Equal(t, burst, strings.Count(got[0], ">"))
	require.True(t, strings.HasSuffix(got[0], fmt.Sprintf(">true*%d", 1001-burst+1)), got[0])
	tl := d.Timeline()
	last := tl.Lanes[2].Changes[burst-1]
	require.Equal(t, tl.To, last.Until)
	require.Equal(t, True, last.From)

	d.pass(10 * time.Minute)
	d.Snapshot(list(mic("u1", "Acme 700", devices.False)))
	require.True(t, strings.HasSuffix(d.changes(KindFlag, devices.HardwareMute)[0], ">false"), "alone again")
}

// crowd is 40 products with names of 300 characters.
func crowd(mute func(i int) devices.Tri) (s devices.Snapshot) {
	for i := range 40 {
		r := mic(fmt.Sprintf("u%d", i), fmt.Sprintf("%03d", i)+strings.Repeat("語", 297), mute(i))
		r.Product, r.ID = fmt.Sprintf("acme-%d", i), fmt.Sprintf("%03d", i)+strings.Repeat("x", 297)
		s.Devices = append(s.Devices, r)
	}
	return s
}

// heap is what the program holds.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAnHourOfTogglingPushesNoDayAway(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	before := heap()
	d := newDesk(Limit)
	clients := []Client{{ID: "1", Name: "Discord", State: "ready", Holds: true}, {ID: "2", Name: "Discord PTB", State: "ready", Holds: true}}
	report := func(s devices.Snapshot) {
		d.Snapshot(s)
		for _, c := range clients {
			d.Acknowledged(c, s)
		}
	}
	d.Clients(func() []Client { return clients })
	quiet := func(int) devices.Tri { return devices.False }
	report(crowd(quiet))
	for i := range 24 { // a day with a mute each hour
		d.pass(time.Hour)
		report(crowd(func(n int) devices.Tri { return devices.Of(n == 0 && i%2 == 0) }))
	}
	for i := range 720 { // then all of them, all the time for an hour
		d.pass(5 * time.Second)
		report(crowd(func(int) devices.Tri { return devices.Of(i%2 == 0) }))
	}
	took := heap() - before
	require.Less(t, took, 1<<20)
	tl := d.Timeline()
	require.Equal(t, 25*time.Hour, tl.To.Sub(tl.From))
	require.False(t, tl.Omitted)
	text, err := json.Marshal(tl)
	require.NoError(t, err)
	t.Logf("%d bytes held, %d counted, %d as JSON", took, d.store.size(), len(text))
	runtime.KeepAlive(d)
}

func TestBoundHolds(t *testing.T) {
	if testlab.RanUnraced(t) { // one goroutine: the race detector only slows it down
		return
	}
	before := heap()
	d := newDesk(Limit)
	for i := range 1000 { // clients and devices that are never the same again, and conditions that differ
		d.pass(10 * time.Minute)
		name := fmt.Sprint(i, strings.Repeat("n", 300))
		c := Client{ID: name, Name: name, State: "ready", Holds: true}
		d.Clients(func() []Client { return []Client{c} })
		r := mic(name, name, devices.Of(i%2 == 0))
		r.Product = name
		d.Snapshot(list(r))
		d.Acknowledged(c, list(r))
		d.Conditions([]health.Condition{{Code: health.SourceRemark, Severity: health.Warning, Subject: name, Args: health.Args{"reason": name}}})
		require.LessOrEqual(t, d.store.size(), Limit)
	}
	require.Less(t, heap()-before, 1<<20)
	tl := d.Timeline()
	require.False(t, tl.Omitted)
	require.Greater(t, tl.To.Sub(tl.From), 10*time.Minute)
	for _, l := range tl.Lanes {
		for i, c := range l.Changes {
			require.False(t, c.At.Before(tl.From), "since then nothing is missing")
			if i > 0 {
				require.Equal(t, l.Changes[i-1].To, c.From)
			}
		}
	}
	runtime.KeepAlive(d)
}

// TestTooMuchAtOnce: what is there and does not fit is left out, and that is said.
func TestTooMuchAtOnce(t *testing.T) {
	d := newDesk(64 << 10)
	var s devices.Snapshot
	for i := range 1000 {
		s.Devices = append(s.Devices, mic(fmt.Sprint(i), "Acme 700", devices.True))
	}
	d.Snapshot(s)
	require.True(t, d.Timeline().Omitted)
	require.LessOrEqual(t, d.store.size(), 64<<10)
}

func TestClockStepDoesNotReorder(t *testing.T) {
	d := newDesk(Limit)
	d.Snapshot(list(mic("u1", "Acme 700", devices.False)))
	d.pass(time.Minute)
	d.step = -3 * time.Hour
	d.Snapshot(list(mic("u1", "Acme 700", devices.True)))
	d.pass(time.Minute)
	tl := d.Timeline()
	mute := tl.Lanes[2].Changes
	require.Equal(t, d.now().Truncate(time.Microsecond), tl.To)
	require.Equal(t, tl.To.Add(-2*time.Minute), mute[0].At)
	require.Equal(t, tl.To.Add(-time.Minute), mute[1].At)
	require.Equal(t, []string{">started>clock_set"}, d.changes(KindAgent, ""))
	require.Equal(t, "-3h0m0s", tl.Lanes[0].Changes[1].Detail)
}

func TestSleepCounts(t *testing.T) {
	d := newDesk(Limit)
	asleep := d.now()
	d.clock.Now = func() time.Time { return asleep } // the monotonic clock stands still in a sleep
	d.pass(8 * time.Hour)
	d.Resumed()
	agent := d.Timeline().Lanes[0].Changes
	require.Equal(t, Resumed, agent[len(agent)-1].To)
	require.Equal(t, "8h0m0s", agent[len(agent)-1].Detail)
}

func TestNothingNewCostsNothing(t *testing.T) {
	d := newDesk(Limit)
	s, c := crowd(func(int) devices.Tri { return devices.True }), Client{ID: "1", Name: "Discord", State: "ready", Holds: true}
	conditions, clients := []health.Condition{{Code: health.SourceRemark, Severity: health.Warning, Subject: "audio"}}, []Client{c}
	again := func() {
		d.Snapshot(s)
		d.Acknowledged(c, s)
		d.Clients(func() []Client { return clients })
		d.Conditions(conditions)
	}
	again()
	require.Zero(t, testing.AllocsPerRun(100, again))
}

func BenchmarkSnapshot(b *testing.B) {
	d := newDesk(Limit)
	for _, n := range []int{1, 40} {
		s := crowd(func(int) devices.Tri { return devices.True })
		s.Devices = s.Devices[:n]
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				d.Snapshot(s)
			}
		})
	}
}

// TestReadersWaitInLine: the Engine tells the ring of each change, and waits for a reading or two, however many programs read.
func TestReadersWaitInLine(t *testing.T) {
	d := newDesk(Limit)
	for n := range 200 { // a ring, whose reading takes a while
		d.pass(2 * refill)
		var s devices.Snapshot
		for unit := range 20 {
			s.Devices = append(s.Devices, mic(fmt.Sprint(unit), "Acme 700", devices.Of(n%2 == 0)))
		}
		d.Snapshot(s)
	}
	var read atomic.Int64
	var readers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range 32 {
		readers.Go(func() {
			for ctx.Err() == nil {
				d.Timeline()
				read.Add(1)
			}
		})
	}
	var waited []int64
	for range 11 {
		before := read.Load()
		d.Clients(func() []Client { return nil })
		waited = append(waited, read.Load()-before)
		for before = read.Load(); read.Load() < before+2; {
			runtime.Gosched()
		}
	}
	stop()
	readers.Wait()
	slices.Sort(waited)
	t.Log(waited)
	require.Less(t, waited[len(waited)/2], int64(12), "most of the time: now and then the processor is given to readers before the ring is asked")
}
