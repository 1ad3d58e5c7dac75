package audio

import (
	"context"
	"errors"
	"sync"
	"time"
)

// mixerTimeout is how long a card may take to tell its controls. What it said before counts no
// longer then.
const mixerTimeout = time.Second

var errMixerHangs = errors.New("the sound card's driver does not answer: unplug the device and plug it in again")

// mixerCard is an open card; see alsaCard.
type mixerCard interface {
	Controls() (mixerValues, error)
	Watch(notify func())
	Close() error
}

// A mixer reads one card in a goroutine of its own, one reading at a time: a driver that hangs
// costs one goroutine and one open file, however often it is asked.
type mixer struct {
	open   func() (mixerCard, error)
	notify func()
	card   mixerCard // owned by the goroutine while reading, else guarded by mu

	mu       sync.Mutex
	wanted   bool
	reading  bool
	again    bool // a change came during the reading
	released bool // so did the end of the card: what is read counts no more
	values   mixerValues
	err      error
	answer   chan struct{} // closed by first: there is something to say, values or an error
	first    func()
}

func newMixer(open func() (mixerCard, error), notify func()) *mixer {
	answer := make(chan struct{})
	return &mixer{open: open, notify: notify, answer: answer, first: sync.OnceFunc(func() { close(answer) })}
}

// want says that there are endpoints of the card, and returns whether that is new.
func (m *mixer) want() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.wanted
	m.wanted = true
	return !before
}

// release says that there are none any more. It returns false while the card's driver hangs: then
// a card of the same name waits for it.
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

// read has the card read, once more if it is being read. It does not wait.
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

// timeOut says that the reading takes too long.
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

// finishReading takes what was read, and returns whether to read once more. old is a card to be closed.
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

// publish is called with mu held.
func (m *mixer) publish(values mixerValues, err error) {
	news := !m.values.equal(values) || (m.err == nil) != (err == nil)
	m.values, m.err = values, err
	m.first()
	if news {
		m.notify()
	}
}

// readOnceReopened reads the card, opening it first where needed. A card that fails may have been
// replaced by another of the same number, so it is opened anew once.
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

// latest is what was read last. It waits for the first reading only, and not for long.
func (m *mixer) latest(ctx context.Context) mixerValues {
	select {
	case <-m.answer:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values
}

// failed is why the controls are unknown.
func (m *mixer) failed() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.wanted {
		return nil
	}
	return m.err
}
