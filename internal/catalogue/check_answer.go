package catalogue

import (
	"iter"
	"reflect"
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
		if r := s.Sent(); len(r) > 0 {
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
	rules := slices.Concat(p.linkRules(), p.flagRules())
	for _, r := range rules {
		all = slices.AppendSeq(all, r.queries(path+"."+r.path))
	}
	var requests []hid.Bytes
	for _, q := range all {
		requests = append(requests, q.requests()...)
	}
	for i, q := range all {
		const repeated = "a condition on a byte in which the device repeats what is particular to this request"
		if j := slices.IndexFunc(all, q.confusable); j >= 0 {
			f.addUnlessRecorded(q.path+".expect",
				"a condition that tells the two answers apart, such as on a byte in which the device repeats the request",
				"the answer to %s would count as the answer to this request", all[j].path)
		} else if q.confusesSteps() {
			f.warn(q.path+".expect", repeated, "the answer to an earlier request of this query would count as that to the last one")
		} else if q.request() != nil && !q.echoes(requests) && !slices.ContainsFunc(rules, q.isToldBy) {
			f.warn(q.path+".expect", repeated,
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
	return mayMeetBoth(mine, theirs)
}

// mayMeetBoth reports whether one report may be the answer to two steps by what they expect.
func mayMeetBoth(one, other hid.Step) bool {
	return !slices.ContainsFunc(one.Expect, func(t hid.Test) bool {
		return slices.ContainsFunc(other.Expect, func(o hid.Test) bool { return o.Byte == t.Byte && !overlap(t.Fits, o.Fits) })
	})
}

// confusesSteps reports whether the device may answer an earlier request of the query by the same report as the last one, so that nothing
// tells the two answers apart.
func (q HIDQuery) confusesSteps() bool {
	last := q.answer()
	return last.Arrives && slices.ContainsFunc(q.steps(), func(s hid.Step) bool {
		return s.Arrives && !slices.Equal(s.Sent(), last.Sent()) && mayMeetBoth(s, last) && !last.TellsFrom(s)
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

// echoes reports whether the conditions on the answer tell it from those to the other requests, and to any other one, by bytes in which the
// device repeats the last request.
func (q HIDQuery) echoes(requests []hid.Bytes) bool {
	mine := hid.Step{Output: q.request(), Expect: q.answer().Expect, Arrives: q.answer().Arrives}
	return mine.Repeats() && !slices.ContainsFunc(requests, func(r hid.Bytes) bool {
		return !slices.Equal(r, mine.Output) && !mine.TellsFrom(hid.Step{Output: r})
	})
}

// isToldBy reports whether a rule reads the same value in all reports with the number of the answer, whatever they answer.
func (q HIDQuery) isToldBy(r ruleAt) bool {
	return r.HIDReport != nil && r.HIDReport.ReportID != nil && len(r.HIDReport.When) == 0 && reflect.DeepEqual(r.HIDReport.Value, &q.Value) &&
		slices.ContainsFunc(q.Expect, func(t ByteTest) bool { return t.Byte == 0 && t.Eq != nil && *t.Eq == *r.HIDReport.ReportID })
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
