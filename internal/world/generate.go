package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
)

// generate draws a scenario from a seed.
func generate(seed uint64) scenario {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	s := scenario{Seed: seed}
	for range 1 + g.IntN(2) {
		s.Models = append(s.Models, g.model())
	}
	for i := range 1 + g.IntN(4) {
		s.Units = append(s.Units, g.unit(s.Models, i))
	}
	for n := range 2 * len(s.Models) {
		if i := n / 2; !g.one(3) && (n%2 == 0 || g.one(4)) {
			s.Suites = append(s.Suites, vendorSuite{
				Model: i, Serials: g.one(2), TTL: []int{0, 20_000, 600_000, 86_400_000}[g.IntN(4)], Tidy: g.one(2), Runs: g.one(2),
			})
		}
	}
	s.Steps = g.steps(&s)
	widen(&s)
	if !g.one(3) {
		g.clients(&s)
	}
	(&generator{rand.New(rand.NewPCG(seed, 3))}).replacements(&s, true)
	(&generator{rand.New(rand.NewPCG(seed, 6))}).siblings(s.Clients)
	(&generator{rand.New(rand.NewPCG(seed, 9))}).inputs(s.Models)
	sticks(&s, 7)
	(&generator{rand.New(rand.NewPCG(seed, 10))}).clocks(s.Steps)
	(&generator{rand.New(rand.NewPCG(seed, 8))}).refusals(s.Clients)
	(&generator{rand.New(rand.NewPCG(seed, 11))}).delays(&s)
	(&generator{rand.New(rand.NewPCG(seed, 12))}).soundServers(&s)
	(&generator{rand.New(rand.NewPCG(seed, 13))}).besides(&s)
	(&generator{rand.New(rand.NewPCG(seed, 14))}).sandboxes(&s)
	return plain(s)
}

// replacements adds steps in which the agent makes way for a newer program, and pauses. It has a random source of its own, so that the rest
// of what a seed draws stays as it is.
func (g *generator) replacements(s *scenario, pauses bool) {
	if g.one(2) {
		return
	}
	for range 1 + g.IntN(3) {
		step := scenarioStep{Do: doReplace, After: pick(g, g.IntN(50), 100+g.IntN(3000)), MS: pick(g, 100, 500, 3000) + g.IntN(100)}
		for range pick(g, 0, 1, 1, 2) {
			if len(s.Units) > 0 {
				step.During = append(step.During, scenarioStep{
					Do: pick(g, doPress, doPress, doUnplug, doRange, doBoom, doPlug, doSleep), Unit: g.IntN(len(s.Units)), Port: 1 + g.IntN(6),
				})
			}
		}
		if g.one(12) {
			step.N = 1
		}
		if pauses && g.one(3) {
			step = scenarioStep{Do: pick(g, doPause, doPause, doResume), After: g.IntN(2000), MS: pick(g, 0, 1000, 20_000, 100_000)}
		}
		s.Steps = slices.Insert(s.Steps, g.IntN(len(s.Steps)+1), step)
	}
}

// clocks has the wall clock set in some updates. It has a random source of its own, as replacements.
func (g *generator) clocks(steps []scenarioStep) {
	for i := range steps {
		if steps[i].Do == doReplace && g.one(2) {
			steps[i].Clock = pick(g, -7200, -20, 20, 10_800)
		}
	}
}

// plain returns the scenario as it is read from a file.
func plain(s scenario) (out scenario) {
	data, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// generator draws parts of a scenario.
type generator struct{ *rand.Rand }

// one returns true once in n times.
func (g *generator) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) unit(models []model, i int) unit {
	u := unit{Model: g.IntN(len(models)), Serial: pick(g, "0001", "0001", fmt.Sprint("A", i), "")}
	m := models[u.Model]
	if m.NoContainer || m.Split {
		u.Serial = fmt.Sprint("A", i) // nothing else distinguishes units
	}
	if !g.one(4) {
		u.Port = i + 1
	}
	u.Off, u.Away, u.NoAudio = m.Bus == dongle && g.one(5), m.Bus == dongle && g.one(10), g.one(6)
	u.Muted, u.BoomUp = g.one(3), m.Boom && g.one(3)
	return u
}

// steps draws what happens: in bursts, with a rest after each.
func (g *generator) steps(s *scenario) []scenarioStep {
	var out []scenarioStep
	for range 6 + g.IntN(8) {
		var undo []scenarioStep // much of what goes away comes back
		for n := 1 + g.IntN(8); n > 0 || len(undo) > 0; n-- {
			step := g.step(s)
			if len(undo) > 0 && (n <= 0 || g.one(2)) {
				step, undo = undo[0], undo[1:]
			} else if back, ok := g.undo(step); ok && !g.one(4) {
				undo = append(undo, back)
			}
			step.After = pick(g, 60, 300, 1500, 8000) + g.IntN(500)
			out = append(out, step)
		}
		out = append(out, scenarioStep{After: 1, Do: doRest, MS: pick(g, 40_000, 40_000, 120_000)})
	}
	return out
}

// undo returns the step that undoes another one.
func (g *generator) undo(s scenarioStep) (scenarioStep, bool) {
	switch s.Do {
	case doRange, doPower, doSound, doServer:
		return scenarioStep{Do: s.Do, Unit: s.Unit}, true
	case doUnplug:
		return scenarioStep{Do: doPlug, Unit: s.Unit, Port: 1 + g.IntN(6), MS: pick(g, 50, 500, 3000)}, true
	}
	return scenarioStep{}, false
}

func (g *generator) step(s *scenario) scenarioStep {
	unit := g.IntN(len(s.Units))
	m := &s.Models[s.Units[unit].Model]
	step := scenarioStep{Unit: unit}
	switch n := g.IntN(40); {
	case n < 10:
		step.Do = doPress
	case n < 14:
		step.Do, step.Port, step.MS = doPlug, 1+g.IntN(6), pick(g, 50, 500, 3000)
	case n < 17:
		step.Do, step.MS = doUnplug, pick(g, 10, 200, 1500)
	case n < 20 && m.Bus == dongle:
		step.Do = doRange
	case n < 22 && m.Bus == dongle:
		step.Do = doPower
	case n < 22 && m.Boom:
		step.Do = doBoom
	case n < 24 && m.seen():
		step.Do = pick(g, doAuto, doLED)
	case n < 26 && (m.OSMute == osSoft || m.seen()):
		step.Do = doOSSet
	case n < 28 && len(m.Noise) > 0:
		step.Do, step.Port, step.N = doVolume, g.IntN(4), pick(g, 0, 1, 2, 3, 100, 0x100, 0x101)
	case n < 30:
		step.Do = doSound
	case n == 30:
		step.Do = doLose
	case n == 31:
		step.Do, step.N, step.MS = doBreak, g.IntN(2), pick(g, 20, 300, 300, 300, -1)
	case n == 32:
		step.Do = doServer
	case n < 35:
		step.Do, step.MS, step.N = doSleep, pick(g, 0, 400, 2000), g.IntN(5)/4
		for range pick(g, 0, 1, 1, 2) {
			if during := g.step(s); during.Do != doSleep {
				step.During = append(step.During, during)
			}
		}
	case n < 37 && len(s.Suites) > 0:
		step.Do, step.N = doRun, g.IntN(len(s.Suites))
	case n == 37:
		step.Do, step.N = doReload, g.IntN(3)
	case n == 38:
		step.Do = doRestart
	default:
		step.Do = doPress
	}
	return step
}

// seen reports whether all channels that the catalogue reads show states: presses say nothing of a mute
// that changes without one.
func (m *model) seen() bool {
	for _, w := range m.Versions {
		for _, r := range w.Sources {
			for _, i := range r.Reads {
				if f := m.Channels[i].Form; f == formPress || f == formHeld || f == formEvent {
					return false
				}
			}
		}
	}
	return true
}

// clients draws clients, and mixes what happens to them into the steps.
func (g *generator) clients(s *scenario) {
	s.Reporting, s.Clients = drawReporting(g), drawClients(g)
	own := s.Steps
	s.Steps = nil
	for _, step := range drawClientSteps(g, len(s.Clients), g.IntN(28), s.Reporting) {
		switch step.Do {
		case doPublish, doStopAgent, doStartAgent, doResend: // the Engine, restarts and sleep cause these
			continue
		}
		for range g.IntN(4) {
			if len(own) > 0 {
				s.Steps, own = append(s.Steps, own[0]), own[1:]
			}
		}
		s.Steps = append(s.Steps, step)
	}
	s.Steps = append(s.Steps, own...)
}
