package timeline

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sidetone/internal/devices"
	"sidetone/internal/health"
)

// TestGoesOn: another ring has all that this one shows, and goes on in the same lanes.
func TestGoesOn(t *testing.T) {
	d := newDesk(Limit)
	stable := Client{ID: "1", Name: "Discord", State: "ready", Via: "ipc", Holds: true}
	ptb := Client{ID: "2", Name: "Discord", State: "slow", Holds: true}
	clients := func() { d.Clients(func() []Client { return []Client{stable, ptb} }) }
	clients()
	for i := range 100 {
		d.Snapshot(list(mic("u1", "Acme 700", devices.Of(i%2 == 0)), mic("u2", "Acme 700", devices.False)))
		d.pass(time.Second)
	}
	d.Acknowledged(ptb, list(mic("u1", "Acme 700", devices.True)))
	d.Conditions([]health.Condition{{Code: health.AgentSafeMode, Severity: health.Problem, Args: health.Args{"crashes": "3"}}})
	d.pass(time.Minute)

	text, err := json.Marshal(d.Timeline())
	require.NoError(t, err)
	var before Timeline
	require.NoError(t, json.Unmarshal(text, &before))
	began := d.elapsed
	d.Ring = newRing(Clock{Now: d.now, Elapsed: func() time.Duration { return d.elapsed }}, "1.5.0", Limit)
	d.Snapshot(list(mic("u1", "Acme 700", devices.Unknown)))
	d.Continue(before)
	after := d.Timeline()
	last := &after.Lanes[0].Changes[1]
	require.Equal(t, "1.5.0", last.Detail)
	after.Lanes[0].Changes = after.Lanes[0].Changes[:1]
	require.Equal(t, words(t, before), words(t, after))
	require.Equal(t, began, d.began)

	d.Snapshot(list(mic("u1", "Acme 700", devices.True), mic("u2", "Acme 700", devices.False)))
	clients()
	ptb.State = "ready"
	clients()
	all := d.Timeline().Lanes
	require.Len(t, all, len(before.Lanes), "no lane is new")
	require.Equal(t, []string{"Discord >ready", "Discord (2) >slow>ready"}, d.changes(KindClient, ""))
}

func words(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	require.NoError(t, err)
	return string(text)
}

// TestGoesOnWithinItsBound, also with what a ring of another size has held.
func TestGoesOnWithinItsBound(t *testing.T) {
	d := newDesk(Limit)
	for i := range 3000 {
		d.Snapshot(list(mic("u1", fmt.Sprint("Acme ", i%50), devices.Of(i%2 == 0))))
		d.pass(time.Hour)
	}
	before := d.Timeline()
	small := newRing(Clock{Now: d.now, Elapsed: func() time.Duration { return d.elapsed }}, "1.5.0", Limit/8)
	small.Continue(before)
	require.LessOrEqual(t, small.store.size(), Limit/8)
	require.True(t, small.Timeline().From.After(before.From))
	small.Continue(Timeline{Version: Version + 1})
	require.NotEmpty(t, small.Timeline().Lanes, "of another form nothing is taken")
}
