package rpcclient

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/local"
	"sidetone/internal/rpcclient/link"
	"sidetone/internal/testlab/tabletest"
)

var table = tabletest.Table[State, outcome, retry]{Lines: transitions, Start: Searching}

func TestEveryOutcomeIsDecidedInEveryState(t *testing.T) {
	t.Parallel()
	var states []State
	for _, s := range tabletest.Declared[State](t, "State") {
		if s != Stopped { // that is one of the whole
			states = append(states, s)
			require.Equal(t, s != Searching && s != occupied, slices.Contains(sessionStates, s), "%s is a session", s)
		}
	}
	table.Walk(t, states, tabletest.Declared[outcome](t, "outcome"))
}

func TestTheDocumentsShowTheTable(t *testing.T) {
	t.Parallel()
	table.Shown(t, "next try")
}

// The client accepts a list, which the attempt notes, at the moment at which Client.Run notes something else.
func TestAStateIsNotOverwrittenByAnOlderOne(t *testing.T) {
	t.Parallel()
	c := New(Options{ClientID: clientID})
	p := c.newPeer(local.Process{PID: 1})
	c.locked(func() { p.status.State = Slow })
	accept := sync.OnceFunc(func() { c.applySessionOutcome(p, onAccepted, func(*Session) {}) })
	p.retryBackoff = link.NewBackoff(retryFirst, retryFirst, func() float64 { // between the two steps
		if c.mu.TryLock() { // else it is one step
			c.mu.Unlock()
			accept()
		}
		return 0
	})
	c.applyOutcome(p, onHung)
	accept()
	require.Equal(t, Ready, c.stateOf(p))
}
