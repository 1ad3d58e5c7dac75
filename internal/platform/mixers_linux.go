package platform

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"sidetone/internal/devices"
)

// mixers are the ALSA cards behind the present endpoints: opened when the first endpoint of a
// card comes, closed when the last one goes, read again when they say so.
type mixers struct {
	notify func()
	cards  map[string]*mixer // by control device, "controlC1"
	failed map[string]error  // cards that could not be read at the last fill
	dirty  bool
}

type mixer struct {
	card   *alsaCard
	values map[string]devices.Tri
}

func newMixers(notify func()) *mixers {
	return &mixers{notify: notify, cards: make(map[string]*mixer), dirty: true}
}

// changed makes the next fill read all cards again.
func (m *mixers) changed() { m.dirty = true }

// fill puts the switches of its card on each audio input.
func (m *mixers) fill(ctx context.Context, endpoints []devices.Endpoint) {
	needed := make(map[string]bool)
	for _, e := range endpoints {
		if e.Type == devices.AudioInput && e.Mixer != "" {
			needed[e.Mixer] = true
		}
	}
	for name, c := range m.cards {
		if !needed[name] {
			_ = c.card.Close()
			delete(m.cards, name)
		}
	}
	if m.dirty {
		m.failed = make(map[string]error)
	}
	for name := range needed {
		if m.dirty || m.cards[name] == nil && m.failed[name] == nil {
			m.read(ctx, name)
		}
	}
	m.dirty = false
	for i := range endpoints {
		if c := m.cards[endpoints[i].Mixer]; c != nil && endpoints[i].Type == devices.AudioInput {
			endpoints[i].Controls = c.values
		}
	}
}

// read reads a card, opening it first where needed. A card that fails may have been replaced
// by another of the same number, so it is opened anew once.
func (m *mixers) read(ctx context.Context, name string) {
	var err error
	for range 2 {
		if err = m.tryRead(ctx, name); err == nil {
			return
		}
		if c := m.cards[name]; c != nil {
			_ = c.card.Close()
			delete(m.cards, name)
		}
	}
	m.failed[name] = err
}

func (m *mixers) tryRead(ctx context.Context, name string) error {
	c := m.cards[name]
	if c == nil {
		card, err := openALSA(filepath.Join("/dev/snd", name))
		if err != nil {
			return err
		}
		card.Watch(m.notify)
		c = &mixer{card: card}
		m.cards[name] = c
	}
	values, err := c.card.Controls(ctx)
	if err != nil {
		return err
	}
	c.values = values
	return nil
}

// notes tells which cards' switches are unknown.
func (m *mixers) notes() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(m.failed)) {
		out = append(out, fmt.Sprintf("the switches of a sound card are unknown: %v", m.failed[name]))
	}
	return out
}

func (m *mixers) close() {
	for _, c := range m.cards {
		_ = c.card.Close()
	}
}
