package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
)

type flags = map[devices.Field]devices.Tri

func suite(ttl time.Duration, state flags) Push {
	return Push{Product: "headset", Owner: "suite", TTL: Span(ttl), State: state, At: time.Now()}
}

// push must be accepted.
func (b *bench) push(p Push) (units int) {
	b.t.Helper()
	out, err := b.Push(p)
	require.NoError(b.t, err)
	return out.Units
}

// flag is the reported value of the only microphone.
func (b *bench) flag(f devices.Field) devices.Flag {
	b.t.Helper()
	for _, r := range b.View().Snapshot.Devices {
		if r.Type == devices.AudioInput {
			return r.Flags[f]
		}
	}
	require.FailNow(b.t, "no microphone is reported")
	return devices.Flag{}
}

func TestPushComesFirstAndFallsBack(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		before := len(b.published())
		require.Equal(t, 1, b.push(suite(10*time.Second, flags{devices.HardwareMute: devices.True, devices.NoiseSuppression: devices.False})))
		require.Len(t, b.published(), before+1, "published when Push returns")
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		require.Equal(t, devices.Origin{Via: devices.ViaPush, Detail: "suite"}, b.flag(devices.HardwareMute).Origin)
		require.Equal(t, devices.False, b.flag(devices.NoiseSuppression).Value)

		time.Sleep(10*time.Second - time.Nanosecond)
		synctest.Wait()
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value, "the OS counts again")
		require.Equal(t, devices.ViaOSEndpointMute, b.flag(devices.HardwareMute).Origin.Via)
		require.False(t, b.flag(devices.NoiseSuppression).Value.Known(), "nobody else knows")
		require.Empty(t, b.View().Leases)
	})
}

func TestPushRenewsAndClears(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		b.push(suite(10*time.Second, flags{devices.HardwareMute: devices.True, devices.EchoCancellation: devices.True}))
		since := b.flag(devices.HardwareMute).Since
		time.Sleep(9 * time.Second)
		n := len(b.published())
		b.push(suite(10*time.Second, flags{devices.HardwareMute: devices.True}))
		require.Len(t, b.published(), n, "nothing new")
		time.Sleep(9 * time.Second)
		require.Equal(t, since, b.flag(devices.HardwareMute).Since)
		require.Equal(t, devices.True, b.flag(devices.EchoCancellation).Value, "what is absent stays, for as long as the lease")
		b.push(suite(10*time.Second, flags{devices.HardwareMute: devices.Unknown}))
		require.Equal(t, devices.ViaOSEndpointMute, b.flag(devices.HardwareMute).Origin.Via)
		b.push(suite(10*time.Second, flags{devices.EchoCancellation: devices.Unknown}))
		require.Empty(t, b.View().Leases)
	})
}

func TestPushOfAnOwnerWhoLeft(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		bound := suite(0, flags{devices.HardwareMute: devices.True})
		bound.Holder = "connection 7"
		b.push(bound)
		other := suite(time.Minute, flags{devices.NoiseSuppression: devices.True})
		other.Owner, other.Holder = "other", "connection 7"
		b.push(other)
		time.Sleep(24 * time.Hour / 2)
		b.push(other)
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value, "for as long as its connection lives")
		b.Release("connection 8")
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		b.Release("connection 7")
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
		require.Equal(t, devices.True, b.flag(devices.NoiseSuppression).Value, "a lease outlives the connection")
	})
}

func TestPushBeforePlugIn(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio")
		require.Zero(t, b.push(suite(time.Minute, flags{devices.HardwareMute: devices.True})))
		time.Sleep(30 * time.Second)
		b.see("audio", mic(devices.False))
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		require.Equal(t, 1, b.View().Leases[0].Units)
	})
}

func TestPushMustNameOneUnit(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		first, second := mic(devices.False), mic(devices.False)
		first.Serial = "A1"
		second.ID, second.Name, second.Container, second.Serial = "mic2", "Mic 2", "usb:1-2", "A2"
		b.see("audio", first)
		b.push(suite(time.Minute, flags{devices.HardwareMute: devices.True}))
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)

		b.see("audio", first, second)
		for _, r := range b.View().Snapshot.Devices {
			require.Equal(t, devices.Of(r.ID == "Mic"), r.Flags[devices.HardwareMute].Value, "it was said of the first")
		}
		_, err := b.Push(suite(time.Minute, flags{devices.HardwareMute: devices.True}))
		var ambiguous *AmbiguousError
		require.ErrorAs(t, err, &ambiguous)
		require.Equal(t, []string{"A1", "A2"}, ambiguous.Serials())
		require.EqualError(t, err, `2 products "headset" are plugged in, say which with its serial: A1, A2`)
		equal := AmbiguousError{"headset", []devices.Unit{{Serial: "A1"}, {Serial: "A1"}, {}}}
		require.EqualError(t, &equal, `3 products "headset" are plugged in, and no serial numbers tell them apart`)

		named := suite(time.Minute, flags{devices.HardwareMute: devices.True})
		named.Serial = "A2"
		require.Equal(t, 1, b.push(named))
		for _, r := range b.View().Snapshot.Devices {
			require.Equal(t, devices.True, r.Flags[devices.HardwareMute].Value)
		}
		unknown := named
		unknown.Product = "headste"
		_, err = b.Push(unknown)
		var no *UnknownProductError
		require.ErrorAs(t, err, &no)
		require.Equal(t, []string{"headset"}, no.Known)
	})
}

// What was said of one unit is taken back without a serial number, too, while another one is there.
func TestPushIsTakenBackWhileItIsAmbiguous(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		first, second := mic(devices.False), mic(devices.False)
		first.Serial = "A1"
		second.ID, second.Name, second.Container, second.Serial = "mic2", "Mic 2", "usb:1-2", "A2"
		b.see("audio", first)
		b.push(suite(time.Minute, flags{devices.HardwareMute: devices.True}))
		b.see("audio", first, second)
		_, err := b.Push(suite(time.Hour, nil))
		require.ErrorAs(t, err, new(*AmbiguousError), "it would be for longer")
		require.Len(t, b.View().Leases, 1, "refused, it changes nothing")
		require.Equal(t, 2, b.push(suite(time.Minute, flags{devices.HardwareMute: devices.Unknown})))
		require.Empty(t, b.View().Leases)
		b.see("audio", first)
		time.Sleep(grace)
		synctest.Wait()
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
	})
}

// What is refused because it may be of several units still replaces what its owner has said before: of one of them, that may be over.
func TestAnAmbiguousPushEndsWhatItsOwnerNoLongerSays(t *testing.T) {
	for name, c := range map[string]struct {
		push func(*Push)
		want devices.Tri
	}{
		"the contrary": {func(p *Push) { p.State = flags{devices.HardwareMute: devices.False} }, devices.Unknown},
		"the same":     {func(*Push) {}, devices.True},
		"another flag": {func(p *Push) { p.State = flags{devices.NoiseSuppression: devices.True} }, devices.True},
		"taken back beside another flag": {func(p *Push) {
			p.State = flags{devices.HardwareMute: devices.Unknown, devices.NoiseSuppression: devices.True}
		}, devices.Unknown},
		"by another owner": {func(p *Push) { p.Owner, p.State = "third", flags{devices.HardwareMute: devices.False} }, devices.True},
		"overtaken":        {func(p *Push) { p.Seq, p.State = 1, flags{devices.HardwareMute: devices.False} }, devices.True},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				first, second := mic(devices.Unknown), mic(devices.Unknown)
				second.ID, second.Name, second.Container = "mic2", "Mic 2", "usb:1-2"
				b.see("audio", first)
				p := suite(time.Hour, muteOn)
				p.Seq = 2
				b.push(p)
				b.see("audio", first, second)
				p.Seq = 3
				c.push(&p)
				_, err := b.Push(p)
				require.ErrorAs(t, err, new(*AmbiguousError))
				require.Equal(t, map[string]devices.Tri{"Mic": c.want, "Mic 2": devices.Unknown}, b.mutes())
			})
		})
	}
}

// by is a push of another owner.
func by(owner string, ttl time.Duration, mute devices.Tri) Push {
	p := suite(ttl, flags{devices.HardwareMute: mute})
	p.Owner = owner
	return p
}

func TestPushesOfSeveralOwners(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		b.push(suite(24*time.Hour, flags{devices.HardwareMute: devices.True, devices.NoiseSuppression: devices.True}))
		time.Sleep(time.Second)
		b.push(by("third", 24*time.Hour, devices.True))
		require.Equal(t, "third", b.flag(devices.HardwareMute).Origin.Detail, "the later one is believed")
		in, r := b.Inputs()
		considered := r.Explain(in)[mic(devices.False).Key()][devices.HardwareMute]
		require.Len(t, considered, 3)
		require.Equal(t, []string{"third", "suite", "mic"}, []string{considered[0].Flag.Origin.Detail, considered[1].Flag.Origin.Detail, considered[2].Flag.Origin.Detail})
		require.Equal(t, "sources[0]", considered[2].Rule)

		time.Sleep(time.Second)
		b.push(by("other", 10*time.Second, devices.False))
		require.Equal(t, "other", b.flag(devices.HardwareMute).Origin.Detail)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, "mic", b.flag(devices.HardwareMute).Origin.Detail, "what was said before the contrary does not come back")
		require.Equal(t, devices.True, b.flag(devices.NoiseSuppression).Value, "of this flag nobody said anything else")
		require.Len(t, b.View().Leases, 1)
	})
}

func TestPushThatAgreesEndsNothing(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		b.push(by("suite", time.Hour, devices.True))
		time.Sleep(time.Second)
		b.push(by("other", 10*time.Second, devices.True))
		b.push(by("silent", 10*time.Second, devices.Unknown))
		time.Sleep(time.Minute)
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		require.Equal(t, "suite", b.flag(devices.HardwareMute).Origin.Detail)
	})
}

// An owner who repeats what it said, after another said the contrary, says it anew.
func TestPushIsRepeatedAfterTheContrary(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.Unknown))
		b.push(by("suite", time.Hour, devices.False))
		time.Sleep(time.Second)
		b.push(by("other", time.Hour, devices.True)) // and crashes
		time.Sleep(time.Second)
		b.push(by("suite", time.Minute, devices.False))
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
		time.Sleep(2 * time.Minute)
		require.False(t, b.flag(devices.HardwareMute).Value.Known(), "neither's word is left")
		require.Empty(t, b.View().Leases)
	})
}

// Both waited; to which headset they belong, and that it is one, is known when it comes.
func TestPushesThatWaitContradict(t *testing.T) {
	for name, late := range map[string]bool{"while the newer one waits": false, "when the newer one has ended": true} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.see("audio")
				b.push(by("suite", time.Hour, devices.True))
				time.Sleep(time.Second)
				named := by("other", time.Minute, devices.False)
				named.Serial = "A1"
				b.push(named)
				if late {
					time.Sleep(2 * time.Minute)
				}
				m := mic(devices.Unknown)
				m.Serial = "A1"
				b.see("audio", m)
				want := devices.False
				if late {
					want = devices.Unknown
				}
				require.Equal(t, want, b.flag(devices.HardwareMute).Value)
			})
		})
	}
}

// What is said of one headset says nothing of another.
func TestPushOfAnotherUnitContradictsNothing(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		first, second := mic(devices.Unknown), mic(devices.Unknown)
		first.Serial = "A1"
		second.ID, second.Name, second.Container, second.Serial = "mic2", "Mic 2", "usb:1-2", "A2"
		b.see("audio", first, second)
		for serial, value := range map[string]devices.Tri{"A1": devices.True, "A2": devices.False} {
			p := by("owner of "+serial, time.Hour, value)
			p.Serial = serial
			b.push(p)
			time.Sleep(time.Second)
		}
		for _, r := range b.View().Snapshot.Devices {
			require.Equal(t, devices.Of(r.ID == "Mic"), r.Flags[devices.HardwareMute].Value)
		}
	})
}

// What an owner says of one flag gives what it said of another no new weight.
func TestPushOfAnotherFlag(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		push := func(owner string, state flags) {
			time.Sleep(time.Second)
			p := suite(time.Minute, state)
			p.Owner = owner
			b.push(p)
		}
		push("suite", flags{devices.HardwareMute: devices.True})
		push("other", flags{devices.HardwareMute: devices.False})
		push("suite", flags{devices.NoiseSuppression: devices.True})
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value, "other has spoken later of it")
		require.Equal(t, devices.True, b.flag(devices.NoiseSuppression).Value)
		push("suite", flags{devices.HardwareMute: devices.Unknown})
		push("suite", flags{devices.HardwareMute: devices.True})
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
	})
}

func TestLatePushLoses(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		p := suite(time.Minute, flags{devices.HardwareMute: devices.True})
		p.Seq = 7
		b.push(p)
		b.push(p) // a repetition whose first answer was lost
		late := suite(time.Minute, flags{devices.HardwareMute: devices.False})
		late.Seq = 6
		_, err := b.Push(late)
		require.ErrorIs(t, err, ErrOvertaken)
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		b.push(suite(time.Minute, flags{devices.HardwareMute: devices.False}))
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value, "without a number the later one counts")
	})
}

func TestLeasesHaveALimit(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		for i := range maxLeases + 1 {
			p := suite(time.Minute, flags{devices.HardwareMute: devices.True})
			p.Owner = string(rune('a' + i))
			if _, err := b.Push(p); i == maxLeases {
				require.ErrorIs(t, err, errTooMany)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, b.View().Leases)
	})
}

func TestChangedHearsEveryKindOfChange(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		changes := func(what string, f func()) {
			t.Helper()
			changed := b.Changed()
			f()
			synctest.Wait()
			select {
			case <-changed:
			default:
				require.FailNow(t, "not heard", what)
			}
		}
		changes("a device", func() { b.see("audio", mic(devices.False)) })
		changes("a failure", func() { b.fail("audio") })
		changes("a push that waits", func() {
			p := suite(time.Second, flags{devices.HardwareMute: devices.False})
			p.Serial = "not there"
			b.push(p)
		})
		changes("its end", func() { time.Sleep(time.Second) })
		changes("the end of what a failed source knew", func() { time.Sleep(stale) })
		changed := b.Changed()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case <-changed:
			require.FailNow(t, "a change of nothing")
		default:
		}
	})
}

// TestSeqOutlivesWhatItTookBack: what was overtaken may come after everything has been taken back.
func TestSeqOutlivesWhatItTookBack(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.False))
		push := func(seq uint64, ttl time.Duration, v devices.Tri) error {
			p := suite(ttl, flags{devices.HardwareMute: v})
			p.Seq = seq
			_, err := b.Push(p)
			return err
		}
		require.NoError(t, push(4, time.Minute, devices.True))
		require.NoError(t, push(6, time.Minute, devices.Unknown))
		require.Empty(t, b.View().Leases)
		require.ErrorIs(t, push(5, time.Minute, devices.True), ErrOvertaken)
		require.False(t, *b.last()[0].HardwareMute)
		time.Sleep(time.Minute)
		require.NoError(t, push(1, time.Minute, devices.True), "software that has started anew counts from the beginning")
		require.True(t, *b.last()[0].HardwareMute)
	})
}

// Software that crashed, and counts from one again, is believed over its new connection.
func TestEachConnectionCountsForItself(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", mic(devices.Unknown))
		push := func(connection string, seq uint64, mute devices.Tri) error {
			p := suite(24*time.Hour, flags{devices.HardwareMute: mute})
			p.Holder, p.Seq = connection, seq
			_, err := b.Push(p)
			return err
		}
		for seq := range uint64(50) {
			require.NoError(t, push("connection 1", seq+1, devices.Of(seq%2 == 1)))
		}
		require.ErrorIs(t, push("connection 1", 1, devices.False), ErrOvertaken)
		time.Sleep(time.Hour)
		require.NoError(t, push("connection 2", 1, devices.False))
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
		require.NoError(t, push("connection 2", 3, devices.True))
		require.ErrorIs(t, push("connection 2", 2, devices.False), ErrOvertaken)
		require.NoError(t, push("connection 2", 0, devices.False), "without a number the arrival decides")
		require.Equal(t, devices.False, b.flag(devices.HardwareMute).Value)
	})
}

// A push of another process has a time of the wall clock alone. If the clock has been set back since, it seems to be from the future: it
// neither overrules what is said later, nor outlasts a sleep.
func TestClockSetBackAfterAPush(t *testing.T) {
	for name, later := range map[string]func(b *bench) devices.Tri{
		"somebody says the contrary": func(b *bench) devices.Tri {
			b.push(suite(time.Minute, flags{devices.HardwareMute: devices.False}))
			return devices.False
		},
		"the machine sleeps": func(b *bench) devices.Tri {
			b.Resumed(time.Now())
			return devices.Unknown
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.see("audio", mic(devices.Unknown))
				other := suite(24*time.Hour, flags{devices.HardwareMute: devices.True})
				other.Owner, other.At = "other", time.Now().Round(0).Add(time.Hour)
				b.push(other)
				require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
				time.Sleep(10 * time.Minute)
				want := later(b)
				require.Equal(t, want, b.flag(devices.HardwareMute).Value)
			})
		})
	}
}
