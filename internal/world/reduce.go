package world

import (
	"slices"
)

// Reduce returns the shortest scenario that it finds which still fails, by leaving out ever smaller
// parts and by making plain what is left.
func Reduce(s Scenario, fails func(Scenario) bool) Scenario {
	try := func(next Scenario) bool {
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
		s.simplify(try)
	}
	return s
}

func (s Scenario) withoutSteps(at, n int) Scenario {
	s.Steps = slices.Delete(slices.Clone(s.Steps), at, at+n)
	return s
}

func (s Scenario) withoutSuite(i int) Scenario {
	s.Suites = slices.Delete(slices.Clone(s.Suites), i, i+1)
	s.Steps = mapSteps(s.Steps, func(st Step) (Step, bool) {
		if st.Do != Run {
			return st, true
		}
		keep := st.N != i
		if st.N > i {
			st.N--
		}
		return st, keep
	})
	return s
}

func (s Scenario) withoutClient(i int) Scenario {
	s.Clients = slices.Delete(slices.Clone(s.Clients), i, i+1)
	s.Steps = mapSteps(s.Steps, func(st Step) (Step, bool) {
		if st.Client == nil {
			return st, true
		}
		keep, c := st.Client.Client != i, *st.Client
		if c.Client > i {
			c.Client--
		}
		st.Client = &c
		return st, keep && len(s.Clients) > 0
	})
	return s
}

func (s Scenario) withoutUnit(i int) Scenario {
	s.Units = slices.Delete(slices.Clone(s.Units), i, i+1)
	s.Steps = mapSteps(s.Steps, func(st Step) (Step, bool) {
		keep := !st.Do.ofUnit() || st.Unit != i
		if st.Unit >= i && st.Unit > 0 {
			st.Unit--
		}
		return st, keep
	})
	return s
}

// withoutModel leaves out a model that has neither units nor suites.
func (s Scenario) withoutModel(i int) Scenario {
	if slices.ContainsFunc(s.Units, func(u Unit) bool { return u.Model == i }) ||
		slices.ContainsFunc(s.Suites, func(u Suite) bool { return u.Model == i }) || len(s.Models) == 1 {
		return s
	}
	s.Models, s.Units, s.Suites = slices.Delete(slices.Clone(s.Models), i, i+1), slices.Clone(s.Units), slices.Clone(s.Suites)
	for k := range s.Units {
		if s.Units[k].Model > i {
			s.Units[k].Model--
		}
	}
	for k := range s.Suites {
		if s.Suites[k].Model > i {
			s.Suites[k].Model--
		}
	}
	return s
}

// ofUnit reports whether the deed is done to a headset.
func (d Deed) ofUnit() bool {
	switch d {
	case Server, Sleep, Run, Reload, Restart, Rest, ToClient:
		return false
	}
	return true
}

func mapSteps(steps []Step, f func(Step) (Step, bool)) []Step {
	var out []Step
	for _, s := range steps {
		s.During = mapSteps(s.During, f)
		if s, keep := f(s); keep {
			out = append(out, s)
		}
	}
	return out
}

// simplify tries plainer values, one after the other.
func (s *Scenario) simplify(try func(Scenario) bool) {
	change := func(f func(*Scenario)) {
		next := plain(*s)
		f(&next)
		try(next)
	}
	for i := range s.Steps {
		change(func(s *Scenario) { s.Steps[i].During = nil })
		for k := len(s.Steps[i].During) - 1; k >= 0; k-- {
			change(func(s *Scenario) { s.Steps[i].During = slices.Delete(s.Steps[i].During, k, k+1) })
		}
		for _, ms := range []int{0, 100} {
			change(func(s *Scenario) {
				if s.Steps[i].MS > ms && s.Steps[i].Do != Rest {
					s.Steps[i].MS = ms
				}
			})
		}
		for _, ms := range []int{1000, 200} {
			change(func(s *Scenario) {
				if s.Steps[i].After > ms || s.Steps[i].After < ms && ms == 1000 {
					s.Steps[i].After = ms
				}
			})
		}
		change(func(s *Scenario) {
			if s.Steps[i].Do == Rest {
				s.Steps[i].MS = 40_000
			}
		})
	}
	for i := range s.Units {
		for _, f := range []func(*Unit){
			func(u *Unit) {
				if m := s.Models[u.Model]; !m.Split && !m.Unsighted {
					u.Serial = ""
				}
			},
			func(u *Unit) { u.Off = false }, func(u *Unit) { u.Away = false }, func(u *Unit) { u.NoAudio = false },
			func(u *Unit) { u.Muted = false }, func(u *Unit) { u.BoomUp = false },
			func(u *Unit) {
				if u.Port == 0 {
					u.Port = 7 + i
				}
			},
		} {
			change(func(s *Scenario) { f(&s.Units[i]) })
		}
	}
	for i := range s.Models {
		for _, f := range []func(*Model){
			func(m *Model) { m.Noise = nil },
			func(m *Model) { m.NamedIDs = false },
			func(m *Model) { m.LED = false },
			func(m *Model) { m.Split = false },
			func(m *Model) { m.Unsighted = false },
			func(m *Model) { m.OSMute = OSNone },
			func(m *Model) { m.Flagged = false },
			func(m *Model) { m.Keeps = false },
			func(m *Model) { m.Versions = m.Versions[:1] },
		} {
			change(func(s *Scenario) { f(&s.Models[i]) })
		}
		for v := range s.Models[i].Versions {
			for k := len(s.Models[i].Versions[v].Sources) - 1; k >= 0; k-- {
				change(func(s *Scenario) {
					w := &s.Models[i].Versions[v]
					w.Sources = slices.Delete(w.Sources, k, k+1)
				})
			}
		}
		for k := range s.Models[i].Tells {
			for _, f := range []func(*Tell){
				func(t *Tell) { t.AtLink = false }, func(t *Tell) { t.Busy = 0 }, func(t *Tell) { t.BothWays = false },
			} {
				change(func(s *Scenario) { f(&s.Models[i].Tells[k]) })
			}
		}
	}
	for i := range s.Clients {
		for _, f := range []func(*ClientSpec){
			func(c *ClientSpec) { c.Foreign = false }, func(c *ClientSpec) { c.Hidden = false }, func(c *ClientSpec) { c.Relay = false },
			func(c *ClientSpec) { c.NoSocket = false }, func(c *ClientSpec) { c.NoPort = false }, func(c *ClientSpec) { c.PortLate = 0 },
			func(c *ClientSpec) { c.SocketLate = 0 }, func(c *ClientSpec) { c.SlowGet = false }, func(c *ClientSpec) { c.Unspecified = false },
			func(c *ClientSpec) { c.Off = false }, func(c *ClientSpec) { c.Fault = "" },
		} {
			change(func(s *Scenario) { f(&s.Clients[i]) })
		}
	}
	change(func(s *Scenario) { s.Reporting = Reporting{} })
	for i := range s.Suites {
		change(func(s *Scenario) { s.Suites[i].Serials = false })
		change(func(s *Scenario) { s.Suites[i].Tidy = false })
		change(func(s *Scenario) { s.Suites[i].Runs = true })
	}
}
