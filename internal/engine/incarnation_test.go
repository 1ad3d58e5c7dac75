package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/catalogue"
	"sidetone/internal/devices"
	"sidetone/internal/hid"
)

// headsetAt is the microphone of a headset in one of the computer's sockets.
func headsetAt(socket string) devices.Endpoint {
	m := mic(devices.Unknown)
	m.ID, m.Name, m.Container = "mic "+socket, "Mic "+socket, "usb:"+socket
	return m
}

// mutes are the hardware mutes that are reported, by name.
func (b *bench) mutes() map[string]devices.Tri {
	b.t.Helper()
	out := make(map[string]devices.Tri)
	for _, r := range b.View().Snapshot.Devices {
		out[r.ID] = r.Flags[devices.HardwareMute].Value
	}
	return out
}

func (b *bench) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

const (
	yes    = devices.True
	untold = devices.Unknown
)

var muteOn = flags{devices.HardwareMute: devices.True}

func TestPushStaysWithItsHeadset(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", a)
		b.push(suite(24*time.Hour, muteOn))
		b.see("audio", a, other)
		require.Equal(t, map[string]devices.Tri{"Mic a": yes, "Mic b": untold}, b.mutes())
		require.Equal(t, "headset usb:a", b.View().Leases[0].Unit)
		require.Equal(t, 1, b.View().Leases[0].Units)
		b.see("audio", other)
		b.pass(grace)
		require.Equal(t, map[string]devices.Tri{"Mic b": untold}, b.mutes())
		require.Empty(t, b.View().Leases)
	})
}

func TestPushEndsWhenItsHeadsetLeaves(t *testing.T) {
	a := headsetAt("a")
	for name, c := range map[string]struct {
		away   time.Duration
		back   func(*devices.Endpoint)
		serial string
		want   devices.Tri
	}{
		"unplugged":                     {away: time.Hour, want: untold},
		"unplugged, of a serial number": {away: time.Hour, serial: "A1", want: untold},
		"for a moment":                  {away: grace / 2, want: untold},
		"in another socket":             {back: func(e *devices.Endpoint) { e.ID, e.Container = "mic b", "usb:b" }, want: untold},
		"another one, by its serial":    {back: func(e *devices.Endpoint) { e.Serial = "A2" }, want: untold},
		"the serial is told no more":    {back: func(e *devices.Endpoint) { e.Serial = "" }, want: yes},
		// Those before stay for the grace period.
		"all of its endpoints are new":      {back: func(e *devices.Endpoint) { e.ID = "mic, call" }, want: yes},
		"another one, by its serial, later": {away: time.Hour, back: func(e *devices.Endpoint) { e.Serial = "A2" }, want: untold},
		"all of its endpoints, much later":  {away: time.Hour, back: func(e *devices.Endpoint) { e.ID = "mic, call" }, want: untold},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				e := a
				e.Serial = "A1"
				b.see("audio", e)
				p := suite(24*time.Hour, muteOn)
				p.Serial = c.serial
				b.push(p)
				if c.away > 0 {
					b.see("audio")
					b.pass(c.away)
				}
				if c.back != nil {
					b.pass(time.Millisecond)
					c.back(&e)
				}
				b.see("audio", e)
				b.pass(2 * grace)
				require.Equal(t, map[string]devices.Tri{"Mic a": c.want}, b.mutes())
			})
		})
	}
}

func TestPushThatWaitsBelongsToTheFirst(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio")
		require.Zero(t, b.push(suite(time.Hour, muteOn)))
		b.see("audio", a)
		b.see("audio", a, other)
		require.Equal(t, map[string]devices.Tri{"Mic a": yes, "Mic b": untold}, b.mutes())
		b.see("audio")
		b.pass(grace)
		b.see("audio", a)
		require.Equal(t, map[string]devices.Tri{"Mic a": untold}, b.mutes())
	})
}

// Of two that come at once either may have been meant, also when one of them has gone again.
func TestPushThatMeetsTwoHasNoEffect(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio")
		b.push(suite(time.Hour, muteOn))
		b.see("audio", a, other)
		require.Equal(t, map[string]devices.Tri{"Mic a": untold, "Mic b": untold}, b.mutes())
		require.Equal(t, 2, b.View().Leases[0].Units, "'status' says why")
		b.see("audio", other)
		b.pass(grace)
		require.Equal(t, map[string]devices.Tri{"Mic b": untold}, b.mutes())
		require.Equal(t, 2, b.View().Leases[0].Units)
		b.push(suite(time.Hour, flags{devices.NoiseSuppression: devices.True}))
		require.Equal(t, map[string]devices.Tri{"Mic b": untold}, b.mutes(), "only what is said now is said of this one")
		require.Equal(t, devices.True, b.flag(devices.NoiseSuppression).Value)
		b.push(suite(time.Hour, muteOn))
		require.Equal(t, map[string]devices.Tri{"Mic b": yes}, b.mutes())
	})
}

// What was said before a sleep has ended with it; what was said since the machine woke counts.
func TestPushEndsWithSleep(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", headsetAt("a"))
		b.push(suite(24*time.Hour, flags{devices.HardwareMute: devices.True, devices.EchoCancellation: devices.True}))
		held := suite(0, flags{devices.AutomaticGainControl: devices.True})
		held.Owner, held.Holder = "other", "connection 1"
		b.push(held)
		b.pass(time.Hour)
		woke := time.Now()
		late := suite(time.Hour, muteOn)
		b.pass(time.Second)
		b.push(suite(24*time.Hour, flags{devices.EchoCancellation: devices.True}))
		b.pass(time.Second)
		b.Resumed(woke)
		require.Equal(t, devices.Unknown, b.flag(devices.HardwareMute).Value)
		require.Equal(t, devices.Unknown, b.flag(devices.AutomaticGainControl).Value, "a connection that was kept slept as well")
		require.Equal(t, devices.True, b.flag(devices.EchoCancellation).Value)
		require.Equal(t, 23*time.Hour, time.Until(b.View().Leases[0].Until).Truncate(time.Hour))

		late.At = woke.Add(-time.Nanosecond)
		_, err := b.Push(late)
		require.ErrorIs(t, err, errAsleep)
		b.push(suite(time.Hour, muteOn))
		require.Equal(t, devices.True, b.flag(devices.HardwareMute).Value)
		b.pass(time.Second)
		b.Resumed(time.Time{})
		require.Equal(t, devices.Unknown, b.flag(devices.HardwareMute).Value, "nobody knows when it woke")
		require.Empty(t, b.View().Leases)
	})
}

// A late push of a numbered series does not become the word for the next headset.
func TestSeqOutlivesTheUnit(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", headsetAt("a"))
		p := suite(time.Hour, muteOn)
		p.Seq = 7
		b.push(p)
		b.see("audio")
		b.pass(grace)
		require.Empty(t, b.View().Leases)
		p.Seq = 6
		_, err := b.Push(p)
		require.ErrorIs(t, err, ErrOvertaken)
	})
}

func TestPushEndsWhenItsProductLeavesTheCatalogue(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", headsetAt("a"))
		b.push(suite(time.Hour, muteOn))
		b.Configure(Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale})
		require.Equal(t, map[string]devices.Tri{"Mic a": yes}, b.mutes(), "the same catalogue")
		cat := *resolver(t).Catalogue
		cat.Products = []catalogue.Product{cat.Products[0]}
		cat.Products[0].ID = "another"
		r, err := catalogue.NewResolver(&cat, devices.Options{OS: devices.Linux})
		require.NoError(t, err)
		b.Configure(Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale})
		b.Configure(Settings{Resolver: resolver(t), RemovalGrace: grace, StaleAfter: stale})
		require.Equal(t, map[string]devices.Tri{"Mic a": untold}, b.mutes())
	})
}

// A headset that is switched off is gone, although its dongle is there: it may come back unmuted.
func TestPushEndsWithTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last devices.Snapshot
		var log bytes.Buffer
		e := New(Options{
			Settings: replaySettings(t, devices.Options{}), Publish: func(s devices.Snapshot) { last = s },
			Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		go e.Run(t.Context())
		e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{{
			ID: "mic", Source: "audio", Type: devices.AudioInput, Name: "Mic", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-2",
		}}})
		e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
			Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:1-2", Descriptor: replayDescriptor,
		}})
		link := func(up byte) {
			e.HID(hid.Event{Kind: hid.Report, Node: "hidraw0", Data: []byte{3, up}, At: time.Now()})
		}
		link(1)
		pushed, err := e.Push(suite(time.Hour, flags{devices.EchoCancellation: devices.True}))
		require.NoError(t, err)
		require.Equal(t, 1, pushed.Units)
		require.Equal(t, devices.True, last.Devices[0].Flags[devices.EchoCancellation].Value)
		link(0)
		require.Empty(t, last.Devices)
		require.Contains(t, log.String(), "what it was said of has left")
		link(1)
		require.Equal(t, devices.Unknown, last.Devices[0].Flags[devices.EchoCancellation].Value)

		link(0)
		pushed, err = e.Push(suite(time.Hour, flags{devices.EchoCancellation: devices.True}))
		require.NoError(t, err)
		require.Equal(t, Pushed{Left: true}, pushed, "the software has not noticed yet that the headset is off")
		time.Sleep(time.Hour)
		link(1)
		require.Equal(t, devices.Unknown, last.Devices[0].Flags[devices.EchoCancellation].Value)
		_, err = e.Push(suite(time.Hour, flags{devices.EchoCancellation: devices.True}))
		require.NoError(t, err)
		require.Equal(t, devices.True, last.Devices[0].Flags[devices.EchoCancellation].Value)
	})
}

func TestPushSaysHowLongAndForWhom(t *testing.T) {
	run(t, []string{"audio"}, func(b *bench) {
		e := headsetAt("a")
		e.Serial = "A1"
		b.see("audio", e)
		p := suite(time.Minute, muteOn)
		out, err := b.Push(p)
		require.NoError(t, err)
		require.Equal(t, Pushed{Units: 1, Until: time.Now().Add(time.Minute)}, out)
		p.Serial = "ZZ"
		out, err = b.Push(p)
		require.NoError(t, err)
		require.Equal(t, Pushed{Until: time.Now().Add(time.Minute), Others: []string{"A1"}}, out)
		p.Holder, p.TTL = "connection 1", 0
		out, err = b.Push(p)
		require.NoError(t, err)
		require.Zero(t, out.Until)
		out, err = b.Push(suite(time.Minute, flags{devices.HardwareMute: devices.Unknown}))
		require.NoError(t, err)
		require.Equal(t, Pushed{Units: 1}, out, "nothing is left of it")
	})
}

// A recording that begins while pushes are in force knows whose they are.
func TestRecordingOfBoundPushes(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", a)
		b.push(suite(time.Hour, muteOn))
		b.see("audio", a, other)
		var recording []Record
		b.Record("test", func(r Record) { recording = append(recording, r) })
		b.see("audio", other)
		b.pass(time.Minute)
		b.see("audio", a, other)
		out, err := replay(recording, Settings{}, false)
		require.NoError(t, err)
		require.True(t, out.Exact)
		require.Empty(t, out.Differences())
		require.Len(t, out.Lists, 2)
	})
}

// An older agent wrote pushes before all else, and not whose they were.
func TestOldRecordingOfPushes(t *testing.T) {
	const text = `{"t":"0s","recording":{"version":1,"sources":["audio"],"settings":%SET%,"ticks":true}}
{"t":"-5s","push":{"product":"headset","owner":"suite","ttl":"15s","state":{"hardware_mute":true}}}
{"t":"-1s","observe":{"source":"audio","endpoints":[{` + aMic + `}]}}
{"t":"0s","begin":{"generation":3}}
{"t":"2s","resumed":{"slept":"0s"}}
{"t":"2s","list":{"generation":4,"devices":[]}}
`
	set, err := replaySettings(t, devices.Options{}).MarshalJSON()
	require.NoError(t, err)
	out, err := replay(readRecords(t, string(bytes.ReplaceAll([]byte(text), []byte("%SET%"), set))), Settings{}, false)
	require.NoError(t, err)
	require.Len(t, out.Lists, 1, "the mute was in force, and ends with the sleep")
	require.Nil(t, out.Lists[0].List.Devices[0].HardwareMute)
}

// A headset whose sound is away is still plugged in, as its HID device shows: what is said of it is not of another one.
func TestPushOfAHeadsetWithoutSound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
		go e.Run(t.Context())
		echo := func() map[string]devices.Tri {
			out := make(map[string]devices.Tri)
			for _, r := range e.View().Snapshot.Devices {
				out[r.ID] = r.Flags[devices.EchoCancellation].Value
			}
			return out
		}
		sound := func(sockets ...string) {
			time.Sleep(time.Second)
			var eps []devices.Endpoint
			for _, at := range sockets {
				ep := headsetAt(at)
				ep.Serial = "0001"
				eps = append(eps, ep)
			}
			e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: eps})
			time.Sleep(2 * grace)
			synctest.Wait()
		}
		attach := func() {
			e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
				Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Serial: "0001", Descriptor: replayDescriptor,
			}})
		}
		attach()
		p := suite(time.Hour, flags{devices.EchoCancellation: devices.True})
		p.Serial = "0001"
		out, err := e.Push(p)
		require.NoError(t, err)
		require.Equal(t, Pushed{Until: time.Now().Add(time.Hour)}, out, "it waits for the sound")
		require.Equal(t, "headset usb:a", e.View().Leases[0].Unit)
		require.Zero(t, e.View().Leases[0].Units)

		sound("b")
		require.Equal(t, map[string]devices.Tri{"Mic b": untold}, echo(), "another one of the same serial number")
		sound("a", "b")
		require.Equal(t, map[string]devices.Tri{"Mic a": yes, "Mic b": untold}, echo())
		require.Equal(t, 1, e.View().Leases[0].Units)
		sound("b")
		sound("a", "b")
		require.Equal(t, map[string]devices.Tri{"Mic a": yes, "Mic b": untold}, echo(), "it was there all the time")
		sound("b")
		e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
		require.Empty(t, e.View().Leases)

		attach()
		sound("a", "b")
		b := suite(time.Hour, flags{devices.EchoCancellation: devices.True})
		b.Serial, b.Owner = "0001", "other"
		_, err = e.Push(b)
		require.ErrorAs(t, err, new(*AmbiguousError), "two of one number are there")
	})
}

// Of two headsets of a model, the second one may have no endpoints: not yet, because its HID device comes first, or not at all, because its
// card has no profile. What is said of "the" headset may be about either, also while the first one has none, either. A HID device that comes
// with the sound, or stays without, is a part of the headset that has it.
func TestPushBesideAHeadsetWithoutSound(t *testing.T) {
	hidOf := func(b *bench) {
		b.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
			Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:b", Serial: "B2",
		}})
	}
	card := func(socket string) devices.Hardware {
		return devices.Hardware{
			Source: "audio", ID: "card " + socket, Sound: true, Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:" + socket,
		}
	}
	see := func(b *bench, cards ...devices.Hardware) {
		b.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{headsetAt("a")}, Hardware: cards})
		synctest.Wait()
	}
	profileOff := func(b *bench, cards ...devices.Hardware) {
		b.Observe(devices.Observation{Source: "audio", At: time.Now(), Hardware: cards})
		b.pass(time.Minute)
	}
	for name, c := range map[string]struct {
		come      func(*bench)
		serial    string
		ambiguous bool
	}{
		"its HID device has just come":    {func(b *bench) { see(b); b.pass(time.Minute); hidOf(b); b.pass(time.Second) }, "", true},
		"which the push names":            {func(b *bench) { see(b); b.pass(time.Minute); hidOf(b); b.pass(time.Second) }, "B2", false},
		"it came with the sound":          {func(b *bench) { hidOf(b); b.pass(time.Second); see(b); b.pass(time.Second) }, "", false},
		"it has been there for long":      {func(b *bench) { see(b); b.pass(time.Minute); hidOf(b); b.pass(time.Minute) }, "", false},
		"its card has no profile":         {func(b *bench) { see(b, card("a"), card("b")); b.pass(time.Hour) }, "", true},
		"beside a card without a profile": {func(b *bench) { profileOff(b, card("a")); hidOf(b); b.pass(time.Second) }, "", true},
		"neither card has a profile":      {func(b *bench) { profileOff(b, card("a"), card("b")) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				c.come(b)
				p := suite(time.Hour, muteOn)
				p.Serial = c.serial
				_, err := b.Push(p)
				if c.ambiguous {
					require.ErrorAs(t, err, new(*AmbiguousError))
				} else {
					require.NoError(t, err)
				}
				see(b, card("a"))
				want := devices.Of(!c.ambiguous && c.serial == "")
				if want == devices.False {
					want = untold
				}
				require.Equal(t, map[string]devices.Tri{"Mic a": want}, b.mutes())
			})
		})
	}
}

// What a recording begins with does not show how long its headsets have been there.
func TestRecordingOfAHeadsetThatHasJustCome(t *testing.T) {
	for _, age := range []time.Duration{5 * time.Second, 9 * time.Second, 15 * time.Second} {
		t.Run(age.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := New(Options{
					Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler),
					Sources: []string{"audio"},
				})
				go e.Run(t.Context())
				e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{headsetAt("a")}})
				time.Sleep(12 * time.Second)
				e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
					Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:b", Descriptor: replayDescriptor,
				}})
				time.Sleep(age)
				var recording []Record
				e.Record("test", func(r Record) { recording = append(recording, r) })
				time.Sleep(500 * time.Millisecond)
				_, err := e.Push(suite(time.Hour, muteOn))
				require.Equal(t, age < lateness, errors.As(err, new(*AmbiguousError)))
				synctest.Wait()
				out, err := replay(recording, Settings{}, false)
				require.NoError(t, err)
				require.True(t, out.Exact)
				require.Equal(t, age < lateness, len(out.Lists) == 0)
			})
		})
	}
}

// A headset that is unplugged and back at once, HID device and all, may have lost its power.
func TestPushEndsWithABriefUnplugging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
		go e.Run(t.Context())
		plug := func() {
			e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
				Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Descriptor: replayDescriptor,
			}})
			e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{headsetAt("a")}})
		}
		plug()
		_, err := e.Push(suite(time.Hour, muteOn))
		require.NoError(t, err)
		time.Sleep(time.Second)
		e.Observe(devices.Observation{Source: "audio", At: time.Now()})
		require.Len(t, e.View().Leases, 1)
		e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
		time.Sleep(grace / 2)
		plug()
		require.Empty(t, e.View().Leases)
	})
}

// A headset that was unplugged for a moment: the sound server tells later than HID, so that one of both always seems to be there.
func TestPushEndsWhereHIDAndSoundLeaveInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{Settings: unlinkedSettings(t), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
		go e.Run(t.Context())
		attached := func() {
			e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
				Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Descriptor: replayDescriptor,
			}})
		}
		sound := func(list ...devices.Endpoint) {
			e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: list})
		}
		attached()
		sound(headsetAt("a"))
		_, err := e.Push(suite(time.Hour, muteOn))
		require.NoError(t, err)
		time.Sleep(time.Second)
		e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
		time.Sleep(grace / 5)
		attached()
		require.Len(t, e.View().Leases, 1, "its sound was there all the time")
		sound()
		time.Sleep(grace / 5)
		sound(headsetAt("a"))
		require.Empty(t, e.View().Leases)
	})
}

// unlinkedSettings are those of replaySettings for a product whose link nothing tells.
func unlinkedSettings(t *testing.T) Settings {
	t.Helper()
	cat := *replayed()
	cat.Products = slices.Clone(cat.Products)
	cat.Products[0].LinkState = nil
	r, err := catalogue.NewResolver(&cat, devices.Options{OS: devices.Linux})
	require.NoError(t, err)
	return Settings{Resolver: r, RemovalGrace: grace, StaleAfter: stale}
}

// A headset whose dongle tells its link may be away unnoticed while that is not heard: what software said before may be over.
func TestPushEndsWhereTheLinkIsNotHeard(t *testing.T) {
	at := func() hid.Event {
		return hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
			Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Descriptor: replayDescriptor,
		}}
	}
	link := func(v byte) hid.Event {
		return hid.Event{Kind: hid.Report, Node: "hidraw0", At: time.Now(), Data: []byte{3, v}}
	}
	gone := func() hid.Event {
		return hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now(), Error: "input/output error"}
	}
	for name, c := range map[string]struct {
		before, after []func() hid.Event
		kept          int
	}{
		"heard all the while":    {[]func() hid.Event{at}, nil, 1},
		"first heard afterwards": {nil, []func() hid.Event{at}, 1},
		"reports were lost": {[]func() hid.Event{at}, []func() hid.Event{func() hid.Event {
			return hid.Event{Kind: hid.Lost, Node: "hidraw0", At: time.Now()}
		}}, 0},
		"not read for a moment": {[]func() hid.Event{at}, []func() hid.Event{gone, at}, 0},
	} {
		for known, say := range map[string][]func() hid.Event{"up": {func() hid.Event { return link(1) }}, "unknown": nil} {
			t.Run(name+", "+known, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					e := New(Options{Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
					go e.Run(t.Context())
					happen := func(events ...func() hid.Event) {
						for _, event := range events {
							e.HID(event())
							time.Sleep(time.Second)
						}
					}
					happen(c.before...)
					e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{headsetAt("a")}})
					if len(c.before) > 0 {
						happen(say...)
					}
					_, err := e.Push(suite(time.Hour, muteOn))
					require.NoError(t, err)
					time.Sleep(time.Second)
					happen(c.after...)
					require.Len(t, e.View().Leases, c.kept)
					_, err = e.Push(suite(time.Hour, muteOn))
					require.NoError(t, err)
					happen(say...)
					require.Len(t, e.View().Leases, 1, "what is said from then on counts")
				})
			})
		}
	}
}

// What is said just after a headset has left is of that one: its software notices late. It is not kept for the next.
func TestPushJustAfterItsHeadsetHasLeft(t *testing.T) {
	for name, c := range map[string]struct {
		away time.Duration
		push Push
		want Pushed
		mute devices.Tri
	}{
		"while it is still reported": {grace / 2, Push{}, Pushed{Left: true}, untold},
		"some seconds later":         {lateness - time.Millisecond, Push{}, Pushed{Left: true}, untold},
		"of its serial number":       {lateness - time.Millisecond, Push{Serial: "A1"}, Pushed{Left: true}, untold},
		"of another one":             {lateness - time.Millisecond, Push{Serial: "A2"}, Pushed{}, yes},
		"much later":                 {lateness + grace, Push{}, Pushed{}, yes},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				e := headsetAt("a")
				e.Serial = "A1"
				b.see("audio", e)
				b.push(suite(time.Hour, muteOn))
				b.pass(time.Millisecond)
				b.see("audio")
				b.pass(c.away)
				p := suite(time.Hour, muteOn)
				p.Serial = c.push.Serial
				want := c.want
				if c.mute == yes {
					want.Until = time.Now().Add(time.Hour)
				}
				out, err := b.Push(p)
				require.NoError(t, err)
				require.Equal(t, want, out)
				b.pass(time.Hour / 2)
				if c.push.Serial != "" {
					e.Serial = c.push.Serial
				}
				b.see("audio", e)
				require.Equal(t, map[string]devices.Tri{"Mic a": c.mute}, b.mutes())
			})
		})
	}
}

// Software may say something of a headset that has just left, and that another one like it stays. It is not kept, and only ends what the same
// software said otherwise before.
func TestPushBesideAHeadsetThatHasJustLeft(t *testing.T) {
	a, other := headsetAt("a"), headsetAt("b")
	see := func(list ...devices.Endpoint) func(*bench) { return func(b *bench) { b.see("audio", list...) } }
	say := func(v devices.Tri) func(*bench) {
		return func(b *bench) {
			_, err := b.Push(suite(time.Hour, flags{devices.HardwareMute: v}))
			require.NoError(b.t, err)
		}
	}
	wait := func(d time.Duration) func(*bench) { return func(b *bench) { b.pass(d) } }
	hidOf := func(kind hid.EventKind) func(*bench) {
		return func(b *bench) {
			b.HID(hid.Event{Kind: kind, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
				Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:c",
			}})
		}
	}
	type steps []func(*bench)
	for name, c := range map[string]struct {
		happens steps
		a, b    devices.Tri
	}{
		"the same, while it is reported":      {steps{see(a), say(yes), see(), say(yes)}, yes, untold},
		"it comes back":                       {steps{see(a), say(yes), see(), say(yes), see(a)}, untold, untold},
		"the contrary, while it is reported":  {steps{see(a), say(yes), see(), say(devices.False)}, untold, untold},
		"of which was nothing said, reported": {steps{see(a), see(), say(yes), see(a)}, untold, untold},
		"another one stays":                   {steps{see(a, other), wait(1), see(other), say(yes)}, untold, untold},
		"it stays, some seconds later":        {steps{see(a, other), wait(1), see(other), wait(lateness - time.Second), say(yes)}, untold, untold},
		"it stays, much later":                {steps{see(a, other), wait(1), see(other), wait(lateness), say(yes)}, untold, yes},
		"it had the same said of it":          {steps{see(other), say(yes), wait(1), see(a, other), wait(1), see(other), say(yes)}, untold, yes},
		"it had the contrary said of it": {
			steps{see(other), say(yes), wait(1), see(a, other), wait(1), see(other), say(devices.False)}, untold, untold,
		},
		"it has come since":         {steps{see(a), see(), wait(grace), see(other), say(yes)}, untold, yes},
		"it has come in its place":  {steps{see(a), see(other), say(yes)}, untold, yes},
		"which never had any sound": {steps{hidOf(hid.Attached), wait(time.Minute), see(other), wait(time.Minute), hidOf(hid.Gone), say(yes)}, untold, yes},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				for _, happen := range c.happens {
					happen(b)
				}
				mutes := b.mutes()
				require.Equal(t, []devices.Tri{c.a, c.b}, []devices.Tri{mutes["Mic a"], mutes["Mic b"]})
			})
		})
	}
}

// The sound server may miss that a headset is unplugged and plugged in again, or be away itself; its HID device does not.
func TestPushEndsWithAPluggingInThatTheSoundMissed(t *testing.T) {
	for name, c := range map[string]struct {
		plugged bool
		leases  int
	}{"plugged in": {true, 0}, "only its driver is new": {false, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := New(Options{Settings: unlinkedSettings(t), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler)})
				go e.Run(t.Context())
				attach := func(node string, plugged bool) {
					e.HID(hid.Event{Kind: hid.Attached, Node: node, Plugged: plugged, At: time.Now(), Device: &hid.Device{
						Node: node, Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Descriptor: replayDescriptor,
					}})
				}
				e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: []devices.Endpoint{headsetAt("a")}})
				_, err := e.Push(suite(time.Hour, muteOn))
				require.NoError(t, err)
				attach("hidraw0", true)
				attach("hidraw1", true)
				require.Len(t, e.View().Leases, 1, "HID comes after the sound")
				e.Observe(devices.Observation{Source: "audio", At: time.Now(), Err: errors.New("connection refused")})
				e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
				e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw1", At: time.Now()})
				require.Len(t, e.View().Leases, 1)
				time.Sleep(time.Millisecond)
				attach("hidraw2", c.plugged)
				attach("hidraw3", c.plugged)
				require.Len(t, e.View().Leases, c.leases)
			})
		})
	}
}

// A headset was plugged in anew, which the sound server told a moment after HID, so that only its HID device proves that it has stayed since.
func TestPushStaysWhileItsHIDDeviceDoes(t *testing.T) {
	event := func(kind hid.EventKind, plugged bool) func(*bench) {
		return func(b *bench) {
			e := hid.Event{Kind: kind, Node: "hidraw0", Plugged: plugged, At: time.Now()}
			if kind == hid.Attached {
				e.Device = &hid.Device{Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:a"}
			}
			b.HID(e)
		}
	}
	sound := func(list ...devices.Endpoint) func(*bench) { return func(b *bench) { b.see("audio", list...) } }
	wait := func(d time.Duration) func(*bench) { return func(b *bench) { b.pass(d) } }
	headset := headsetAt("a")
	headset.Serial = "A1"
	for name, c := range map[string]struct {
		happens []func(*bench)
		kept    int
	}{
		"it fails":                    {[]func(*bench){event(hid.Failed, false)}, 1},
		"it fails, and is read again": {[]func(*bench){event(hid.Failed, false), event(hid.Attached, false)}, 1},
		"it fails, and leaves":        {[]func(*bench){event(hid.Failed, false), event(hid.Gone, false)}, 0},
		"it leaves":                   {[]func(*bench){event(hid.Gone, false)}, 0},
		"it leaves soon":              {[]func(*bench){wait(stale + lateness - time.Second), event(hid.Gone, false)}, 0},
		"it leaves much later":        {[]func(*bench){wait(stale + lateness), event(hid.Gone, false)}, 1},
		"both are away, at different times": {[]func(*bench){
			wait(stale + lateness), sound(), sound(headset), wait(stale + lateness), event(hid.Gone, false), event(hid.Attached, false),
		}, 1},
		"it is read in a new node":    {[]func(*bench){event(hid.Attached, false)}, 1},
		"only the sound is away":      {[]func(*bench){sound(), sound(headset)}, 1},
		"both are, but it only fails": {[]func(*bench){event(hid.Failed, false), sound(), sound(headset), event(hid.Attached, false)}, 1},
		"both are, in turns":          {[]func(*bench){event(hid.Gone, false), event(hid.Attached, false), sound(), sound(headset)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				b.see("audio", headset)
				b.pass(time.Minute)
				for _, happen := range []func(*bench){event(hid.Attached, true), sound(), sound(headset)} {
					b.pass(10 * time.Millisecond)
					happen(b)
				}
				b.push(suite(time.Hour, muteOn))
				for _, happen := range c.happens {
					b.pass(10 * time.Millisecond)
					happen(b)
				}
				require.Len(t, b.View().Leases, c.kept)
			})
		})
	}
}

// The endpoints of a headset that has left are still reported when its HID device is plugged in again. The sound server sees nothing of it
// then, so it proves from its first endpoint on that the headset stays.
func TestPushStaysWhileItsSoundDoes(t *testing.T) {
	headset := headsetAt("a")
	headset.Serial = "A1"
	run(t, []string{"audio"}, func(b *bench) {
		b.see("audio", headset)
		b.see("audio")
		b.pass(grace / 2)
		b.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", Plugged: true, At: time.Now(), Device: &hid.Device{
			Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:a",
		}})
		b.see("audio")
		b.pass(grace / 4)
		b.see("audio", headset)
		b.push(suite(time.Hour, muteOn))
		b.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
		require.Equal(t, map[string]devices.Tri{"Mic a": yes}, b.mutes())
	})
}

// While the endpoints of a headset without a container are away nothing shows that its HID device is a part of it: then it is a unit of its
// own. It was not plugged in again when they are back.
func TestAPluggingInCountsOnce(t *testing.T) {
	mic := headsetAt("a")
	mic.Container, mic.Serial = "", "A1"
	card := devices.Hardware{Source: "audio", ID: "card 1", Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1"}
	for name, again := range map[string]bool{"once": false, "twice": true} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				see := func(list ...devices.Endpoint) {
					b.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: list, Hardware: []devices.Hardware{card}})
					b.pass(2 * time.Second)
				}
				plug := func() {
					b.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", Plugged: true, At: time.Now(), Device: &hid.Device{
						Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Serial: "A1", Container: "usb:a",
					}})
				}
				plug()
				see(mic)
				b.push(suite(time.Hour, muteOn))
				see()
				if again {
					b.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
					plug()
				}
				require.Len(t, b.View().Leases, 1)
				see(mic)
				require.Equal(t, map[string]devices.Tri{"Mic a": map[bool]devices.Tri{false: yes, true: untold}[again]}, b.mutes())
			})
		})
	}
}

// A session manager that restarts, or a change of profile, takes the endpoints away for a moment. The card, and its USB device, stay.
func TestPushStaysWhileTheCardDoes(t *testing.T) {
	card := devices.Hardware{Source: "audio", ID: "card 1", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a"}
	other := card
	other.ID, other.Container = "card 2", "usb:b"
	another := card
	another.ID = "card 3" // in the same socket
	for name, c := range map[string]struct {
		card   []devices.Hardware // while there are no endpoints
		later  devices.Hardware   // when they are back
		leases int
	}{
		"the card stays":                              {[]devices.Hardware{card}, card, 1},
		"the card stays, and another comes":           {[]devices.Hardware{other, card}, card, 1},
		"the card leaves":                             {nil, card, 0},
		"only that of another headset is there":       {[]devices.Hardware{other}, card, 0},
		"it is plugged in anew, which nobody saw":     {[]devices.Hardware{card}, another, 0},
		"it is plugged in anew, before its endpoints": {[]devices.Hardware{another}, another, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, []string{"audio"}, func(b *bench) {
				see := func(cards []devices.Hardware, list ...devices.Endpoint) {
					b.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: list, Hardware: cards})
					synctest.Wait()
				}
				see([]devices.Hardware{card}, headsetAt("a"))
				b.push(suite(time.Hour, muteOn))
				b.pass(time.Second)
				see(c.card)
				b.pass(3 * time.Second)
				require.Empty(t, b.mutes())
				see([]devices.Hardware{c.later}, headsetAt("a"))
				require.Len(t, b.View().Leases, c.leases)
				want := untold
				if c.leases > 0 {
					want = yes
				}
				require.Equal(t, map[string]devices.Tri{"Mic a": want}, b.mutes(), "it is never 'not muted' in between")
			})
		})
	}
}

// What a recording begins with does not show that a HID device was away for a moment, nor that a headset has just left.
func TestRecordingOfWhatHasBeenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Options{
			Settings: replaySettings(t, devices.Options{}), Publish: func(devices.Snapshot) {}, Log: slog.New(slog.DiscardHandler), Sources: []string{"audio"},
		})
		go e.Run(t.Context())
		attach := func() {
			e.HID(hid.Event{Kind: hid.Attached, Node: "hidraw0", At: time.Now(), Device: &hid.Device{
				Node: "hidraw0", Bus: devices.USB, VID: "1209", PID: "0700", Container: "usb:a", Descriptor: replayDescriptor,
			}})
		}
		sound := func(list ...devices.Endpoint) {
			time.Sleep(2 * time.Second)
			e.Observe(devices.Observation{Source: "audio", At: time.Now(), Endpoints: list})
		}
		push := func(serial string) {
			p := suite(time.Hour, muteOn)
			p.Serial = serial
			_, err := e.Push(p)
			require.NoError(t, err)
		}
		a, b := headsetAt("a"), headsetAt("b")
		a.Serial, b.Serial = "A1", "B2"
		attach()
		sound(a, b)
		push("A1")
		e.HID(hid.Event{Kind: hid.Gone, Node: "hidraw0", At: time.Now()})
		attach()
		sound(a)
		time.Sleep(2 * time.Second)
		var recording []Record
		e.Record("test", func(r Record) { recording = append(recording, r) })
		push("B2") // has just left
		sound()
		require.Empty(t, e.View().Leases, "the HID device does not prove that the headset has stayed")
		sound(a, b)
		time.Sleep(time.Minute)
		synctest.Wait()
		out, err := replay(recording, Settings{}, false)
		require.NoError(t, err)
		require.True(t, out.Exact)
		require.NotEmpty(t, out.Lists)
		require.Empty(t, out.Differences())
	})
}
