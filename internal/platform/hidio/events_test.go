package hidio

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sidetone/internal/hid"
	"sidetone/internal/platform/platformtest"
)

// hidEvents are what a source has handed on.
type hidEvents chan hid.Event

func newHIDEvents() hidEvents { return make(hidEvents, 1<<18) }

func (c hidEvents) handle(e hid.Event) { c <- e }

func (c hidEvents) next(t *testing.T) hid.Event {
	t.Helper()
	select {
	case e := <-c:
		require.False(t, e.At.IsZero())
		return e
	case <-platformtest.Deadline(t).Done():
		t.Fatal("no event")
		return hid.Event{}
	}
}

// expectGone expects that a device was unplugged. Reading it may fail first.
func (c hidEvents) expectGone(t *testing.T, node string) {
	t.Helper()
	e := c.next(t)
	if e.Kind == hid.Failed {
		require.Equal(t, node, e.Node)
		e = c.next(t)
	}
	require.Equal(t, hid.Gone, e.Kind, "%+v", e)
	require.Equal(t, node, e.Node)
}

func (c hidEvents) expect(t *testing.T, what hid.EventKind, node string) hid.Event {
	t.Helper()
	e := c.next(t)
	require.Equal(t, what, e.Kind, "%+v", e)
	require.Equal(t, node, e.Node)
	return e
}
