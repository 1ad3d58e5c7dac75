package world

import (
	"reflect"
	"slices"
)

// reduce returns the shortest scenario it can find that still fails. It leaves out parts of the scenario, and simplifies
// what is left.
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
				next := s
				next.Steps = without(s.Steps, at, size)
				if !try(next) {
					at += size
				}
			}
		}
		tryWithoutEach := func(n int, without func(scenario, int) scenario) {
			for i := n - 1; i >= 0; i-- {
				try(without(s, i))
			}
		}
		tryWithoutEach(len(s.Suites), scenario.withoutSuite)
		tryWithoutEach(len(s.Clients), scenario.withoutClient)
		tryWithoutEach(len(s.Units), scenario.withoutUnit)
		tryWithoutEach(len(s.Models), scenario.withoutModel)
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

// closeGap adapts an index to a list without its ith element; false: it was the index of that.
func closeGap(number *int, i int) bool {
	if *number > i {
		*number--
		return true
	}
	return *number != i
}

// mapSteps returns the steps for which keep returns true, after keep may have changed them.
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

// simplifications returns functions that each simplify one part of the scenario.
func (s *scenario) simplifications() []func() {
	all := emptied(reflect.ValueOf(s).Elem())
	for i := range s.Steps {
		all = append(all, s.Steps[i].simplifications()...)
	}
	for i := range s.Units {
		u := &s.Units[i]
		if m := s.Models[u.Model]; !m.Split && !m.NoContainer {
			all = append(all, func() { u.Serial = "" })
		}
		if u.Port == 0 {
			all = append(all, func() { u.Port = 7 + i })
		}
	}
	for i := range s.Models {
		m := &s.Models[i]
		all = append(all, func() { m.Versions = m.Versions[:1] })
		for v := range m.Versions {
			w := &m.Versions[v]
			for k := range slices.Backward(w.Sources) {
				all = append(all, func() { w.Sources = slices.Delete(w.Sources, k, k+1) })
			}
		}
	}
	for i := range s.Suites {
		all = append(all, func() { s.Suites[i].Runs = true })
	}
	return all
}

// emptied returns functions that each empty one field in v with the tag `reduce:"empty"`.
func emptied(v reflect.Value) (all []func()) {
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, emptied(v.Index(i))...)
		}
	case reflect.Struct:
		for i, f := range v.Fields() {
			if i.Tag.Get("reduce") == "empty" {
				all = append(all, f.SetZero)
			} else {
				all = append(all, emptied(f)...)
			}
		}
	}
	return all
}

func (s *scenarioStep) simplifications() (all []func()) {
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
