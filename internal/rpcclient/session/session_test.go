package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/rpcclient/link/linktest"
	"sidetone/internal/rpcclient/policy"
)

// fakeLink is a link without a network: it takes a given time for every answer.
type fakeLink struct {
	takes  time.Duration
	answer func(n int) error // of the n-th list, counted from 0; nil accepts all
	gone   chan struct{}
	late   chan struct{} // closed: the answer that was given up has come after all

	mu   sync.Mutex
	sent []sentList
}

type sentList struct {
	at   time.Time
	mute devices.Tri // of the only microphone; Unknown also for an empty list
	size int
}

func (l *fakeLink) Deliver(ctx context.Context, nonce string, payload []byte) error {
	var r linktest.Command
	if err := json.Unmarshal(payload, &r); err != nil {
		return err
	}
	if r.Nonce != nonce || r.Cmd != linktest.Name {
		return errors.New("the payload does not bear its nonce")
	}
	s := sentList{at: time.Now(), size: len(r.Args.Devices), mute: muteIn(r.Args.Devices)}
	l.mu.Lock()
	n := len(l.sent)
	l.sent = append(l.sent, s)
	l.mu.Unlock()
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return link.ErrNoAnswer
		}
		return ctx.Err()
	case <-l.gone:
		return link.ErrLost
	}
	if l.answer != nil {
		return l.answer(n)
	}
	return nil
}

// muteIn is the mute of the last microphone.
func muteIn(list []devices.Device) (mute devices.Tri) {
	for _, d := range list {
		switch {
		case d.Type != devices.AudioInput:
		case d.HardwareMute == nil:
			mute = devices.Unknown
		default:
			mute = devices.Of(*d.HardwareMute)
		}
	}
	return mute
}

// muteOf is what a message says of the headset's mute.
func muteOf(payload []byte) devices.Tri {
	for value, mute := range map[string]devices.Tri{"true": devices.True, "false": devices.False} {
		if bytes.Contains(payload, []byte(`"hardware_mute":`+value)) {
			return mute
		}
	}
	return devices.Unknown
}

func (l *fakeLink) Await(ctx context.Context) error {
	select {
	case <-l.late:
		return nil
	case <-l.gone:
		return link.ErrLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *fakeLink) Lost() <-chan struct{} { return l.gone }
func (l *fakeLink) Cause() error          { return link.ErrLost }
func (l *fakeLink) Close()                {}

func (l *fakeLink) lists() []sentList {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]sentList(nil), l.sent...)
}

// testSession is a session on a fake link.
type testSession struct {
	*Session
	link   *fakeLink
	cancel context.CancelFunc
	result chan error // what run returned

	mu         sync.Mutex
	deliveries []Delivery
	held       uint64   // the generation that the client has
	muted      []string // what it may take for muted since a list was refused
	missing    []string
	again      time.Time       // when that is sent again
	pauses     []time.Duration // after each refused list
	queued     []time.Time     // each time a token was waited for: until when
	silence    error           // why the client was called unsupported
	slowSince  []time.Time     // each time an answer was overdue: since when
	endure     bool            // wait for a client that does not answer
}

func (b *testSession) Delivered(d Delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries = append(b.deliveries, d)
}

func (b *testSession) UpToDate(g uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = g
}

func (b *testSession) Refused(_ error, again time.Time, newest devices.Snapshot, held *devices.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.muted, b.missing = MutedIn(held), MissingIn(held, newest)
	if again.Equal(b.again) {
		return
	}
	b.again = again
	b.pauses = append(b.pauses, time.Until(again))
}

func (b *testSession) Slow(sent *devices.Snapshot, since time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.slowSince = append(b.slowSince, since)
}

func usualLimits() Limits {
	return Limits{Overdue: policy.AnswerTimeout, Silent: policy.AnswerTimeout, Hung: policy.HTTPTimeout}
}

func (b *testSession) Waits(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queued = append(b.queued, until)
}

func (b *testSession) Unsupported(err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.silence = err
	if b.endure {
		return nil
	}
	return err
}

// runSession starts a session; it must be called inside synctest.Test.
func runSession(t *testing.T, l *fakeLink) *testSession {
	l.gone = make(chan struct{})
	b := &testSession{link: l, result: make(chan error, 1)}
	b.Session = New(Options{
		Link: l, Over: policy.WebSocket, Outbox: NewOutbox(), Limits: usualLimits, Jitter: rand.Float64, Observer: b,
		EndWhenIdle: context.Background(),
	})
	b.holds = new(devices.Snapshot) // as if it had accepted an empty list
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel = cancel
	t.Cleanup(cancel)
	go func() { b.result <- b.Run(ctx) }()
	return b
}

// seen returns what the session has told so far.
func (b *testSession) seen() (deliveries []Delivery, held uint64, waits []time.Duration) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deliveries, b.held, b.pauses
}

func (b *testSession) put(generation uint64, mute devices.Tri) {
	s := linktest.Headset(mute)
	s.Generation, s.At = generation, time.Now()
	b.Outbox.Put(s)
}

func TestSessionSaysNothingBeforeTheFirstSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		time.Sleep(time.Hour)
		require.Empty(t, b.link.lists())
		b.put(1, devices.False)
		synctest.Wait()
		require.Len(t, b.link.lists(), 1)
	})
}

func TestSessionSendsOnlyWhatTheClientLacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		for g, mute := range []devices.Tri{devices.False, devices.False, devices.True, devices.True} {
			b.put(uint64(g+1), mute)
			synctest.Wait()
		}
		require.Len(t, b.link.lists(), 2)
		deliveries, held, _ := b.seen()
		require.Equal(t, uint64(4), held, "a generation that looks the same to the client counts as delivered")
		require.Equal(t, uint64(3), deliveries[1].Snapshot.Generation)
		require.True(t, deliveries[0].First)
		require.False(t, deliveries[1].First)
	})
}

func TestSessionKeepsOneListInFlightAndTheNewestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{takes: time.Second})
		b.put(1, devices.False)
		synctest.Wait()
		for g := uint64(2); g <= 10; g++ {
			b.put(g, devices.Of(g%2 == 0))
			time.Sleep(50 * time.Millisecond)
		}
		require.Len(t, b.link.lists(), 1, "one in flight")
		time.Sleep(10 * time.Second)
		lists := b.link.lists()
		require.Len(t, lists, 2, "what was overtaken is not sent")
		require.Equal(t, devices.True, lists[1].mute)
		deliveries, _, _ := b.seen()
		require.Equal(t, uint64(10), deliveries[1].Snapshot.Generation)
		require.Equal(t, time.Second, deliveries[1].RoundTrip)
		require.Equal(t, 1600*time.Millisecond, deliveries[1].SinceOS, "from the event at 400 ms to the answer at 2 s")
	})
}

// TestSessionPacesAStorm toggles faster than anything may be sent.
func TestSessionPacesAStorm(t *testing.T) {
	t.Parallel()
	for name, takes := range map[string]time.Duration{"instant answers": 0, "slow answers": 30 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := runSession(t, &fakeLink{takes: takes})
				var g uint64
				for range 5000 {
					g++
					b.put(g, devices.Of(g%2 == 0))
					time.Sleep(time.Millisecond)
				}
				time.Sleep(time.Minute)
				lists := b.link.lists()
				require.Greater(t, len(lists), 100, "the storm lasted for five seconds")
				require.LessOrEqual(t, mostPerSecond(times(lists)), 50)
				require.Equal(t, devices.True, lists[len(lists)-1].mute, "the last state is always sent")
				last := uint64(0)
				deliveries, _, _ := b.seen()
				for _, d := range deliveries {
					require.Greater(t, d.Snapshot.Generation, last, "never an older state after a newer")
					last = d.Snapshot.Generation
				}
			})
		})
	}
}

// TestSessionSendsAStateThatIsAlone shows that pacing costs a lone change nothing.
func TestSessionSendsAStateThatIsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		for g := uint64(1); g <= 20; g++ {
			b.put(g, devices.Of(g%2 == 0))
			now := time.Now()
			synctest.Wait()
			lists := b.link.lists()
			require.Len(t, lists, int(g))
			require.Equal(t, now, lists[g-1].at)
			time.Sleep(time.Second)
		}
	})
}

// TestSessionTakesBackAToggle shows that a state which returns to what the client has while
// its turn is awaited is not sent.
func TestSessionTakesBackAToggle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		for g := uint64(1); g <= paceBurst; g++ { // uses up the burst; ends with true
			b.put(g, devices.Of(g%2 == 0))
			synctest.Wait()
		}
		b.put(paceBurst+1, devices.False)
		synctest.Wait()
		b.put(paceBurst+2, devices.True)
		time.Sleep(time.Hour)
		require.Len(t, b.link.lists(), paceBurst)
		_, held, _ := b.seen()
		require.Equal(t, uint64(paceBurst+2), held)
	})
}

func refuse(int) error {
	return &link.Refusal{Phase: link.PhaseCommand, Code: link.CodeInvalidClientID, Message: "devices[0] is bad"}
}

func TestSessionRepeatsARefusedListWithGrowingWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{answer: refuse})
		b.put(1, devices.True)
		time.Sleep(2 * time.Hour)
		deliveries, _, waits := b.seen()
		lists := b.link.lists()
		require.Greater(t, len(lists), 10)
		for i, w := range waits[:len(lists)-1] {
			require.Equal(t, w, lists[i+1].at.Sub(lists[i].at), "the wait that was announced")
			if i > 0 && waits[i-1] < refusedMax/2 {
				require.Greater(t, w, waits[i-1])
			}
			require.LessOrEqual(t, w, refusedMax*6/5)
		}
		require.Empty(t, deliveries)
		require.Empty(t, b.result, "a refused list does not end the session")
	})
}

func TestSessionStartsTheWaitingOverForAnotherList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{answer: refuse})
		for i := range 12 {
			b.put(uint64(i+1), devices.Of(i%2 == 0))
			time.Sleep(refusedFirst / 4)
		}
		_, _, waits := b.seen()
		require.Len(t, waits, 12)
		for _, w := range waits {
			require.LessOrEqual(t, w, refusedFirst*6/5)
		}
	})
}

func TestSessionSendsAChangedListAtOnceAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{answer: func(n int) error {
			if n < 8 || n == 9 {
				return refuse(n)
			}
			return nil
		}}
		b := runSession(t, l)
		b.put(1, devices.True)
		for len(l.lists()) < 8 {
			time.Sleep(time.Second)
		}
		synctest.Wait()
		changed := time.Now()
		b.put(2, devices.False)
		synctest.Wait()
		lists := l.lists()
		require.Len(t, lists, 9)
		require.Equal(t, changed, lists[8].at)
		deliveries, _, _ := b.seen()
		require.Len(t, deliveries, 1)

		time.Sleep(time.Second)
		b.put(3, devices.True)
		synctest.Wait()
		_, _, waits := b.seen()
		require.Len(t, waits, 9)
		require.LessOrEqual(t, waits[8], refusedFirst*6/5, "success makes the waits short again")
	})
}

// TestSessionBelievesNothingAfterARefusal shows that the list which the client had before the
// refused one is sent again, although it is what was delivered last.
func TestSessionBelievesNothingAfterARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{answer: func(n int) error {
			if n == 1 {
				return refuse(n)
			}
			return nil
		}})
		b.put(1, devices.False)
		synctest.Wait()
		b.put(2, devices.True)
		synctest.Wait()
		b.put(3, devices.False)
		synctest.Wait()
		require.Len(t, b.link.lists(), 3)
		deliveries, _, _ := b.seen()
		require.Equal(t, uint64(3), deliveries[1].Snapshot.Generation)
	})
}

func TestSessionResends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{takes: time.Second})
		b.Outbox.AskResend() // before there is anything to send
		synctest.Wait()
		require.Empty(t, b.link.lists())
		b.put(1, devices.True)
		time.Sleep(500 * time.Millisecond)
		b.Outbox.AskResend() // while a list is in flight: it may have been taken before the client lost it
		time.Sleep(time.Minute)
		require.Len(t, b.link.lists(), 2)
		b.Outbox.AskResend()
		time.Sleep(time.Minute)
		require.Len(t, b.link.lists(), 3)
		time.Sleep(time.Hour)
		require.Len(t, b.link.lists(), 3, "once for each request")
	})
}

func TestSessionEnds(t *testing.T) {
	t.Parallel()
	notAuthorized := &link.Refusal{Phase: link.PhaseCommand, Code: link.CodeNotAuthorized}
	cases := map[string]struct {
		link *fakeLink
		end  func(*testSession) // what ends it, given that a list was put
		want error
	}{
		"stop while idle":          {&fakeLink{}, func(b *testSession) { b.cancel() }, context.Canceled},
		"stop while in flight":     {&fakeLink{takes: time.Second}, func(b *testSession) { b.cancel() }, context.Canceled},
		"stop after a refusal":     {&fakeLink{answer: refuse}, func(b *testSession) { b.cancel() }, context.Canceled},
		"lost while idle":          {&fakeLink{}, func(b *testSession) { close(b.link.gone) }, link.ErrLost},
		"lost while in flight":     {&fakeLink{takes: time.Second}, func(b *testSession) { close(b.link.gone) }, link.ErrLost},
		"lost after a refusal":     {&fakeLink{answer: refuse}, func(b *testSession) { close(b.link.gone) }, link.ErrLost},
		"no answer":                {&fakeLink{takes: time.Hour}, func(*testSession) {}, link.ErrNoAnswer},
		"not authorized":           {&fakeLink{answer: func(int) error { return notAuthorized }}, func(*testSession) {}, notAuthorized},
		"refused while connecting": {&fakeLink{answer: func(int) error { return &link.Refusal{Phase: link.PhaseConnect, Code: 4000} }}, func(*testSession) {}, &link.Refusal{Phase: link.PhaseConnect, Code: 4000}},
		"no RPC":                   {&fakeLink{answer: func(int) error { return link.ErrNotRPC }}, func(*testSession) {}, link.ErrNotRPC},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := runSession(t, c.link)
				b.put(1, devices.True)
				synctest.Wait()
				c.end(b)
				require.ErrorIs(t, <-b.result, c.want)
			})
		})
	}
}

func TestSessionEndsWhilePacing(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testSession){
		"stop": func(b *testSession) { b.cancel() },
		"lost": func(b *testSession) { close(b.link.gone) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := runSession(t, &fakeLink{})
				for g := uint64(1); g <= paceBurst+1; g++ {
					b.put(g, devices.Of(g%2 == 0))
					synctest.Wait()
				}
				before := time.Now()
				require.Len(t, b.link.lists(), paceBurst)
				end(b)
				require.Error(t, <-b.result)
				require.Equal(t, before, time.Now(), "at once")
				require.Len(t, b.link.lists(), paceBurst)
			})
		})
	}
}

func TestFarewellIsAnEmptyListAndHasADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		b.put(1, devices.True)
		synctest.Wait()
		b.cancel()
		<-b.result
		require.NoError(t, b.Farewell(context.Background(), policy.ExitClear))
		lists := b.link.lists()
		require.Zero(t, lists[len(lists)-1].size)

		b.link.takes = time.Hour
		before := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, b.Farewell(ctx, policy.ExitClear), link.ErrNoAnswer)
		require.Equal(t, 500*time.Millisecond, time.Since(before))
	})
}

// A mute that is on its way when the agent stops is taken back as one that has arrived. A client that has refused it may take the list
// without it.
func TestFarewellTakesBackAMuteInFlight(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]*fakeLink{
		"accepted": {}, "in flight": {takes: time.Second}, "refused": {answer: refuse},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := runSession(t, to)
				b.put(1, devices.True)
				synctest.Wait()
				b.cancel()
				<-b.result
				b.link.answer = nil
				require.NoError(t, b.Farewell(context.Background(), policy.ExitUnmute))
				lists := b.link.lists()
				require.Len(t, lists, 2)
				require.Equal(t, lists[0].size, lists[1].size)
				require.False(t, lists[1].mute.Known())
			})
		})
	}
}

// The newest list may wait for the answer to the one before.
func TestFarewellIsOfTheNewestList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := runSession(t, &fakeLink{})
		b.put(1, devices.True)
		synctest.Wait()
		b.link.takes = time.Hour
		b.Outbox.Put(devices.Snapshot{Generation: 2, At: time.Now()})
		synctest.Wait()
		b.put(3, devices.True)
		synctest.Wait()
		b.cancel()
		<-b.result
		b.link.takes = 0
		require.NoError(t, b.Farewell(context.Background(), policy.ExitUnmute))
		lists := b.link.lists()
		require.Len(t, lists, 3)
		require.Equal(t, lists[0].size, lists[2].size)
		require.False(t, lists[2].mute.Known())
	})
}

func TestMailboxKeepsTheNewest(t *testing.T) {
	t.Parallel()
	m := NewOutbox()
	_, ok, resend, _ := m.Take()
	require.False(t, ok)
	require.False(t, resend)
	for g := uint64(1); g <= 3; g++ {
		m.Put(devices.Snapshot{Generation: g})
	}
	m.AskResend()
	require.Len(t, m.news, 1)
	s, ok, resend, _ := m.Take()
	require.True(t, ok)
	require.True(t, resend)
	require.Equal(t, uint64(3), s.Generation)
	require.Empty(t, m.news, "what was taken wakes nobody")
	s, ok, resend, _ = m.Take()
	require.True(t, ok, "the newest stays")
	require.False(t, resend)
	require.Equal(t, uint64(3), s.Generation)
}
