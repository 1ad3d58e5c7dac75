//go:build linux

package main

import "time"

// lateness is how long after it could have each list arrived that changed the client's state.
func lateness(lists []taken, presses []press, refill time.Duration) sample {
	var late sample
	for i, free := range tokensFree(lists, refill) {
		if i > 0 && lists[i].mute != lists[i-1].mute {
			late = append(late, lists[i].arrived.Sub(dueTime(lists[i], free, presses)))
		}
	}
	return late
}

// dueTime is when a list could have been sent: there was a token for it, and its state had begun
// and did not end again at once.
func dueTime(l taken, free time.Time, presses []press) time.Time {
	for i, p := range presses {
		since := p.begin
		if since.Before(free) {
			since = free
		}
		if since.After(l.arrived) {
			break
		}
		if p.mute == l.mute && (i+1 == len(presses) || presses[i+1].begin.Sub(since) >= current) {
			return since
		}
	}
	return free
}

// tokensFree is when, for each list, the client had a token after those before it; zero when
// it had one from the start. The bucket is full at first.
func tokensFree(lists []taken, refill time.Duration) []time.Time {
	free := make([]time.Time, len(lists))
	var full time.Time // when the bucket will be full again
	for i, l := range lists {
		if i > 0 {
			free[i] = full.Add(-(bucketSize - 1) * refill)
		}
		if full.Before(l.arrived) {
			full = l.arrived
		}
		full = full.Add(refill)
	}
	return free
}

// outdated counts the lists whose state had been over for long when the client took them.
// Before the first press the microphone was open.
func outdated(lists []taken, presses []press) int {
	n := 0
	for _, l := range lists {
		if !held(l, presses) {
			n++
		}
	}
	return n
}

// held reports whether the state of a list can have been true shortly before it was taken.
func held(l taken, presses []press) bool {
	since, mute := time.Time{}, false
	for _, p := range presses {
		if mute == l.mute && !since.After(l.at) && !p.end.Before(l.at.Add(-current)) {
			return true
		}
		since, mute = p.begin, p.mute
	}
	return mute == l.mute && !since.After(l.at)
}
