package engine_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sidetone/fakeserver"
	"sidetone/internal/rpcclient"
	"sidetone/internal/rpcclient/policy"
	"sidetone/internal/testlab"
	"sidetone/internal/testlab/ipctest"
)

var seed = flag.Uint64("seed", 0, "play only the hour of this seed")

// raced is the last of the fixed seeds that are played with the race detector. The others are played without it, five times as fast.
const raced = 1

func seeds(fixed ...uint64) []uint64 {
	if *seed != 0 {
		return []uint64{*seed}
	}
	return fixed
}

func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // an hour over the machine's sockets waits about half of its time
	goleak.VerifyTestMain(m, ipctest.Kept)
}

// The decks of faults that can meet each transport, in the words of fakeserver.ParseFault.
var (
	anywhere = []string{
		"refuse", "hang", "close-after=2", "die", "2*die", "no-answer", "2*no-answer", "answer-late=20ms", "answer-late=400ms",
		"wrong-nonce", "bad-json", "huge", "half", "deep", "offline", "error=1000:Unknown Error", "error=4000:Invalid Client ID",
		"error=4002:Unknown command", "error=4006:Not authenticated",
	}
	onSockets = []string{
		"ready-late=20ms", "ready-late=400ms", "ready-never", "close-code=1003", "close-code=4001", "close-code=4002", "close-code=4004",
		"extra-answer", "twice",
	}
	onTCP  = []string{"squatter"}
	onHTTP = []string{"http-error=4000:Invalid Client ID", "http-error=4001:Invalid Origin"}
	onIPC  = []string{"login", "ipc/refuse"}
)

// TestHour plays an hour of random events, with everything that a client can do wrong, through
// the Engine and a real conversation. Afterwards the client must know the truth; on the way it
// must never have been told anything older after anything newer, and while it answers nothing it
// must have been left alone.
func TestHour(t *testing.T) {
	t.Parallel()
	hours := []struct {
		name       string
		transports []rpcclient.Transport
		deck       []string
	}{
		{"every transport", policy.Transports, slices.Concat(anywhere, onSockets, onIPC, []string{
			"ipc/error=4006:Not authenticated",
			"ipc/no-answer",
		})},
		{"websocket", []rpcclient.Transport{rpcclient.WebSocket}, slices.Concat(anywhere, onSockets, onTCP)},
		{"http", []rpcclient.Transport{rpcclient.HTTP}, slices.Concat(anywhere, onTCP, onHTTP)},
		{"ipc", []rpcclient.Transport{rpcclient.IPC}, slices.Concat(anywhere, onSockets, onIPC)},
	}
	for _, seed := range seeds(1, 2, 3, 4) {
		hour := hours[seed%uint64(len(hours))]
		t.Run(fmt.Sprintf("seed %d over %s", seed, hour.name), func(t *testing.T) {
			t.Parallel()
			if seed > raced && testlab.RanUnraced(t) {
				return
			}
			events := record(seed, func(r *rand.Rand) []event { return incidents(r, hour.deck) })
			s := newStage(t, hour.transports, part{"client", fakeserver.Documented})
			s.plays("TestHour$", seed, events)
		})
	}
}

// TestHourOfMany is an hour with all that can stand on the ports and sockets of one machine at
// the same time. Each client that can know the truth must know it, whatever the others do.
func TestHourOfMany(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("a pipe cannot be closed and opened again while a connection to it lasts, which is what clients do here")
	}
	deck := slices.Concat(anywhere, onSockets, onIPC, onHTTP)
	for _, seed := range seeds(1, 2, 3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			if seed > raced && testlab.RanUnraced(t) {
				return
			}
			cast := []part{
				{"stable", fakeserver.Desktop},
				{"ptb", fakeserver.Desktop},
				{"documented", fakeserver.Documented},
				{"flaky", fakeserver.Flaky},
				{"arrpc", fakeserver.ArRPC},
				{"squatter", fakeserver.Squatter},
				{"blackhole", fakeserver.Blackhole},
			}
			r := rand.New(rand.NewPCG(seed, 1))
			r.Shuffle(len(cast), func(i, j int) { cast[i], cast[j] = cast[j], cast[i] }) // who has the best port
			var everybody []string
			for _, p := range cast {
				everybody = append(everybody, p.name)
			}
			events := record(seed, func(r *rand.Rand) []event {
				return commotion(r, everybody, []string{"stable", "ptb", "documented", "flaky"}, []string{"documented"}, deck)
			})
			s := newStage(t, policy.Transports, cast...)
			s.plays("TestHourOfMany", seed, events)
		})
	}
}

// plays is the hour of the seed from its beginning to its end.
func (s *stage) plays(test string, seed uint64, hour []event) {
	played := 0
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("replay with -run '%s' -seed %d; played up to event %d:\n%s", test, seed, played, listing(hour[:played]))
		}
	})
	start := time.Now()
	for _, e := range hour {
		played++
		s.until(start.Add(e.at / speed))
		s.play(e)
	}
	s.finish()
}
