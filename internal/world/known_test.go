package world

import "slices"

// knownFault is something that is still wrong, with the mark of its tests in testdata/expected: the violation of a rule is not reported in
// scenarios in which it may be behind it.
type knownFault struct {
	mark  string
	rules []string
	in    func(scenario) bool
}

// knownFaults go with the rebuilding of rpcclient and of the update. A fault that is mended is removed here.
var knownFaults = []knownFault{
	{"V14: what others have spent, and the update between two agents", []string{"late", "farewell", "emptied", "rest", "order"}, func(s scenario) bool {
		return s.does(doReplace, doClientSpends)
	}},
	{"V7: two agents ask one device", []string{"known"}, func(s scenario) bool { return s.does(doReplace) }},
	{"V18: a farewell to one of two sessions empties the list", []string{"rest"}, func(s scenario) bool {
		return s.Reporting.Visibility != seesAll || slices.ContainsFunc(s.Clients, func(k clientSpec) bool { return k.Hidden })
	}},
	{"V20: whoever took the port gets the list", []string{"confided"}, func(s scenario) bool { return !s.Reporting.Visibility.ports() }},
	{"V25: clients of one process", []string{"rest", "wiped"}, func(s scenario) bool {
		return slices.ContainsFunc(s.Clients, func(k clientSpec) bool { return k.Shares })
	}},
	{"V31: a client that moved and refused for a moment", []string{"rest"}, func(s scenario) bool { return s.does(doClientMoves) }},
}

// knownFault returns what may be behind all violations of a run; "": nothing that is known.
func (s scenario) knownFault(r result) (mark string) {
	for rule := range r.rules() {
		i := slices.IndexFunc(knownFaults, func(k knownFault) bool { return slices.Contains(k.rules, rule) && k.in(s) })
		if i < 0 {
			return ""
		}
		mark = knownFaults[i].mark
	}
	return mark
}

// does reports whether a step of the scenario is one of these.
func (s scenario) does(actions ...action) bool {
	return slices.ContainsFunc(s.Steps, func(st scenarioStep) bool { return slices.Contains(actions, st.Do) })
}
