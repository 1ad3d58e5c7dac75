package engine

import (
	"slices"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// source is what the Engine remembers of one platform source.
type source struct {
	name      string
	answered  bool // has given a reading or an error
	succeeded bool // has given a reading
	endpoints []devices.Endpoint
	hardware  []devices.Hardware              // of the last good reading
	leaving   map[devices.Key]leavingEndpoint // gone and still reported
	err       error
	failedAt  time.Time // zero while it works
	notes     []health.Condition
}

// leavingEndpoint is when an endpoint disappeared, and until when it is reported nevertheless.
type leavingEndpoint struct{ goneAt, shownUntil time.Time }

// replace applies a full reading. Endpoints that it no longer lists stay for the grace
// period, with their last state, but never beside the list of another enumerator, which has other names for the same devices.
func (src *source) replace(o devices.Observation, now time.Time, grace time.Duration) {
	old := src.endpoints
	next := devices.Carry(old, o.Endpoints, o.At)
	present, leaving := next, make(map[devices.Key]leavingEndpoint)
	for _, e := range old {
		k := e.Key()
		if devices.Contains(present, k) || replaced(e, present) {
			continue
		}
		d, ok := src.leaving[k]
		if !ok {
			d = leavingEndpoint{o.At, now.Add(grace)}
		}
		leaving[k] = d
		e.Leaving = true
		next = append(next, e)
	}
	src.endpoints, src.leaving, src.hardware = next, leaving, o.Hardware
	src.answered, src.succeeded = true, true
	src.err, src.failedAt, src.notes = nil, time.Time{}, o.Notes
}

// replaced reports whether the list now comes from enumerators of which none has listed e.
func replaced(e devices.Endpoint, present []devices.Endpoint) bool {
	listsToo := func(p devices.Endpoint) bool {
		return len(p.SeenBy) == 0 || slices.ContainsFunc(p.SeenBy, func(by string) bool { return slices.Contains(e.SeenBy, by) })
	}
	return len(e.SeenBy) > 0 && len(present) > 0 && !slices.ContainsFunc(present, listsToo)
}

// fail keeps the last good endpoints and marks them stale.
func (src *source) fail(o devices.Observation, now time.Time) {
	src.answered = true
	src.err, src.notes = o.Err, o.Notes
	if src.failedAt.IsZero() {
		src.failedAt = now
		src.endpoints = slices.Clone(src.endpoints)
		for i := range src.endpoints {
			src.endpoints[i].Stale = true
		}
	}
}

// due returns when forget or expire next have something to do, or zero.
func (src *source) due(staleAfter time.Duration) (next time.Time) {
	for _, d := range src.leaving {
		next = earlier(next, d.shownUntil)
	}
	if !src.failedAt.IsZero() && len(src.endpoints)+len(src.hardware) > 0 {
		next = earlier(next, src.failedAt.Add(staleAfter))
	}
	return next
}

// forget drops the endpoints whose grace period is over; it returns when the last of them disappeared, and
// whether there were any.
func (src *source) forget(now time.Time) (at time.Time, any bool) {
	for k, d := range src.leaving {
		if d.shownUntil.After(now) {
			continue
		}
		any = true
		if d.goneAt.After(at) {
			at = d.goneAt
		}
		delete(src.leaving, k)
		src.endpoints = slices.DeleteFunc(slices.Clone(src.endpoints), func(e devices.Endpoint) bool { return e.Key() == k })
	}
	return at, any
}

// expire drops everything once the source has failed for too long; it returns how many endpoints there were, and whether there was
// anything.
func (src *source) expire(now time.Time, staleAfter time.Duration) (dropped int, any bool) {
	if src.failedAt.IsZero() || src.failedAt.Add(staleAfter).After(now) {
		return 0, false
	}
	dropped = len(src.endpoints)
	any = dropped+len(src.hardware) > 0
	src.endpoints, src.leaving, src.hardware = nil, nil, nil
	return dropped, any
}
