package power

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bed is a machine that sleeps; asleep and awake are what its clocks have counted.
type bed struct {
	asleep, awake time.Duration
	start         time.Time
	woke          []time.Duration // what was reported, on the clock that counts what it was awake
	*wakeDetector
}

func newBed() *bed {
	b := &bed{asleep: 5 * time.Hour, awake: 100 * time.Hour, start: time.Now()}
	b.wakeDetector = newWakeDetector(clocks{
		boot:      func() time.Duration { return b.asleep + b.awake },
		monotonic: func() time.Duration { return b.awake },
		now:       func() time.Time { return b.start.Add(b.awake) },
	}, func(woke time.Time) { b.woke = append(b.woke, woke.Sub(b.start)) })
	return b
}

func (b *bed) sleep(d time.Duration) {
	b.awake += frozenMin / 2 // devices are stopped
	b.asleep += d
	b.awake += frozenMin / 2 // and started
}

func TestAWakeIsToldOnce(t *testing.T) {
	const noticed, said = 3 * time.Millisecond, 400 * time.Millisecond // after the sleep
	steps := map[string]func(*bed){
		"clock alone":      func(b *bed) { b.awake += noticed; b.onClockSet() },
		"clock, then word": func(b *bed) { b.awake += noticed; b.onClockSet(); b.awake += said; b.onResumeReported() },
		"word, then clock": func(b *bed) { b.awake += noticed; b.onResumeReported(); b.awake += said; b.onClockSet() },
		"clock twice":      func(b *bed) { b.awake += noticed; b.onClockSet(); b.onClockSet() },
		"clock of another": func(b *bed) { b.awake += noticed; b.onClockSet(); b.awake += 2 * sameWake; b.onClockSet() },
	}
	for name, notice := range steps {
		b := newBed()
		var want []time.Duration
		for range 3 {
			before := b.awake
			b.sleep(time.Hour)
			want = append(want, b.awake+noticed-frozenMin)
			require.Greater(t, want[len(want)-1], before, "not from before the sleep")
			notice(b)
			require.Equal(t, want, b.woke, name)
		}
	}
}

func TestAClockThatWasSetIsNoWake(t *testing.T) {
	b := newBed()
	b.onClockSet() // the wall clock jumps, the others do not
	b.awake += time.Second
	b.onClockSet()
	require.Empty(t, b.woke)
	b.sleep(time.Second)
	b.onClockSet()
	require.Len(t, b.woke, 1)
	b.onClockSet()
	require.Len(t, b.woke, 1)
}

// A board without a battery has no clock that runs while it sleeps.
func TestLogindAloneTellsOfAWake(t *testing.T) {
	b := newBed()
	for range 2 {
		b.sleep(0)
		b.onResumeReported()
	}
	require.Len(t, b.woke, 2)
	require.Equal(t, b.awake, b.woke[1])
}

// Where no logind speaks of sleep, what it says much later concerns another one.
func TestLogindSpeaksOfAnotherWake(t *testing.T) {
	b := newBed()
	b.sleep(time.Hour)
	b.onClockSet()
	b.awake += sameWake
	b.onResumeReported()
	require.Len(t, b.woke, 2)
}

// The scheduler may come between the reading of two clocks.
func TestAPauseBetweenTwoClocksIsNoSleep(t *testing.T) {
	b := newBed()
	boot, reads := b.clocks.boot, 0
	b.clocks.boot = func() time.Duration {
		reads++
		if reads%3 != 2 {
			b.awake += 3 * sleepMin
		}
		return boot()
	}
	b.onClockSet()
	require.Empty(t, b.woke)
}
