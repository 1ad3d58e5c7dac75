package devices

import (
	"cmp"
	"slices"
)

// mergeReports merges reports with equal type and id, which the client cannot tell apart: two units of
// one model under a scheme that sends names. A flag is true only if all are. The merged report takes the
// position of the first (rule R63).
func mergeReports(in []Report) []Report {
	if len(in) < 2 {
		return in
	}
	at := make(map[wireKey]int, len(in))
	out := make([]Report, 0, len(in))
	for _, rep := range in {
		k := rep.key()
		i, dup := at[k]
		if !dup {
			at[k] = len(out)
			out = append(out, rep)
			continue
		}
		out[i] = merge(out[i], rep)
	}
	return out
}

func merge(a, b Report) Report {
	a.Endpoints = slices.Concat(a.Endpoints, b.Endpoints)
	slices.SortStableFunc(a.Endpoints, compareKeys)
	a.Related = slices.Concat(a.Related, b.Related)
	slices.Sort(a.Related)
	a.Related = slices.Compact(a.Related)
	if b.Unit != a.Unit && !slices.Contains(a.OtherUnits, b.Unit) {
		a.OtherUnits = append(slices.Clip(a.OtherUnits), b.Unit)
	}
	if a.Flags != nil || b.Flags != nil {
		merged := make(map[Field]Flag)
		for _, f := range Fields {
			fa, okA := a.Flags[f]
			fb, okB := b.Flags[f]
			if okA || okB {
				merged[f] = mergeFlags([]Flag{fa, fb})
			}
		}
		a.setFlags(merged)
	}
	return a
}

// rankedReport is a report with its place in the order of the catalogue's rules.
type rankedReport struct {
	rank int
	Report
}

// inRank sorts the reports of a unit: by the rule that reports each, then id.
func inRank(list []rankedReport) []rankedReport {
	slices.SortStableFunc(list, func(a, b rankedReport) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.ID, b.ID), compareTypes(a.Type, b.Type))
	})
	return list
}

// rankOf returns the place of the rule that reports e: those for endpoints of its own come before those for virtual ones.
func (p *product) rankOf(e *Endpoint, adopted bool) int {
	fits := func(r EndpointRule) bool { return r.fits(e) }
	if adopted {
		return len(p.Endpoints) + slices.IndexFunc(p.Virtual, fits)
	}
	return slices.IndexFunc(p.Endpoints, fits)
}

// order returns the list as it is sent: by the vendor's priority, then the unit attached last, then the unit's smallest id; within a
// unit by the order of the catalogue's rules, then id. The order is total, so equal inputs give equal lists (rule R30).
func order(instances []*instance) []Report {
	slices.SortFunc(instances, func(a, b *instance) int {
		return cmp.Or(
			cmp.Compare(a.product.Priority, b.product.Priority),
			b.attached.Compare(a.attached),
			cmp.Compare(a.firstID, b.firstID),
			cmp.Compare(a.key, b.key),
		)
	})
	count := 0
	for _, inst := range instances {
		count += len(inst.reports)
	}
	out := make([]Report, 0, count)
	for _, inst := range instances {
		out = append(out, inst.reports...)
	}
	return inputsLast(mergeReports(out))
}

// compareTypes puts the audio input last.
func compareTypes(a, b Type) int {
	rank := func(t Type) int { return slices.Index([]Type{AudioOutput, VideoInput, AudioInput}, t) }
	return cmp.Compare(rank(a), rank(b))
}

// inputsLast moves, among reports of equal id, the others to just before the audio input: the client
// keeps one map of ids in which the last entry wins (rule R56), and only the input carries flags. The
// input keeps its position in the vendor's order.
func inputsLast(in []Report) []Report {
	late := make(map[string][]Report) // those after an input of the same id
	seen := make(map[string]bool)
	for _, r := range in {
		switch {
		case r.Type == AudioInput:
			seen[r.ID] = true
		case seen[r.ID]:
			late[r.ID] = append(late[r.ID], r)
		}
	}
	if len(late) == 0 {
		return in
	}
	out := make([]Report, 0, len(in))
	placed := make(map[string]bool)
	for _, r := range in {
		if r.Type == AudioInput {
			out = append(append(out, late[r.ID]...), r)
			placed[r.ID] = true
		} else if !placed[r.ID] {
			out = append(out, r)
		}
	}
	return out
}
