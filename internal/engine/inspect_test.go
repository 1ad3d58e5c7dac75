package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/fakeserver"
	"sidetone/internal/devices"
)

// inspect looks at all that an actor was sent in the hour.
func (s *stage) inspect(a *actor) {
	switch {
	case a.able():
		s.inOrder(a)
	case a.profile != fakeserver.ArRPC:
		for _, p := range a.Payloads() {
			require.Empty(s.t, p.Devices, "%s was told of devices: %s", a.name, p.Raw)
			require.NotContains(s.t, string(p.Raw), "Acme", a.name)
		}
	}
	s.notHammered(a)
}

// inOrder requires that each payload is one of the lists that were published, and none is older
// than one before it.
func (s *stage) inOrder(a *actor) {
	generations := make(map[string][]int) // of each list
	for i, snap := range s.published {
		require.EqualValues(s.t, i+1, snap.Generation)
		list := text(snap.Wire())
		generations[list] = append(generations[list], i+1)
	}
	reached, refused := 0, 0 // refused is the connection of the last list that the client has refused
	all := a.Payloads()
	for n, p := range all {
		require.Empty(s.t, p.Warnings, "%s: payload %d: %s", a.name, p.Seq, p.Raw)
		if p.EndedBy == fakeserver.Receiver {
			continue // the client restarted, or closed its connections, while it waited in line
		}
		if p.EndedBy == fakeserver.Sender && p.Raw == nil {
			continue // the agent gave up while it waited in line, and so it was not taken
		}
		if p.Fault == fakeserver.FaultNone {
			require.NoError(s.t, p.Err, "%s: payload %d: %s", a.name, p.Seq, p.Raw)
		}
		if len(p.Devices) == 0 { // the proof of a client and the farewell tell nothing old
			continue
		}
		if p.Fault == fakeserver.FaultError {
			refused = p.Conn
		}
		possible := generations[text(p.Devices)]
		if p.Conn == refused && len(possible) == 0 {
			possible = s.generationsWith(p.Devices) // what the client has taken before, with the flags of today
		}
		i, _ := slices.BinarySearch(possible, reached)
		require.Less(s.t, i, len(possible),
			"%s: payload %d over %s is older than generation %d, which the client had: it is of %v\nthe last:\n%s%s",
			a.name, p.Seq, p.Transport, reached, possible, brief(all[max(0, n-4):n+1]), p.Raw)
		reached = possible[i]
	}
}

// generationsWith returns the generations of the lists that have all those devices, with their flags.
func (s *stage) generationsWith(some []fakeserver.Device) (found []int) {
	flags := func(d fakeserver.Device) string {
		return text([]any{d.Type, d.ID, d.HardwareMute, d.EchoCancellation, d.NoiseSuppression, d.AutomaticGainControl})
	}
	for i, snap := range s.published {
		has := make(map[string]bool)
		for _, d := range snap.Wire() {
			has[text([]any{d.Type, d.ID, d.HardwareMute, d.EchoCancellation, d.NoiseSuppression, d.AutomaticGainControl})] = true
		}
		if !slices.ContainsFunc(some, func(d fakeserver.Device) bool { return !has[flags(d)] }) {
			found = append(found, i+1)
		}
	}
	return found
}

// brief lists payloads without what they say.
func brief(all []fakeserver.Payload) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintf(&b, "%d at %s over %s, connection %d, %d devices, fault %q\n",
			p.Seq, p.Time.Format("05.000000"), p.Transport, p.Conn, len(p.Devices), p.Fault)
	}
	return b.String()
}

// notHammered requires that a client which has never answered in its life gets no more payloads
// than there was cause for. A newer list is one, over the link on which the last one was not answered.
func (s *stage) notHammered(a *actor) {
	all := a.Payloads()
	for i, l := range a.lives {
		end := len(all)
		if i+1 < len(a.lives) {
			end = a.lives[i+1].since
		}
		unanswered := 0
		var last fakeserver.Payload
		for _, p := range all[l.since:end] {
			if answers(a, p) {
				break
			}
			if silent(a, p) && len(p.Devices) > 0 && !s.free(last, p) { // a farewell is no question
				unanswered++
			}
			last = p
		}
		require.LessOrEqual(s.t, unanswered, l.chances, "%s: its life %d answered nothing and was asked again and again:\n%s", a.name, i+1, brief(all[l.since:end]))
	}
}

// free reports whether a list costs nothing after one that was not answered, as it goes over the same open link: it is a newer one, also if
// a change was taken back meanwhile and it says the same, or the same one some minutes later.
func (s *stage) free(last, p fakeserver.Payload) bool {
	if p.Transport == fakeserver.HTTP || p.Conn != last.Conn {
		return false
	}
	changed := slices.ContainsFunc(s.published, func(snap devices.Snapshot) bool {
		return !snap.At.Before(last.Time.Add(-time.Second)) && !snap.At.After(p.Time)
	})
	return changed || text(p.Devices) != text(last.Devices) || p.Time.Sub(last.Time) >= 5*time.Minute
}

// silent reports whether a payload got no answer that its sender could make out.
func silent(a *actor, p fakeserver.Payload) bool {
	switch p.Fault {
	case fakeserver.FaultHang, fakeserver.FaultNoAnswer, fakeserver.FaultHalf:
		return true
	case fakeserver.FaultWrongNonce:
		return p.Transport != fakeserver.HTTP
	default:
		return a.profile == fakeserver.ArRPC
	}
}

// answers reports whether a payload was answered.
func answers(a *actor, p fakeserver.Payload) bool {
	answered := []fakeserver.FaultKind{
		fakeserver.FaultNone, fakeserver.FaultExtraAnswer, fakeserver.FaultTwice, fakeserver.FaultAnswerLate, fakeserver.FaultError,
		fakeserver.FaultHTTPError,
	}
	return a.able() && p.EndedBy == "" && slices.Contains(answered, p.Fault)
}
