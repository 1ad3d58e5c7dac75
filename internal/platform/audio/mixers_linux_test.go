package audio

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sidetone/internal/devices"
	"sidetone/internal/health"
	"sidetone/internal/health/healthtest"
	"sidetone/internal/platform"
	"sidetone/internal/signal"
)

// shelf is where mixers get their cards.
type shelf struct {
	opened, closed, read atomic.Int32
	hang                 chan struct{} // not nil: a reading waits for it
	value                devices.Tri
	err                  error
	told                 atomic.Value // what Watch was given
}

func (s *shelf) open(string) (mixerCard, error) {
	s.opened.Add(1)
	return s, nil
}

func (s *shelf) Controls() (mixerValues, error) {
	value, err := s.value, s.err
	s.read.Add(1)
	if s.hang != nil {
		<-s.hang
	}
	return mixerValues{switches: map[string]devices.Tri{"Mic": value}}, err
}

func (s *shelf) Watch(notify func()) { s.told.Store(notify) }
func (s *shelf) notify()             { s.told.Load().(func())() }

func (s *shelf) Close() error {
	s.closed.Add(1)
	return nil
}

func mixersOf(s *shelf) (*mixers, signal.Signal) {
	news := signal.New()
	m := newMixers(news.Notify)
	m.open = s.open
	return m, news
}

// fillOne is what the switches of one microphone's card are.
func fillOne(t *testing.T, m *mixers) map[string]devices.Tri {
	endpoints := []devices.Endpoint{{ID: "mic", Type: devices.AudioInput, Mixer: "controlC1"}, {ID: "ear", Type: devices.AudioOutput, Mixer: "controlC2"}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	m.fill(ctx, endpoints)
	return endpoints[0].Controls
}

func TestMixerTellsChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{value: devices.True}
		m, news := mixersOf(s)
		require.Equal(t, map[string]devices.Tri{"Mic": devices.True}, fillOne(t, m), "the first list is whole")
		<-news
		s.value = devices.False
		s.notify()
		<-news
		require.Equal(t, map[string]devices.Tri{"Mic": devices.False}, fillOne(t, m))
		s.notify()
		synctest.Wait()
		require.Empty(t, news, "nothing has changed")
		require.EqualValues(t, 3, s.read.Load())
		m.changed()
		fillOne(t, m)
		synctest.Wait()
		require.EqualValues(t, 4, s.read.Load())
		m.fill(t.Context(), nil)
		require.EqualValues(t, 1, s.closed.Load())
		require.Empty(t, m.cards)
		require.EqualValues(t, 1, s.opened.Load(), "not those of endpoints that are no microphones")
	})
}

// A driver that hangs costs the first list a moment, later ones nothing, and one goroutine and one
// open card, however often it is asked.
func TestMixerThatHangsDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{hang: make(chan struct{}), value: devices.True}
		m, news := mixersOf(s)
		start := time.Now()
		require.Nil(t, fillOne(t, m))
		require.Equal(t, mixerTimeout, time.Since(start))
		require.Contains(t, health.English.Phrases(m.notes())[0], "the switches of a sound card are unknown: the sound card's driver does not answer")
		for range 100 {
			m.changed()
			require.Nil(t, fillOne(t, m))
			s.notify()
		}
		m.fill(t.Context(), nil) // its endpoints go
		require.Empty(t, m.notes())
		require.Nil(t, fillOne(t, m), "another card of its name waits for it")
		require.Equal(t, mixerTimeout, time.Since(start))
		require.EqualValues(t, 1, s.read.Load())
		require.EqualValues(t, 1, s.opened.Load())

		<-news
		close(s.hang)
		<-news
		require.Equal(t, map[string]devices.Tri{"Mic": devices.True}, fillOne(t, m))
		require.Empty(t, m.notes())
		require.EqualValues(t, 2, s.opened.Load(), "the card of before is not that of now")
		m.close()
		require.EqualValues(t, 2, s.closed.Load())
	})
}

// What a card said before it hangs counts no longer.
func TestMixerThatBeginsToHangIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{value: devices.True}
		m, news := mixersOf(s)
		fillOne(t, m)
		<-news
		s.hang = make(chan struct{})
		start := time.Now()
		s.notify()
		require.NotNil(t, fillOne(t, m))
		require.Zero(t, time.Since(start), "the server's news do not wait")
		<-news
		require.Nil(t, fillOne(t, m))
		require.Equal(t, mixerTimeout, time.Since(start))
		m.close()
		close(s.hang)
		synctest.Wait()
		require.EqualValues(t, 1, s.closed.Load())
	})
}

func TestMixerThatFailsIsOpenedOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{err: errors.New("gone")}
		m, _ := mixersOf(s)
		require.Nil(t, fillOne(t, m))
		require.Equal(t, []string{"the switches of a sound card are unknown: gone"}, health.English.Phrases(m.notes()))
		require.EqualValues(t, 2, s.opened.Load())
		require.Nil(t, fillOne(t, m))
		require.EqualValues(t, 2, s.opened.Load(), "not before something has changed")
		s.err, s.value = nil, devices.False
		m.changed()
		fillOne(t, m)
		synctest.Wait()
		require.Equal(t, map[string]devices.Tri{"Mic": devices.False}, fillOne(t, m))
		require.Empty(t, m.notes())
		m.close()
	})
}

// A container has the sound server's socket, but not the nodes of cards. To plug the device in again makes none.
func TestMixerThatIsHiddenIsSaidWhereItMatters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := mixersOf(&shelf{})
		m.open = func(name string) (mixerCard, error) {
			return nil, &fs.PathError{Op: "open the sound card's controls", Path: "/dev/snd/" + name, Err: unix.ENOENT}
		}
		matters := true
		m.wanted = func(devices.Endpoint) bool { return matters }
		require.Nil(t, fillOne(t, m))
		notes := m.notes()
		require.Len(t, notes, 1)
		require.Equal(t, health.SoundCardHidden, notes[0].Because[0].Code)
		require.Equal(t, "Run the agent outside the container, or give the container access to the node", strings.TrimSuffix(health.English.Remedy(notes[0]), "."))
		healthtest.Raised(t, notes...)
		matters = false
		require.Nil(t, fillOne(t, m))
		require.Empty(t, m.notes())
		m.close()
	})
}

// lazy is a source that reads only what has changed.
type lazy struct {
	wake      signal.Signal
	refreshed chan bool // one for each Read
	fresh     bool
}

func (l *lazy) Name() string { return "lazy" }
func (l *lazy) Close() error { return nil }

func (l *lazy) Read(context.Context) (platform.Reading, error) {
	l.refreshed <- l.fresh
	l.fresh = false
	return platform.Reading{}, nil
}

func (l *lazy) Wait(ctx context.Context) error {
	_, err := l.wake.Wait(ctx, 0, nil)
	l.fresh = l.fresh || ctx.Err() != nil
	return err
}

// Whoever asks for a fresh reading gets one, whatever event comes at the same moment.
func TestAKickThatMeetsAnEventReadsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lazy{wake: signal.New(), refreshed: make(chan bool)}
		ctx, cancel := context.WithCancel(t.Context())
		kick := make(chan struct{})
		go platform.Follow(ctx, l, kick, func(devices.Observation) {})
		require.False(t, <-l.refreshed)
		for range 20 {
			synctest.Wait()
			l.wake.Notify()
			require.False(t, <-l.refreshed, "an event alone")
			l.wake.Notify()
			kick <- struct{}{}
			for !<-l.refreshed {
			}
			select { // the event, if the kick came first
			case <-l.refreshed:
			case <-time.After(time.Second):
			}
		}
		cancel()
		synctest.Wait()
	})
}

func TestAFreshReadingReadsEverything(t *testing.T) {
	a := newSource(Options{})
	defer a.Close()
	a.pending.take()
	a.mark(mixerChanged, 0)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_ = a.Wait(ended)
	what, _ := a.pending.take()
	require.NotZero(t, what&allChanged)
}
