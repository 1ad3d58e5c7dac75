package catalogue

import (
	"iter"
	"slices"

	"sidetone/internal/hid"
)

// queryAt is a query of a product.
type queryAt struct {
	path string
	HIDQuery
}

// queries yields the queries below a source, with their paths: itself, its anchor's, and those of its terms.
func (k SourceKind) queries(path string) iter.Seq[queryAt] {
	return func(yield func(queryAt) bool) {
		if k.Derive != nil {
			for at, term := range k.Derive.Terms(path) {
				for q := range term.queries(at) {
					if !yield(q) {
						return
					}
				}
			}
			return
		}
		var anchor *Anchor
		path += "." + k.Via()
		switch {
		case k.HIDQuery != nil:
			yield(queryAt{path, *k.HIDQuery})
		case k.HIDUsage != nil:
			anchor = k.HIDUsage.Anchor
		case k.HIDReport != nil:
			anchor = k.HIDReport.Anchor
		}
		if anchor != nil && anchor.HIDQuery != nil {
			yield(queryAt{path + ".anchor.hid_query", *anchor.HIDQuery})
		}
	}
}

// requests returns the reports that a query sends or sets; none: the system attributes the answer.
func (q HIDQuery) requests() (out []hid.Bytes) {
	for _, s := range q.steps() {
		if r := slices.Concat(s.Output, s.Set); len(r) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// request is the last report that a query sends or sets; nil: there is none.
func (q HIDQuery) request() hid.Bytes {
	if sent := q.requests(); len(sent) > 0 {
		return sent[len(sent)-1]
	}
	return nil
}

// answer returns the step whose answer has the state.
func (q HIDQuery) answer() (last hid.Step) {
	if steps := q.steps(); len(steps) > 0 {
		return steps[len(steps)-1]
	}
	return last
}

// answers checks that the answers to the queries of a product can be attributed: other rules and other programs ask the same device, and
// every program gets all answers.
func (f *faults) answers(path string, p Product) {
	var all []queryAt
	for _, r := range slices.Concat(p.linkRules(), p.flagRules()) {
		all = slices.AppendSeq(all, r.queries(path+"."+r.path))
	}
	var requests []hid.Bytes
	for _, q := range all {
		requests = append(requests, q.requests()...)
	}
	for i, q := range all {
		if j := slices.IndexFunc(all, q.confusable); j >= 0 {
			f.addUnlessRecorded(q.path+".expect",
				"a condition that tells the two answers apart, such as on a byte in which the device repeats the request",
				"the answer to %s would count as the answer to this request", all[j].path)
		} else if q.request() != nil && !q.echoes(requests) {
			f.warn(q.path+".expect", "a condition on a byte in which the device repeats what is particular to this request",
				"the answer to another request, also of another program, may count: nothing in it is compared with the request")
		}
		for _, other := range all[i:] {
			if triggers(q.HIDQuery, other.HIDQuery) && triggers(other.HIDQuery, q.HIDQuery) {
				f.warn(q.path+".ask_on", "conditions that no answer meets",
					"an answer triggers the next question: where two programs ask the device, they never stop")
				break
			}
		}
	}
}

// confusable reports whether the device may answer this query and another, different one by the same report.
func (q queryAt) confusable(other queryAt) bool {
	mine, theirs := q.answer(), other.answer()
	if !mine.Arrives || !theirs.Arrives || slices.Equal(q.request(), other.request()) {
		return false
	}
	return !slices.ContainsFunc(mine.Expect, func(t hid.Test) bool {
		return slices.ContainsFunc(theirs.Expect, func(o hid.Test) bool { return o.Byte == t.Byte && !overlap(t.Fits, o.Fits) })
	})
}

// overlap reports whether a value meets both conditions.
func overlap(one, other [256]bool) bool {
	for b := range one {
		if one[b] && other[b] {
			return true
		}
	}
	return false
}

// echoes reports whether a condition on the answer is met by a byte of the last request, and by none at the same place of the other
// requests.
func (q HIDQuery) echoes(requests []hid.Bytes) bool {
	mine := q.request()
	at := func(r hid.Bytes, i int) byte {
		if i < len(r) {
			return r[i]
		}
		return 0 // it is padded
	}
	return slices.ContainsFunc(q.answer().Expect, func(t hid.Test) bool {
		if !slices.Contains(t.Fits[:], false) {
			return false
		}
		for i := 1; i < len(mine); i++ {
			if t.Fits[mine[i]] && !slices.ContainsFunc(requests, func(r hid.Bytes) bool { return !slices.Equal(r, mine) && t.Fits[at(r, i)] }) {
				return true
			}
		}
		return false
	})
}

// triggers reports whether each answer to q triggers the other query.
func triggers(q, other HIDQuery) bool {
	if !q.answer().Arrives || len(other.AskOn) == 0 {
		return false
	}
	expect := q.answer().Expect
	return !slices.ContainsFunc(compileTests(other.AskOn), func(t hid.Test) bool {
		return !slices.ContainsFunc(expect, func(e hid.Test) bool { return e.Byte == t.Byte && isWithin(e.Fits, t.Fits) })
	})
}

// isWithin reports whether all values that fit one condition fit the other.
func isWithin(one, other [256]bool) bool {
	for b := range one {
		if one[b] && !other[b] {
			return false
		}
	}
	return true
}
