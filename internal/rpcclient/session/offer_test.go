package session

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/rpcclient/link/linktest"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/testlab/tabletest"
)

var offerTable = tabletest.Table[offer, verdict, pause]{Lines: offers, Start: offerNewest}

func TestEveryAnswerToAnOfferIsDecided(t *testing.T) {
	t.Parallel()
	offerTable.Walk(t, tabletest.Declared[offer](t, "offer"), tabletest.Declared[verdict](t, "verdict"))
	offerTable.Shown(t, "next offer")
}

// disliked is a list with one more microphone, which a client dislikes.
func disliked(generation uint64, mute devices.Tri) devices.Snapshot {
	s := linktest.Headset(mute)
	s.Generation, s.At = generation, time.Now()
	bad := devices.Report{Device: devices.Device{Type: devices.AudioInput, ID: "Bad", Vendor: s.Devices[0].Vendor, Model: s.Devices[0].Model}}
	s.Devices = append(s.Devices, bad)
	return s
}

// TestARefusedListLeavesNoFlagThatIsOver: a device is plugged in that the client dislikes, then the user unmutes.
func TestARefusedListLeavesNoFlagThatIsOver(t *testing.T) {
	t.Parallel()
	for name, picky := range map[string]struct {
		accepts int // devices in a list at most, once the other device is there
		want    []int
	}{
		"of the new device":     {2, []int{2, 3, 3, 2}},
		"of any device":         {0, []int{2, 3, 3, 2, 0}},
		"of everything for now": {-1, []int{2, 3, 3, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakeLink{}
				l.answer = func(n int) error {
					if lists := l.lists(); n > 0 && lists[n].size > picky.accepts {
						return refuse(n)
					}
					return nil
				}
				b := runSession(t, l)
				sizes := func() (all []int) {
					synctest.Wait()
					for _, s := range l.lists() {
						all = append(all, s.size)
					}
					return all
				}
				b.put(1, devices.True)
				synctest.Wait()
				b.Outbox.Put(disliked(2, devices.True))
				require.Equal(t, picky.want[:2], sizes(), "the mute that it holds is not over")
				require.Equal(t, []string{"Mic"}, b.muted)
				require.Equal(t, []string{"Bad"}, b.missing, "what it is not told of")

				b.Outbox.Put(disliked(3, devices.False))
				require.Equal(t, picky.want, sizes())
				last := l.lists()[len(picky.want)-1]
				require.NotEqual(t, devices.True, last.mute)
				require.Equal(t, picky.accepts < 0, len(b.muted) > 0, "what it may take for muted")
				require.Equal(t, picky.accepts == 0, len(b.missing) > 1, "it was told of none")

				sent := len(l.lists())
				time.Sleep(repeatSlow)
				synctest.Wait()
				require.Greater(t, len(l.lists()), sent)
				require.Equal(t, 3, l.lists()[sent].size, "the newest list is tried again")

				b.put(4, devices.True)
				synctest.Wait()
				require.Equal(t, 2, l.lists()[len(l.lists())-1-max(0, -2*picky.accepts)].size, "each change is tried at once")
			})
		})
	}
}

// TestARefusingClientMayHoldTheListOfAnotherAgent, which was killed, with a mute that nobody knows of.
func TestARefusingClientMayHoldTheListOfAnotherAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{}
		l.answer = func(n int) error {
			if l.lists()[n].size > 0 {
				return refuse(n)
			}
			return nil
		}
		b := runSession(t, l)
		synctest.Wait()
		b.holds = nil
		b.put(1, devices.False)
		synctest.Wait()
		require.Zero(t, l.lists()[len(l.lists())-1].size)
	})
}

// TestAClientThatRefusesEverythingGetsOneEmptyList when nothing is left of what it may hold: the empty list is also the former one.
func TestAClientThatRefusesEverythingGetsOneEmptyList(t *testing.T) {
	t.Parallel()
	for name, holds := range map[string]*devices.Snapshot{"nothing known": nil, "a device that has left": {
		Devices: []devices.Report{{Device: devices.Device{Type: devices.AudioInput, ID: "Gone"}}},
	}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &fakeLink{answer: refuse}
				b := runSession(t, l)
				synctest.Wait()
				b.holds, b.MayHold = nil, holds
				b.put(1, devices.False)
				synctest.Wait()
				var sizes []int
				for _, s := range l.lists() {
					sizes = append(sizes, s.size)
				}
				require.Equal(t, []int{2, 0}, sizes)
				time.Sleep(1200 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, 2, l.lists()[2].size, "then the newest list is tried again")
			})
		})
	}
}

func TestAsOfToday(t *testing.T) {
	t.Parallel()
	was := disliked(1, devices.True)
	now := linktest.Headset(devices.False)
	now.Devices = now.Devices[1:] // the speaker has left
	got := asOfToday(&was, now)
	require.Len(t, got.Devices, 1)
	require.Equal(t, "Mic", got.Devices[0].ID)
	require.Empty(t, got.Wire()[0].Related)
	require.False(t, *got.Devices[0].HardwareMute)
	require.Empty(t, asOfToday(nil, now).Wire())
}

// TestTheNewestListIsTriedAgain although the client takes longer to accept the former one than the newest has to wait.
func TestTheNewestListIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{takes: 1500 * time.Millisecond}
		var refusing atomic.Bool
		refusing.Store(true)
		l.answer = func(n int) error {
			if refusing.Load() && l.lists()[n].size > 2 {
				return refuse(n)
			}
			return nil
		}
		b := runSession(t, l)
		b.put(1, devices.True)
		time.Sleep(5 * time.Second)
		b.Outbox.Put(disliked(2, devices.False))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		refusing.Store(false)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 3, l.lists()[len(l.lists())-1].size)
	})
}

// TestAClientIsUpToDateWhenTheDislikedDeviceLeaves: the newest list then says the same as the former one, and is delivered.
func TestAClientIsUpToDateWhenTheDislikedDeviceLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{}
		l.answer = func(n int) error {
			if n > 0 && l.lists()[n].size > 2 {
				return refuse(n)
			}
			return nil
		}
		b := runSession(t, l)
		b.put(1, devices.True)
		synctest.Wait()
		b.Outbox.Put(disliked(2, devices.False))
		synctest.Wait()
		before := len(b.deliveries)
		b.put(3, devices.False)
		synctest.Wait()
		require.Greater(t, len(b.deliveries), before)
	})
}

// TestARefusedFarewellLeavesNoMute: the client has not answered the newest list yet, and refuses what the farewell says of it.
func TestARefusedFarewellLeavesNoMute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &fakeLink{}
		l.answer = func(n int) error {
			if l.lists()[n].size > 2 {
				return refuse(n)
			}
			return nil
		}
		b := runSession(t, l)
		b.put(1, devices.True)
		synctest.Wait()
		l.takes = time.Hour
		b.Outbox.Put(disliked(2, devices.True))
		synctest.Wait()
		b.cancel()
		<-b.result
		l.takes = 0
		require.NoError(t, b.Farewell(context.Background(), policy.ExitUnmute))
		require.Zero(t, l.lists()[len(l.lists())-1].size)
	})
}
