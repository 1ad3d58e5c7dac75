package world

import "slices"

// reduce returns the shortest scenario that it finds which still fails, by leaving out ever smaller
// parts and by making plain what is left.
func reduce(s scenario, fails func(scenario) bool) scenario {
	try := func(next scenario) bool {
		next = plain(next)
		if text(next) == text(s) || !fails(next) {
			return false
		}
		s = next
		return true
	}
	for before := ""; before != text(s); {
		before = text(s)
		for size := max(1, len(s.Steps)/2); size > 0; size /= 2 {
			for at := 0; at+size <= len(s.Steps); {
				if !try(s.withoutSteps(at, size)) {
					at += size
				}
			}
		}
		for i := len(s.Suites) - 1; i >= 0; i-- {
			try(s.withoutSuite(i))
		}
		for i := len(s.Clients) - 1; i >= 0; i-- {
			try(s.withoutClient(i))
		}
		for i := len(s.Units) - 1; i >= 0; i-- {
			try(s.withoutUnit(i))
		}
		for i := len(s.Models) - 1; i >= 0; i-- {
			try(s.withoutModel(i))
		}
		for i := 0; ; i++ {
			next := plain(s)
			all := next.simplifications()
			if i >= len(all) {
				break
			}
			all[i]()
			try(next)
		}
	}
	return s
}

func (s scenario) withoutSteps(at, n int) scenario {
	s.Steps = without(s.Steps, at, n)
	return s
}

func (s scenario) withoutSuite(i int) scenario {
	s.Suites = without(s.Suites, i, 1)
	s.Steps = mapSteps(s.Steps, func(st *scenarioStep) bool { return st.Do != doRun || closeGap(&st.N, i) })
	return s
}

func (s scenario) withoutClient(i int) scenario {
	s.Clients = without(s.Clients, i, 1)
	s.Steps = mapSteps(s.Steps, func(st *scenarioStep) bool { return atClient[st.Do].do == nil || closeGap(&st.Client, i) })
	return s
}

func (s scenario) withoutUnit(i int) scenario {
	s.Units = without(s.Units, i, 1)
	s.Steps = mapSteps(s.Steps, func(st *scenarioStep) bool { return atHeadset[st.Do] == nil || closeGap(&st.Unit, i) })
	return s
}

// withoutModel leaves out a model that has neither units nor suites.
func (s scenario) withoutModel(i int) scenario {
	next := s
	next.Models, next.Units, next.Suites = without(s.Models, i, 1), slices.Clone(s.Units), slices.Clone(s.Suites)
	unused := len(next.Models) > 0
	for k := range next.Units {
		unused = closeGap(&next.Units[k].Model, i) && unused
	}
	for k := range next.Suites {
		unused = closeGap(&next.Suites[k].Model, i) && unused
	}
	if !unused {
		return s
	}
	return next
}

func without[T any](list []T, at, n int) []T { return slices.Delete(slices.Clone(list), at, at+n) }

// closeGap adapts a number to a list that is without the ith; false: it was the number of that.
func closeGap(number *int, i int) bool {
	if *number > i {
		*number--
		return true
	}
	return *number != i
}

// mapSteps returns the steps that are kept, as they have been made.
func mapSteps(steps []scenarioStep, keep func(*scenarioStep) bool) []scenarioStep {
	var out []scenarioStep
	for _, s := range steps {
		s.During = mapSteps(s.During, keep)
		if keep(&s) {
			out = append(out, s)
		}
	}
	return out
}

// simplifications each make one part of the scenario plainer.
func (s *scenario) simplifications() (all []func()) {
	for i := range s.Steps {
		all = append(all, s.Steps[i].simplifications()...)
	}
	for i := range s.Units {
		all = append(all, s.Units[i].simplifications(s.Models[s.Units[i].Model], 7+i)...)
	}
	for i := range s.Models {
		all = append(all, s.Models[i].simplifications()...)
	}
	for i := range s.Clients {
		c := &s.Clients[i]
		all = append(all, zero(&c.Foreign), zero(&c.Hidden), zero(&c.Relay), zero(&c.NoSocket), zero(&c.NoPort), zero(&c.PortLate),
			zero(&c.SocketLate), zero(&c.SlowGet), zero(&c.Unspecified), zero(&c.Off), zero(&c.Fault))
	}
	for i := range s.Suites {
		all = append(all, zero(&s.Suites[i].Serials), zero(&s.Suites[i].Tidy), func() { s.Suites[i].Runs = true })
	}
	return append(all, zero(&s.Reporting), zero(&s.Long))
}

// zero is the simplification that empties a part.
func zero[T any](part *T) func() {
	return func() {
		var none T
		*part = none
	}
}

func (s *scenarioStep) simplifications() []func() {
	all := []func(){zero(&s.During)}
	for k := range slices.Backward(s.During) {
		all = append(all, func() { s.During = slices.Delete(s.During, k, k+1) })
	}
	shortest := 0
	if s.Do == doRest {
		shortest = 40_000
	}
	for _, ms := range []int{shortest, shortest + 100} {
		all = append(all, func() { s.MS = min(s.MS, ms) })
	}
	return append(all, func() {
		if s.After != 200 {
			s.After = 1000
		}
	}, func() { s.After = min(s.After, 200) })
}

func (u *unit) simplifications(m model, port int) []func() {
	all := []func(){zero(&u.Off), zero(&u.Away), zero(&u.NoAudio), zero(&u.Muted), zero(&u.BoomUp)}
	if !m.Split && !m.Unsighted {
		all = append(all, zero(&u.Serial))
	}
	if u.Port == 0 {
		all = append(all, func() { u.Port = port })
	}
	return all
}

func (m *model) simplifications() []func() {
	all := []func(){
		zero(&m.Noise), zero(&m.NamedIDs), zero(&m.LED), zero(&m.Split), zero(&m.Unsighted), zero(&m.OSMute), zero(&m.Flagged), zero(&m.Keeps),
		func() { m.Versions = m.Versions[:1] },
	}
	for v := range m.Versions {
		w := &m.Versions[v]
		for k := range slices.Backward(w.Sources) {
			all = append(all, func() { w.Sources = slices.Delete(w.Sources, k, k+1) })
		}
	}
	for i := range m.Channels {
		t := &m.Channels[i]
		all = append(all, zero(&t.AtLink), zero(&t.Busy), zero(&t.BothWays))
	}
	return all
}
