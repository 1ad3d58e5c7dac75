package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sidetone/internal/devices"
)

// Continue replaces what the ring holds, which is only of the moment since its start, by the history of another ring, and continues its
// lanes. The present state has to be noted again afterwards.
func (r *Ring) Continue(before Timeline) {
	if before.Version != Version {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, elapsed := r.clock.Now().Round(0), r.clock.Elapsed()
	at := func(wall time.Time) time.Duration { return elapsed - max(0, now.Sub(wall)) }
	r.store, r.clients, r.units = newStore(), newSlots(), newSlots()
	r.from, r.omitted = at(before.From), before.Omitted
	type step struct {
		of *Lane
		Change
	}
	var steps []step
	for i := range before.Lanes {
		l := &before.Lanes[i]
		if kept := r.lane(l.key(), l.Name); kept != nil {
			kept.now = r.store.value(value{state: l.AtStart})
			if l.Condition != nil {
				r.store.describe(kept, *l.Condition)
			}
		}
		for _, c := range l.Changes {
			steps = append(steps, step{l, c})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int { return a.At.Compare(b.At) })
	for _, s := range steps {
		l := r.lane(s.of.key(), s.of.Name)
		if l == nil {
			continue
		}
		r.store.note(l, at(s.At), value{state: s.To, detail: s.Detail, origin: *cmp.Or(s.Origin, &devices.Origin{})})
		if last := r.store.record(l); s.Count > 1 {
			last.count += uint32(s.Count) - 1
			last.until = max(last.until, at(s.Until))
		}
		r.bound()
	}
	r.markStart()
}

// key returns the key of a lane of a Timeline.
func (l *Lane) key() key {
	k := key{kind: l.Kind, product: l.Product, device: l.Device, flag: l.Flag}
	if l.Product != "" {
		k.number = max(1, l.Number)
	}
	if l.Client != "" {
		k.client, k.clientNumber = unnumbered(l.Client)
	}
	if l.Condition != nil {
		k.code, k.subject = l.Condition.Code, l.Condition.Subject
	}
	return k
}

// unnumbered is the inverse of Numbered.
func unnumbered(client string) (name string, n int) {
	i := strings.LastIndex(client, " (")
	if i >= 0 && strings.HasSuffix(client, ")") {
		if n, err := strconv.Atoi(client[i+2 : len(client)-1]); err == nil && n > 1 {
			return client[:i], n
		}
	}
	return client, 1
}
