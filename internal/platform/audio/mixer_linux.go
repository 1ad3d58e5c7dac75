package audio

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/platform"
)

// mixerTimeout is how long a card may take to read its controls. After that its earlier values no longer count.
const mixerTimeout = time.Second

var errMixerHangs = errors.New("the sound card's driver does not answer: unplug the device and plug it in again")

// mixerCard is an open card; see alsaCard.
type mixerCard interface {
	Controls() (mixerValues, error)
	Watch(notify func())
	Close() error
}

// A mixer reads one card in a goroutine of its own, one reading at a time: a driver that hangs costs one goroutine and one open file,
// however often it is read.
type mixer struct {
	open   func() (mixerCard, error)
	notify func()
	card   mixerCard // owned by the goroutine while reading is true, otherwise guarded by mu

	mu       sync.Mutex
	wanted   bool
	reading  bool
	again    bool // a change came during the reading
	released bool // the card was released during the reading, whose result is discarded
	values   mixerValues
	err      error
	answer   chan struct{} // closed by first when the first values or error are there
	first    func()
}

func newMixer(open func() (mixerCard, error), notify func()) *mixer {
	answer := make(chan struct{})
	return &mixer{open: open, notify: notify, answer: answer, first: sync.OnceFunc(func() { close(answer) })}
}

// want notes that the card has endpoints, and returns whether that is new.
func (m *mixer) want() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.wanted
	m.wanted = true
	return !before
}

// release notes that the card has no endpoints any more. It returns false while the driver hangs: then another card of that name has to
// wait.
func (m *mixer) release() bool {
	m.mu.Lock()
	m.wanted, m.values = false, mixerValues{}
	if m.reading {
		m.released = true
		m.mu.Unlock()
		return false
	}
	card := m.card
	m.card = nil
	m.mu.Unlock()
	if card != nil {
		_ = card.Close()
	}
	return true
}

// read has the card read, or read again if it is being read. It does not wait.
func (m *mixer) read() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.wanted:
	case m.reading:
		m.again = true
	default:
		m.reading = true
		go m.work(time.AfterFunc(mixerTimeout, m.timeOut))
	}
}

// timeOut discards the values because the reading takes too long.
func (m *mixer) timeOut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.reading {
		m.publish(mixerValues{}, errMixerHangs)
	}
}

func (m *mixer) work(watchdog *time.Timer) {
	defer watchdog.Stop()
	for {
		values, err := m.readOnceReopened()
		old, again := m.finishReading(values, err)
		if old != nil {
			_ = old.Close()
		}
		if !again {
			return
		}
		watchdog.Reset(mixerTimeout)
	}
}

// finishReading stores what was read, and returns whether to read again. old is a card to close.
func (m *mixer) finishReading(values mixerValues, err error) (old mixerCard, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	again = m.again
	if m.released {
		old, m.card = m.card, nil
		again = m.wanted
	} else {
		m.publish(values, err)
	}
	m.again, m.released, m.reading = false, false, again
	return old, again
}

// publish stores values and notifies of changes. mu is held.
func (m *mixer) publish(values mixerValues, err error) {
	news := !m.values.equal(values) || (m.err == nil) != (err == nil)
	m.values, m.err = values, err
	m.first()
	if news {
		m.notify()
	}
}

// readOnceReopened reads the card, which it opens if needed. A card that fails may have been replaced by another of the same number, so
// it is opened again once.
func (m *mixer) readOnceReopened() (values mixerValues, err error) {
	for range 2 {
		if m.card == nil {
			card, err := m.open()
			if err != nil {
				return mixerValues{}, err
			}
			card.Watch(m.read)
			m.card = card
		}
		if values, err = m.card.Controls(); err == nil {
			return values, nil
		}
		_ = m.card.Close()
		m.card = nil
	}
	return mixerValues{}, err
}

// latest returns the last values. It waits only for the first reading, and not for long.
func (m *mixer) latest(ctx context.Context) mixerValues {
	select {
	case <-m.answer:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values
}

// failed returns why the controls are unknown.
func (m *mixer) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.wanted {
		return nil
	}
	return m.err
}

// mixers are the ALSA cards of the present endpoints. Each is opened when its first endpoint comes, closed when the last one goes, and
// read again at its events.
type mixers struct {
	notify func()
	open   func(name string) (mixerCard, error)
	wanted func(e devices.Endpoint) bool // whether the controls are of use; nil: always
	cards  map[string]*mixer             // by control device, "controlC1"
	useful map[string]bool               // those of cards whose controls are of use
	stale  bool
}

// newMixers makes the mixers. They call notify, which must not block, when fill has something new.
func newMixers(notify func()) *mixers {
	open := func(name string) (mixerCard, error) { return openALSA(filepath.Join("/dev/snd", name)) }
	return &mixers{notify: notify, open: open, cards: make(map[string]*mixer)}
}

// changed makes the next fill read all cards again.
func (m *mixers) changed() { m.stale = true }

// needed returns the control devices of audio inputs, and notes which of them are useful.
func (m *mixers) needed(endpoints []devices.Endpoint) map[string]bool {
	needed := make(map[string]bool)
	for _, e := range endpoints {
		if e.Type == devices.AudioInput && e.Mixer != "" {
			needed[e.Mixer] = true
		}
	}
	m.useful = make(map[string]bool)
	for _, e := range endpoints {
		if needed[e.Mixer] && (m.wanted == nil || m.wanted(e)) {
			m.useful[e.Mixer] = true
		}
	}
	return needed
}

// fill sets the last known controls of its card on each audio input. Cards are read concurrently: a slow one delays only its own first
// reading, for which fill waits.
func (m *mixers) fill(ctx context.Context, endpoints []devices.Endpoint) {
	needed := m.needed(endpoints)
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

// notes says which cards' switches are unknown. A card that is hidden from this process stays so: that is told only where it matters.
func (m *mixers) notes() []health.Condition {
	var out []health.Condition
	for _, name := range slices.Sorted(maps.Keys(m.cards)) {
		err := m.cards[name].failed()
		hidden := errors.Is(err, fs.ErrNotExist)
		if err == nil || hidden && !m.useful[name] {
			continue
		}
		code := health.Unexplained
		if hidden {
			code = health.SoundCardHidden
		}
		reason := platform.Trouble(err, code, nil).Condition
		out = append(out, health.Condition{Code: health.SoundCardUnreadable, Severity: health.Warning, Because: []health.Condition{reason}})
	}
	return out
}

func (m *mixers) close() {
	for _, c := range m.cards {
		c.release()
	}
}
