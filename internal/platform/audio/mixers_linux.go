package audio

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
)

// mixers are the ALSA cards of the present endpoints. Each is opened when its first endpoint comes, closed when the last one goes, and
// read again at its events.
type mixers struct {
	notify func()
	open   func(name string) (mixerCard, error)
	cards  map[string]*mixer // by control device, "controlC1"
	stale  bool
}

// newMixers makes the mixers. They call notify, which must not block, when fill has something new.
func newMixers(notify func()) *mixers {
	open := func(name string) (mixerCard, error) { return openALSA(filepath.Join("/dev/snd", name)) }
	return &mixers{notify: notify, open: open, cards: make(map[string]*mixer)}
}

// changed makes the next fill read all cards again.
func (m *mixers) changed() { m.stale = true }

// fill sets the last known controls of its card on each audio input. Cards are read concurrently: a slow one delays only its own first
// reading, for which fill waits.
func (m *mixers) fill(ctx context.Context, endpoints []devices.Endpoint) {
	needed := make(map[string]bool)
	for _, e := range endpoints {
		if e.Type == devices.AudioInput && e.Mixer != "" {
			needed[e.Mixer] = true
		}
	}
	for name, c := range m.cards {
		if !needed[name] && c.release() {
			delete(m.cards, name)
		}
	}
	for name := range needed {
		c := m.cards[name]
		if c == nil {
			c = newMixer(func() (mixerCard, error) { return m.open(name) }, m.notify)
			m.cards[name] = c
		}
		if c.want() || m.stale {
			c.read()
		}
	}
	m.stale = false
	for i := range endpoints {
		if e := &endpoints[i]; e.Type == devices.AudioInput && needed[e.Mixer] {
			values := m.cards[e.Mixer].latest(ctx)
			e.Controls, e.Settings = values.switches, values.settings
		}
	}
}

// notes says which cards' switches are unknown.
func (m *mixers) notes() []health.Condition {
	var out []health.Condition
	for _, name := range slices.Sorted(maps.Keys(m.cards)) {
		if err := m.cards[name].failed(); err != nil {
			reason := platform.Trouble(err, health.Unexplained, nil).Condition
			out = append(out, health.Condition{Code: health.SoundCardUnreadable, Severity: health.Warning, Because: []health.Condition{reason}})
		}
	}
	return out
}

func (m *mixers) close() {
	for _, c := range m.cards {
		c.release()
	}
}
