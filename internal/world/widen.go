package world

import (
	"math/rand/v2"
	"slices"
	"strings"

	"sidetone/internal/devices"
)

// widen adds to a scenario what the first seeds did not have. It has a random source of its own, so that the rest of what a seed draws
// stays as it is.
func widen(s *scenario) {
	g := &generator{rand.New(rand.NewPCG(s.Seed, 5))}
	for i := range s.Models {
		g.widenModel(&s.Models[i])
	}
	for i := range s.Units {
		s.Units[i].Quiet = g.one(2)
	}
	if m := g.IntN(len(s.Models)); s.Models[m].NamedIDs && g.one(2) {
		s.Strangers = append(s.Strangers, stranger{Model: m, There: g.one(2)})
	}
	for i := range s.Suites {
		s.Suites[i].Counts = g.one(2)
		if g.one(3) {
			s.Suites[i].Late = pick(g, 500, 1500, 3000)
		}
	}
	for range pick(g, 0, 1, 3, 8) {
		s.Steps = slices.Insert(s.Steps, g.IntN(len(s.Steps)+1), g.widerStep(s))
	}
	for i := range s.Steps {
		if st := &s.Steps[i]; st.Do == doPlug && g.one(3) {
			st.N = 1
		}
	}
}

func (g *generator) widerStep(s *scenario) scenarioStep {
	unit := g.IntN(len(s.Units))
	step := scenarioStep{Unit: unit, After: pick(g, 60, 300, 1500, 8000) + g.IntN(500)}
	switch channels := s.Models[s.Units[unit].Model].Channels; g.IntN(8) {
	case 0:
		step.Do = doNoise
	case 3:
		step.Do, step.N = doRoute, g.IntN(3)
	case 4:
		step.Do, step.MS = doManager, pick(g, 300, 2000, 5000)
	case 1:
		step.Do, step.N, step.Port = doAsk, g.IntN(max(1, len(channels))), 1+g.IntN(15)
	case 2, 5, 6:
		step.Do, step.MS = doStall, 400+g.IntN(800)
		for range 2 + g.IntN(2) {
			step.During = append(step.During, scenarioStep{Do: pick(g, doPress, doPress, doPress, doNoise, doRange, doSleep), Unit: unit})
		}
	default:
		step.Do = doForeign
	}
	return step
}

// widenModel gives a model a second flag that is asked for, buttons on two interfaces, and a firmware that wakes late.
func (g *generator) widenModel(m *model) {
	m.Searches = m.Bus == dongle && g.one(2)
	if g.one(4) {
		m.Drowsy = pick(g, 300, 1300, 2500)
	}
	for i := range m.Channels {
		t := &m.Channels[i]
		if !t.Form.isState() && t.Report != 0 && m.Bus != bluetooth && g.one(3) && !strings.Contains(text(m.Versions), `"interface":`) {
			t.Twin, t.Both = true, g.one(2) || t.Form == formHeld // a press and its release come on one interface
		}
	}
	if m.interfaces() > 0 && g.one(2) && !slices.ContainsFunc(m.Channels, channel.unnumbered) {
		g.addNoise(m)
	}
}

// inputs gives some models a line-in, and their sources a pick where the mute does not act on it. Some sources pick an input that there is
// not. It has a random source of its own, as widen.
func (g *generator) inputs(models []model) {
	for i := range models {
		m := &models[i]
		if !g.one(3) {
			continue
		}
		before := plain(scenario{Models: models[i : i+1]}).Models[0]
		m.Line = pick(g, lineMuted, lineOpen)
		for _, w := range m.Versions {
			for _, r := range w.Sources {
				switch {
				case !r.mutes():
				case g.one(5):
					r.Says["pick"] = pickNone
				case m.Line == lineOpen, g.one(4):
					r.Says["pick"] = pickMicrophone
				}
			}
		}
		for v := range m.Versions {
			if _, err := vendorCatalogue([]model{*m}, v); err != nil { // the check refuses it
				*m = before
				break
			}
		}
	}
}

// The inputs that a source may pick.
var (
	pickMicrophone = object{"name_regex": "^Acme"}
	pickNone       = object{"name_regex": "Boom"}
)

// isAbout reports whether the rule is about the input with the id.
func (r rule) isAbout(id string) bool {
	picked := r.Says["pick"]
	return picked == nil || text(picked) == text(pickMicrophone) && !strings.HasPrefix(id, "line.")
}

// mutes reports whether the rule is about the mute.
func (r rule) mutes() bool { return text(r.Says["field"]) == text(devices.HardwareMute) }

// hasMute reports whether the catalogue says that the input with the id has a mute, or nothing about mutes.
func (w entry) hasMute(id string) bool {
	return !slices.ContainsFunc(w.Sources, rule.mutes) ||
		slices.ContainsFunc(w.Sources, func(r rule) bool { return r.mutes() && r.isAbout(id) })
}

// delays makes some models answer each question when the next one comes, where the agent is the only one that asks: nobody can tell the
// answer to the last question of another program from the one to the agent's first. It has a random source of its own, as widen.
func (g *generator) delays(s *scenario) {
	for i := range s.Models {
		answers := slices.ContainsFunc(s.Models[i].Channels, func(t channel) bool { return t.Form == formAnswer || t.Form == formHIDPP })
		s.Models[i].AnswersLate = answers && g.one(3) && !s.does(doReplace, doAsk)
	}
}

// unnumbered reports whether the reports of the channel have no numbers.
func (t channel) unnumbered() bool {
	return t.Report == 0 && (t.Form == formLevel || !t.Form.isState())
}

// addNoise adds a channel for the noise suppression, and a rule that reads it where the check accepts that. An answer may share its
// reports with that to the question for the mute.
func (g *generator) addNoise(m *model) {
	highest := 0
	for _, t := range m.Channels {
		highest = max(highest, int(t.Report), int(t.Hint), int(t.Ask&0x1f))
	}
	b := &builder{generator: g, m: m, report: uint8(max(highest, slices.Max(append(m.Noise, 0))) + 1)}
	before := plain(scenario{Models: []model{*m}}).Models[0]
	b.addChannel(ofNoise, pick(g, formAnswer, formFeature, formHIDPP, formHIDPP, formLevel))
	noise := len(m.Channels) - 1
	t := &m.Channels[noise]
	t.Busy, t.Stuck = 0, false
	shared := slices.IndexFunc(m.Channels[:noise], func(o channel) bool { return o.Form == formAnswer && o.Of == ofMute && o.Byte == 2 })
	if t.Form == formAnswer && shared >= 0 {
		first := &m.Channels[shared]
		first.Property, t.Property = 1, 2
		t.Ask, t.Report, t.Byte, t.Interface = first.Ask, first.Report, 2, first.Interface
		if !g.one(3) {
			expectEchoes(m.Versions, *first)
		}
	}
	for v := range m.Versions {
		if m.Bus == dongle && len(m.Versions[v].Link) == 0 { // nothing says that it was away
			continue
		}
		says := b.rule(noise)
		says["field"] = devices.NoiseSuppression
		m.Versions[v].Sources = append(m.Versions[v].Sources, rule{[]int{noise}, says})
	}
	for v := range m.Versions {
		if _, err := vendorCatalogue([]model{*m}, v); err != nil { // the check refuses it
			*m = before
			return
		}
	}
}

// expectEchoes makes the questions for a channel expect its property in the answer.
func expectEchoes(versions []entry, t channel) {
	for v := range versions {
		versions[v] = plain(scenario{Models: []model{{Versions: versions[v : v+1]}}}).Models[0].Versions[0]
		for _, r := range versions[v].Sources {
			expectEcho(r.Says, t)
		}
	}
}

func expectEcho(says any, t channel) {
	switch says := says.(type) {
	case object:
		if output, ok := says["output"].([]any); ok && len(output) == 1 && output[0] == bytesText(t.Ask, 1) {
			says["expect"] = []any{object{"byte": 0, "eq": t.Report}, object{"byte": 1, "eq": t.Property}}
		}
		for _, v := range says {
			expectEcho(v, t)
		}
	case []any:
		for _, v := range says {
			expectEcho(v, t)
		}
	}
}

// soundServers has the sound server restart while a headset is plugged in anew, perhaps after the vendor's software has crashed. It has a
// random source of its own, as widen.
func (g *generator) soundServers(s *scenario) {
	if !g.one(4) {
		return
	}
	unit := g.IntN(len(s.Units))
	after := func() int { return 200 + g.IntN(3000) }
	steps := []scenarioStep{
		{Do: doServer, After: after()},
		{Do: doUnplug, Unit: unit, After: after()},
		{Do: doPlug, Unit: unit, After: after(), Port: max(1, s.Units[unit].Port), MS: pick(g, 50, 500, 3000), N: g.IntN(2)},
		{Do: doServer, After: after()},
		{Do: doRest, After: 1, MS: 40_000},
	}
	if i := slices.IndexFunc(s.Suites, func(x vendorSuite) bool { return x.Model == s.Units[unit].Model }); i >= 0 && !g.one(3) {
		steps = slices.Insert(steps, 0, scenarioStep{Do: doPress, Unit: unit, After: after()}, scenarioStep{Do: doRun, N: i, After: 4000})
	}
	s.Steps = slices.Insert(s.Steps, g.IntN(len(s.Steps)+1), steps...)
}

// besides has some cards come later than their HID devices, and some software that gives no serial numbers push of a headset that is
// plugged in beside another one of its model. It has a random source of its own, as widen.
func (g *generator) besides(s *scenario) {
	for i := range s.Models {
		s.Models[i].CardLate = g.one(3)
	}
	for i := range s.Suites {
		x := &s.Suites[i]
		x.Hasty = !x.Serials && g.one(2)
		var units []int
		for u := range s.Units {
			if s.Units[u].Model == x.Model {
				units = append(units, u)
			}
		}
		if !x.Hasty || len(units) < 2 {
			continue
		}
		s.Steps = slices.Insert(s.Steps, g.IntN(len(s.Steps)+1),
			scenarioStep{Do: doUnplug, Unit: units[1], After: 1000},
			scenarioStep{Do: doPress, Unit: units[0], After: 1000},
			scenarioStep{Do: doRest, MS: 40_000},
			scenarioStep{Do: doPlug, Unit: units[1], Port: 7, After: 1, MS: pick(g, 50, 500, 3000), N: g.IntN(2)},
			scenarioStep{Do: doRest, MS: 40_000, After: 1000})
	}
}
